"""The values of ``authorizer`` and ``authorizer.requestResource``."""

from policyd._core.values.types cimport Opaque


cdef class AuthorizerValue(Opaque):
    cdef object backend
    cdef dict user_info


cdef class AuthorizerCheck(Opaque):
    cdef str kind            # the name of its CEL type
    cdef AuthorizerValue authorizer
    cdef dict fields           # fields of policyd._core.lib.authorization.Attributes


cdef AuthorizerValue authorizer_for(object backend, dict request)

cdef AuthorizerCheck request_resource(AuthorizerValue authorizer, dict request)
