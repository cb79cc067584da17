"""The request of an AdmissionReview (``admission.k8s.io/v1``), validated."""


cdef class AdmissionRequest:
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
