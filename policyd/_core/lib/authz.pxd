"""The values of ``authorizer`` and ``authorizer.requestResource``."""

from policyd._core.values.types cimport Opaque


cdef class AuthorizerValue(Opaque):
    """A user, and the backend of its checks: a policyd.admission.authorizer.Authorizer, or None.

    ``user_info`` is userInfo of a request, as JSON.
    """

    cdef object backend
    cdef dict user_info


cdef class AuthorizerCheck(Opaque):
    """A check with the attributes set so far: a PathCheck, GroupCheck or ResourceCheck."""

    cdef str kind            # the name of its CEL type
    cdef AuthorizerValue authorizer
    cdef dict fields           # fields of policyd._core.lib.authorization.Attributes


cdef class AuthorizerDecision(Opaque):
    """A decision; ``error_text`` is "" if there is no error."""

    cdef bint is_allowed
    cdef str reason_text
    cdef str error_text


cdef AuthorizerValue authorizer_for(object backend, dict request)

# The resource of the client in ``request`` (as CEL sees it), not an equivalent one.
cdef AuthorizerCheck request_resource(AuthorizerValue authorizer, dict request)
