"""The request of an AdmissionReview (``admission.k8s.io/v1``), validated."""


cdef class AdmissionRequest:
    """``raw`` is the decoded dict; the other attributes are read from it. Immutable.

    ``kind`` is (group, version, kind), ``resource`` (group, version, resource), both as sent to the
    webhook; ``request_kind`` and ``request_resource`` are those that the client sent to the API
    server. Missing strings are "", missing objects None.
    """

    cdef readonly str uid
    cdef readonly str operation
    cdef readonly str name
    cdef readonly str namespace
    cdef readonly tuple kind
    cdef readonly tuple resource
    cdef readonly tuple request_kind
    cdef readonly tuple request_resource
    cdef readonly str sub_resource
    cdef readonly bint dry_run
    cdef readonly dict user_info
    cdef readonly dict object
    cdef readonly dict old_object
    cdef readonly dict options
    cdef readonly dict raw
    cdef readonly str unreadable
    cdef dict seen                  # the result of ``shown``

    cpdef dict shown(self)
    cdef dict without_objects(self)
