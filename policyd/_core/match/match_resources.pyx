"""Matches a request with the MatchResources of a policy or binding, exactly as the API server does.

Sources: ``apiserver/pkg/admission/plugin/policy/matching`` and ``webhook/predicates``; facts 41 to
47 of the recorded rows have behaviour measured beyond these. ``matcher.pyx`` selects the policies
to match; the plans evaluate matchConditions.
"""

cimport cython

from policyd._core.json.request cimport AdmissionRequest
from policyd._core.values.errors cimport CelError

from policyd._core.match import labels as label_names, unseen_resources
from policyd._core.match.equivalents import EQUIVALENTS

#: from policyd._core.match.equivalents import Equivalents
#: from policyd._core.match.equivalents import GvkTuple
#: from policyd._core.match.equivalents import Gvr

cdef object NEVER_MATCHED = unseen_resources.POLICIES | unseen_resources.REVIEWS
cdef str NAMESPACE_NAME_LABEL = label_names.NAMESPACE_NAME
cdef tuple NAMESPACE = ("", "v1", "namespaces")
cdef dict SCOPES = {None: ALL_SCOPES, "*": ALL_SCOPES, "Namespaced": NAMESPACED, "Cluster": CLUSTER}
cdef object SENT = object()


cdef inline str string_in(dict holder, str key):
    cdef object found = holder.get(key)
    return <str>found if type(found) is str else ""


cdef tuple triple(dict holder, str key, str last, tuple default):
    """A GroupVersionKind or GroupVersionResource of the request as a tuple."""
    cdef object found = holder.get(key)
    if type(found) is not dict:
        return default
    return (
        string_in(<dict>found, "group"),
        string_in(<dict>found, "version"),
        string_in(<dict>found, last),
    )


cdef inline str api_version(tuple kind):
    return f"{kind[0]}/{kind[1]}" if kind[0] else kind[1]


cdef dict metadata_of(object obj):
    """The metadata of an object; None if there is no object or it has no metadata."""
    cdef object found = (<dict>obj).get("metadata") if type(obj) is dict else None
    return <dict>found if type(found) is dict else None


cdef dict labels_in(dict metadata):
    cdef object found = metadata.get("labels")
    return <dict>found if type(found) is dict else {}


@cython.final
@cython.freelist(16)
cdef class Hit:
    """A match of a policy: the kind and resource that it sees, and whether the objects have that
    kind.

    ``kind`` and ``resource`` are the policy's ``request.kind`` and ``request.resource``.
    ``api_version`` replaces the apiVersion of object and oldObject, which differ in nothing else
    ("": it stays). ``mismatch`` is the error for a policy that reads the objects, which were sent
    in another version and cannot be converted here ("": they have the version). ``error``: the
    match itself fails, as in the API server (a malformed selector); or "".
    """
    #: def __init__(self, *args: object, **kwargs: object) -> None: ...
    #: kind: GvkTuple
    #: resource: Gvr

    def __init__(self):
        raise TypeError("hits are created by a match")

    def __repr__(self):
        cdef list parts = [f"kind={self.kind}", f"resource={self.resource}"]
        for name in ("api_version", "mismatch", "error"):
            if getattr(self, name):
                parts.append(f"{name}={getattr(self, name)!r}")
        return f"Hit({', '.join(parts)})"


cdef Hit new_hit(tuple kind, tuple resource):
    cdef Hit hit = Hit.__new__(Hit)
    hit.kind, hit.resource = kind, resource
    hit.api_version = hit.mismatch = hit.error = ""
    return hit


cdef Hit failed(Hit hit, str error):
    cdef Hit result = new_hit(hit.kind, hit.resource)
    result.error = error
    return result


@cython.final
@cython.freelist(8)
cdef class MatchInput:
    """One request as the matcher sees it. Computes expensive attributes at first use."""
    #: kind: GvkTuple
    #: resource: Gvr
    #: request_kind: GvkTuple
    #: request_resource: Gvr

    def __init__(
        self, dict request not None, namespace_labels, object=SENT, old_object=SENT, *,
        equivalents=EQUIVALENTS, never=NEVER_MATCHED
    ):
        #: (dict[str, Any], Callable[[str], dict[str, str] | str | None], object, object,
        #: Equivalents, Container[tuple[str, str]]) -> None
        self.kind = triple(request, "kind", "kind", ("", "", ""))
        self.resource = triple(request, "resource", "resource", ("", "", ""))
        self.request_kind = triple(request, "requestKind", "kind", self.kind)
        self.request_resource = triple(request, "requestResource", "resource", self.resource)
        # A conversion changes the resource, never the subresource.
        self.sub_resource = string_in(request, "subResource")
        self.operation = string_in(request, "operation")
        self.name = string_in(request, "name")
        self.namespace = string_in(request, "namespace")
        self.object = request.get("object") if object is SENT else object
        self.old_object = request.get("oldObject") if old_object is SENT else old_object
        self.never_matched = (
            (self.request_resource[0], self.request_resource[2]) in never
        )
        self.namespace_labels = namespace_labels
        self.table = equivalents

    cdef Hit exact_hit(self):
        if self.exact is None:
            self.exact = self.hit(self.request_kind, self.request_resource)
        return self.exact

    cdef Hit hit(self, tuple kind, tuple resource):
        """The hit for a policy that sees this kind. An unknown kind is an error of the match."""
        cdef Hit hit = new_hit(kind, resource)
        if kind[0] == self.kind[0] and kind[1] == self.kind[1]:
            return hit
        if not (kind[0] or kind[1] or kind[2]):
            shown = f"{resource[0]}/{resource[1]}, Resource={resource[2]}"
            return failed(hit, f"unable to convert to {shown}: unknown kind")
        family = self.family()
        if family is not None and family.convertible:
            hit.api_version = api_version(kind)
        else:
            hit.mismatch = f"needs {api_version(kind)}, was sent {api_version(self.kind)}"
        return hit

    cdef Hit hit_in(self, tuple resource):
        """The hit for a policy whose rule names an equivalent of the client's resource."""
        cdef tuple kind = self.request_kind
        if resource == self.resource:
            return self.hit(self.kind, resource)
        family = self.family()
        known = None if family is None else family.kinds.get((resource, self.sub_resource))
        if known is not None:
            kind = known
        elif kind[0] == self.request_resource[0] and kind[1] == self.request_resource[1]:
            # The kind changes with the group of the resource; a Scale has another group and is
            # kept.
            kind = (resource[0], resource[1], kind[2])
        return self.hit(kind, resource)

    cdef list equivalents(self):
        """The resources equivalent to the client's, beginning with the one in the request."""
        if self.others is None:
            self.others = []
            if self.resource != self.request_resource:
                self.others.append(self.resource)
            family = self.family()
            if family is not None:
                for resource in family.resources:
                    if resource != self.request_resource and resource not in self.others:
                        self.others.append(resource)
            else:
                self.any_version = self.request_resource[0] not in self.table.closed_groups
        return self.others

    cdef object family(self):
        return self.table.families.get((self.request_resource[0], self.request_resource[2]))

    cpdef dict labels_of_namespace(self):
        #: () -> dict[str, str]
        """The labels for a namespaceSelector; the request needs a namespace or a Namespace object.

        None, with ``labels_error`` set, if the labels are not known.
        """
        cdef dict metadata = None
        cdef str name = self.namespace
        cdef object found
        if self.labels is not None or self.labels_error is not None:
            return self.labels
        if self.request_resource[2] == "namespaces":
            name = name or self.name
            if not self.sub_resource and self.operation in ("CREATE", "UPDATE"):
                metadata = metadata_of(self.object)
            else:
                metadata = metadata_of(self.old_object)
        found = self.namespace_labels(name) if metadata is None else labels_in(metadata)
        if metadata is not None and type(metadata.get("labels")) is CelError:
            found = f"the labels of the Namespace cannot be read: {metadata['labels'].message}"
        if type(found) is str:
            self.labels_error = found
            return None
        if found is None:
            found = {}
        if NAMESPACE_NAME_LABEL not in found:
            found = {**found, NAMESPACE_NAME_LABEL: name}
        self.labels = found
        return self.labels


def input_of(
    AdmissionRequest request not None, namespace_labels, object, old_object, equivalents
):
    #: (AdmissionRequest, Callable[[str], dict[str, str] | str | None], Any, Any, Equivalents) ->
    #: MatchInput
    """A MatchInput for a decoded request, with these objects."""
    cdef MatchInput made = MatchInput.__new__(MatchInput)
    made.kind, made.resource = request.kind, request.resource
    made.request_kind, made.request_resource = request.request_kind, request.request_resource
    made.sub_resource, made.operation = request.sub_resource, request.operation
    made.name, made.namespace = request.name, request.namespace
    made.object, made.old_object = object, old_object
    made.never_matched = (
        (made.request_resource[0], made.request_resource[2]) in NEVER_MATCHED
    )
    made.namespace_labels = namespace_labels
    made.table = equivalents
    return made


@cython.final
cdef class ResourceRule:
    """One entry of resourceRules or excludeResourceRules."""
    #: groups: tuple[str, ...]
    #: versions: tuple[str, ...]
    #: resources: tuple[tuple[str, str], ...]
    #: operations: tuple[str, ...]

    def __init__(self, dict rule not None):
        #: (dict[str, Any]) -> None
        self.groups = tuple(rule.get("apiGroups") or ())
        self.versions = tuple(rule.get("apiVersions") or ())
        self.operations = tuple(rule.get("operations") or ())
        names = rule.get("resourceNames") or ()
        self.names = frozenset(names) if names else None
        self.scope = SCOPES.get(rule.get("scope"), NO_SCOPE)
        self.resources = tuple([
            (resource.partition("/")[0], resource.partition("/")[2])
            for resource in rule.get("resources") or ()
        ])

    cdef bint allows(self, MatchInput request, tuple resource) except -1:
        """Whether scope and names match; the rest of the rule is known to match."""
        if self.scope != ALL_SCOPES:
            # A Namespace is cluster-scoped, although its request has its own name as namespace.
            if not request.namespace or resource == NAMESPACE:
                if self.scope != CLUSTER:
                    return False
            elif self.scope != NAMESPACED:
                return False
        return self.names is None or request.name in self.names

    cdef bint matches(self, MatchInput request, tuple resource, bint any_version) except -1:
        """``any_version``: the rule must name the group, but not the version."""
        cdef str name, sub
        if not (
            ("*" in self.operations or request.operation in self.operations)
            and (resource[0] in self.groups or ("*" in self.groups and not any_version))
            and (any_version or "*" in self.versions or resource[1] in self.versions)
        ):
            return False
        for name, sub in self.resources:
            # "pods/*" includes pods.
            if name in ("*", resource[2]) and sub in ("*", request.sub_resource):
                return self.allows(request, resource)
        return False

    cdef str other_version(self, str version):
        """The first version of the rule that differs from this one, or None."""
        for other in self.versions:
            if other != version and other != "*":
                return other
        return None


@cython.final
cdef class MatchRules:
    """A MatchResources: rules, excludes, selectors and matchPolicy.

    ``written`` is its plain JSON, from which loading derives other match rules.
    """
    #: written: dict[str, Any]
    #: rules: tuple[ResourceRule, ...]
    #: excludes: tuple[ResourceRule, ...]

    def __init__(
        self, resource_rules=(), exclude_resource_rules=(), dict namespace_selector=None,
        dict object_selector=None, str match_policy="Equivalent"
    ):
        #: (Sequence[dict[str, Any]], Sequence[dict[str, Any]], dict[str, Any] | None, dict[str,
        #: Any] | None, str) -> None
        self.written = {
            "resourceRules": list(resource_rules or ()),
            "excludeResourceRules": list(exclude_resource_rules or ()),
            "namespaceSelector": namespace_selector or {},
            "objectSelector": object_selector or {},
            "matchPolicy": match_policy,
        }
        self.rules = tuple([ResourceRule(rule) for rule in resource_rules or ()])
        self.excludes = tuple([ResourceRule(rule) for rule in exclude_resource_rules or ()])
        self.equivalent = match_policy == "Equivalent"
        try:
            self.namespace_selector = Selector(namespace_selector)
            self.object_selector = Selector(object_selector)
        except ValueError as error:
            # Kubernetes reports this only for requests that the rules match.
            self.error = str(error)
        else:
            self.selects_namespaces = bool(self.namespace_selector.keys - {NAMESPACE_NAME_LABEL})
            self.selects = not (self.namespace_selector.empty and self.object_selector.empty)
            self.unconditional = not self.selects and not self.excludes

    cpdef Hit match(self, MatchInput request):
        #: (MatchInput) -> Hit | None
        """The hit if this matches the request, else None."""
        cdef Hit hit
        if request.never_matched:
            return None
        hit = self.first(self.rules, request) if self.rules else request.exact_hit()
        return None if hit is None else self.confirm(request, hit)

    cdef Hit first(self, tuple rules, MatchInput request):
        """The hit of these rules. An exact match beats an earlier equivalent match."""
        cdef ResourceRule rule
        cdef tuple resource, wanted = request.request_resource
        cdef str version
        for rule in rules:
            if rule.matches(request, wanted, False):
                return request.exact_hit()
        if not self.equivalent:
            return None
        request.equivalents()
        for rule in rules:
            for resource in request.others:
                if rule.matches(request, resource, False):
                    return request.hit_in(resource)
            if request.any_version and rule.matches(request, wanted, True):
                version = rule.other_version(wanted[1])
                if version is not None:
                    return request.hit_in((wanted[0], version, wanted[2]))
        return None

    cdef Hit confirm(self, MatchInput request, Hit hit):
        """The hit, or None if the request is excluded. The rules are known to match."""
        cdef dict labels
        if self.excludes and self.first(self.excludes, request) is not None:
            return None
        if self.error is not None:
            return failed(hit, self.error)
        if not self.namespace_selector.empty and (
            request.namespace or request.request_resource[2] == "namespaces"
        ):
            if self.selects_namespaces or request.request_resource[2] == "namespaces":
                labels = request.labels_of_namespace()
            else:
                labels = {NAMESPACE_NAME_LABEL: request.namespace}
            if labels is None:
                hit = failed(hit, request.labels_error)
            elif not self.namespace_selector.matches(labels):
                return None
        if not self.object_selector.empty:
            for obj in (request.object, request.old_object):
                metadata = metadata_of(obj)
                if metadata is None:
                    continue
                # Labels that cannot be read (in an unreadable review) could match.
                if (
                    type(metadata.get("labels")) is CelError
                    or self.object_selector.matches(labels_in(metadata))
                ):
                    return hit
            return None
        return hit
