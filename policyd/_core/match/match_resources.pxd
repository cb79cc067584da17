"""The request as the matcher sees it, the match rules, and the result of a match."""

from policyd._core.match.selectors cimport Selector


cdef enum RuleScope:
    ALL_SCOPES
    NAMESPACED
    CLUSTER
    NO_SCOPE


cdef class Hit:
    cdef readonly tuple kind
    cdef readonly tuple resource
    cdef readonly str api_version
    cdef readonly str mismatch
    cdef readonly str error


cdef class MatchInput:
    cdef readonly str operation
    cdef readonly str name
    cdef readonly str namespace
    cdef readonly str sub_resource
    cdef readonly tuple kind              # of the object in the request
    cdef readonly tuple resource
    cdef readonly tuple request_kind      # of the object that the client sent to the API server
    cdef readonly tuple request_resource
    cdef readonly object object
    cdef readonly object old_object
    cdef readonly bint never_matched      # Kubernetes never passes it to a policy
    cdef object namespace_labels
    cdef object table                     # Equivalents
    cdef Hit exact                        # the hit for rules that name the client's resource
    cdef dict labels                      # the namespace's; None until first use
    cdef str labels_error                 # why they are unknown
    cdef list others                      # equivalent resources; None until first use
    cdef bint any_version                 # set with ``others``: any version may be served

    cdef Hit exact_hit(self)
    cdef Hit hit(self, tuple kind, tuple resource)
    cdef Hit hit_in(self, tuple resource)
    cdef list equivalents(self)
    cdef object family(self)
    cpdef dict labels_of_namespace(self)


cdef class ResourceRule:
    cdef readonly tuple groups
    cdef readonly tuple versions
    cdef readonly tuple resources         # of (resource, subresource)
    cdef readonly tuple operations
    cdef frozenset names                  # None: all names
    cdef RuleScope scope

    cdef bint allows(self, MatchInput request, tuple resource) except -1
    cdef bint matches(self, MatchInput request, tuple resource, bint any_version) except -1
    cdef str other_version(self, str version)


cdef class MatchRules:
    cdef readonly dict written
    cdef readonly tuple rules
    cdef readonly tuple excludes
    cdef readonly bint equivalent
    cdef Selector namespace_selector      # None: malformed (see ``error``)
    cdef Selector object_selector
    cdef readonly bint selects_namespaces  # uses labels of namespaces other than the name
    cdef readonly bint selects            # uses any labels
    cdef bint unconditional               # matches every request that the rules match
    cdef str error                        # of a malformed selector

    cpdef Hit match(self, MatchInput request)
    cdef Hit first(self, tuple rules, MatchInput request)
    cdef Hit confirm(self, MatchInput request, Hit hit)
