"""What a request is to a matcher, what a rule asks of it, and the answer."""

from policyd._core.match.selectors cimport Selector


cdef enum RuleScope:
    ALL_SCOPES
    NAMESPACED
    CLUSTER
    NO_SCOPE


cdef class Hit:
    """A policy applies: what it sees, and whether the object sent is that.

    ``kind`` and ``resource`` are what the policy's ``request.kind`` and ``request.resource`` say.
    ``api_version``: object and oldObject only need this apiVersion instead of theirs ("": as sent).
    ``mismatch``: the objects came in another version than the policy sees and cannot be converted
    here: the error to raise when the policy looks at them ("": they fit).
    ``error``: the API server would fail the match itself (a malformed selector), as text.
    """
    cdef readonly tuple kind
    cdef readonly tuple resource
    cdef readonly str api_version
    cdef readonly str mismatch
    cdef readonly str error


cdef class MatchInput:
    """One request as the matcher sees it. Lives as long as the request; what is costly is lazy."""
    cdef readonly str operation
    cdef readonly str name
    cdef readonly str namespace
    cdef readonly str sub_resource
    cdef readonly tuple kind              # of the object that was sent
    cdef readonly tuple resource
    cdef readonly tuple request_kind      # of what the client wrote
    cdef readonly tuple request_resource
    cdef readonly object object
    cdef readonly object old_object
    cdef readonly bint never_matched      # Kubernetes shows it to no policy
    cdef object namespace_labels
    cdef object table                     # Equivalents
    cdef Hit exact                        # the answer for rules that name the client's resource
    cdef dict labels                      # of the namespace; None until asked for
    cdef str labels_error                 # why they are not known, if they are not
    cdef list others                      # equivalent resources; None until asked for
    cdef bint any_version                 # set with ``others``: every version may be served

    cdef Hit exact_hit(self)
    cdef Hit hit(self, tuple kind, tuple resource)
    cdef Hit hit_in(self, tuple resource)
    cdef list equivalents(self)
    cdef object family(self)
    cdef dict labels_of_namespace(self)


cdef class ResourceRule:
    """One entry of resourceRules or excludeResourceRules."""
    cdef readonly tuple groups
    cdef readonly tuple versions
    cdef readonly tuple resources         # of (resource, subresource)
    cdef readonly tuple operations
    cdef frozenset names                  # None: all
    cdef RuleScope scope

    cdef bint allows(self, MatchInput request, tuple resource) except -1
    cdef bint matches(self, MatchInput request, tuple resource, bint any_version) except -1
    cdef str other_version(self, str version)


cdef class MatchRules:
    """A whole MatchResources: rules, excludes, selectors and matchPolicy."""
    cdef readonly tuple rules
    cdef readonly tuple excludes
    cdef readonly bint equivalent
    cdef Selector namespace_selector      # None: everything, or malformed (see ``error``)
    cdef Selector object_selector
    cdef readonly bint selects_namespaces  # whether labels of namespaces beside the name decide
    cdef readonly bint selects            # whether any labels decide
    cdef str error                        # of a malformed selector

    cdef Hit find(self, MatchInput request)
    cdef Hit first(self, tuple rules, MatchInput request)
    cdef Hit confirm(self, MatchInput request, Hit hit)
