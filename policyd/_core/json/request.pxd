"""The request of an AdmissionReview (``admission.k8s.io/v1``): its form checked, parts at hand."""


cdef class AdmissionRequest:
    """``raw`` is the decoded dict, the others are read out of it. Nothing is ever changed.

    ``kind`` is (group, version, kind), ``resource`` (group, version, resource), both as the webhook
    was sent them. Absent texts are empty; absent objects None.
    """

    cdef readonly str uid
    cdef readonly str operation
    cdef readonly str name
    cdef readonly str namespace
    cdef readonly tuple kind
    cdef readonly tuple resource
    cdef readonly str sub_resource
    cdef readonly bint dry_run
    cdef readonly dict user_info
    cdef readonly dict object
    cdef readonly dict old_object
    cdef readonly dict options
    cdef readonly dict raw
    cdef readonly str unreadable
