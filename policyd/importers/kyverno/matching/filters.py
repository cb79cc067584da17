"""One entry of `match` or `exclude`: what it requires of a request besides its kind, as CEL.

Kyverno compares the new object and, if it does not fit, the old one (pkg/engine/engine.go,
``matches``).
"""

from dataclasses import dataclass

from policyd.export.expressions.cel import TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, negated, quoted, some
from policyd.importers.jmespath.globs import among, globbed, has_wildcards
from policyd.importers.model import ImportNotes, Refused
from policyd.json_types import JSON, JSONObject

_OPPOSITES = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}
# An object whose name will be generated has none yet; Kyverno takes generateName then.
_NAME = "o.metadata.?name.orValue(o.metadata.?generateName.orValue(''))"
_ADMINISTRATOR = "authorizer.group('*').resource('*').check('*').allowed()"


@dataclass(frozen=True, slots=True)
class Filter:
    """One entry. ``kinds`` and ``operations`` are empty if it has none.

    ``request`` is a test of the request; ``object`` one of its object, which is called ``o`` there.
    ``labels`` and ``namespace_labels`` are the requirements of the selectors, as a LabelSelector
    has them; ``labels`` is None if they have wildcards that it cannot say. ``labelled`` tests the
    labels in CEL. Labels of the namespace are not in the tests: matchConditions do not see them.
    """

    path: str
    kinds: tuple[str, ...]
    operations: tuple[str, ...]
    request: Cel
    object: Cel
    labels: tuple[JSONObject, ...] | None
    labelled: Cel
    namespace_labels: tuple[JSONObject, ...]

    @property
    def only_kinds(self) -> bool:
        """Return whether kinds and operations are all that it requires."""
        return self.request == self.object == self.labelled == TRUE and not self.namespace_labels

    def test(self, *, without_labels: bool = False) -> Cel:
        """Return the test of one request, without kinds and operations."""
        about = self.object if without_labels else every(self.object, self.labelled)
        return every(self.request, _some_object(about))

    def spared(self, among_them: Cel) -> Cel:
        """Return the test that the entry does not fit: either object is enough for that.

        ``among_them`` tests kind and operation.
        """
        about = every(self.object, self.labelled)
        elsewhere = negated(every(among_them, self.request))
        if about == TRUE:
            return elsewhere
        return some(elsewhere, _some_object(negated(about)))


def _some_object(test: Cel) -> Cel:
    if test == TRUE:
        return TRUE
    found = every(relation("o", "!=", "null"), test)
    return Cel(f"[object, oldObject].exists(o, {found.text})")


def read(
    entry: JSONObject, path: str, notes: ImportNotes, *, namespace: str, deletes: bool
) -> Filter:
    """Read an entry of ``any`` or ``all``, or the fields of a block that has neither.

    ``namespace`` is CEL of the namespace of a request. ``deletes``: DELETE is among the operations;
    if a collection is deleted, requests have no name. Raises Refused for what a request does not
    show.
    """
    resources = entry.get("resources") or {}
    namespaces = resources.get("namespaces") or ()
    within = among(namespace, namespaces) if namespaces else TRUE
    request = [within, _subjects(entry, path), _roles(entry, path, notes)]
    about: list[Cel] = []
    single = [resources["name"]] if resources.get("name") else []
    for names in filter(None, (single, resources.get("names"))):
        if deletes or any(map(has_wildcards, names)):
            about.append(among(_NAME, names))
        else:
            request.append(among("request.name", names))
    about += (_pair("annotations", *each) for each in resources.get("annotations", {}).items())
    labels = _requirements(resources.get("selector"), f"{path}.resources.selector")
    at = f"{path}.resources.namespaceSelector"
    namespace_labels = required_labels(resources.get("namespaceSelector"), at)
    return Filter(
        path,
        tuple(resources.get("kinds") or ()),
        tuple(resources.get("operations") or ()),
        every(*request),
        every(*about),
        tuple(labels) if _expressible(labels) else None,
        every(*(_labelled(each) for each in labels)),
        tuple(namespace_labels),
    )


def _pair(field: str, key: str, value: str) -> Cel:
    """Test that a map of strings has a pair; both parts may have wildcards."""
    found = f"o.metadata.?{field}"
    if has_wildcards(key):
        test = every(globbed("k", key), globbed(f"o.metadata.{field}[k]", value))
        return Cel(f"{found}.orValue({{}}).exists(k, {test.text})")
    optional = f"{found}[?{quoted(key)}]"
    test = globbed(f"{optional}.orValue('')", value)
    there = Cel(f"{optional}.hasValue()")
    return every(there, test) if not value.strip("*") else test


def _requirements(selector: JSON, path: str) -> list[JSONObject]:
    """Return what a label selector requires; pairs of matchLabels with wildcards as ``Like``."""
    if selector is None:
        return []
    required: list[JSONObject] = []
    for key, value in (selector.get("matchLabels") or {}).items():
        if value == "*" and not has_wildcards(key):
            required.append({"key": key, "operator": "Exists"})
        elif has_wildcards(f"{key}{value}"):
            required.append({"key": key, "operator": "Like", "values": [value]})
        else:
            required.append({"key": key, "operator": "In", "values": [str(value)]})
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        if each.get("operator") not in _OPPOSITES:
            message = "the operator of a label selector is In, NotIn, Exists or DoesNotExist"
            raise Refused(f"{path}.matchExpressions[{index}]", message)
        required.append(dict(each))
    return required


def required_labels(selector: JSON, path: str) -> list[JSONObject]:
    """Return what a selector of namespaces requires of their labels. Raises Refused."""
    found = _requirements(selector, path)
    if not _expressible(found):
        raise Refused(path, "labels of a namespace cannot be compared with wildcards")
    return found


def _expressible(required: list[JSONObject]) -> bool:
    return all(each["operator"] != "Like" for each in required)


def label_selector(required: tuple[JSONObject, ...]) -> JSONObject:
    """Write requirements as a LabelSelector, pairs as matchLabels.

    >>> label_selector(({"key": "app", "operator": "In", "values": ["web"]},))
    {'matchLabels': {'app': 'web'}}
    """
    pairs: JSONObject = {}
    others = []
    for each in required:
        if each["operator"] == "In" and len(each["values"]) == 1 and each["key"] not in pairs:
            pairs[each["key"]] = each["values"][0]
        else:
            others.append(each)
    selector: JSONObject = {"matchLabels": pairs} if pairs else {}
    return {**selector, "matchExpressions": others} if others else selector


def selecting(constraints: JSONObject, required: tuple[JSONObject, ...]) -> JSONObject:
    """Return matchConstraints that require more of the labels of the namespace."""
    given = constraints.get("namespaceSelector") or {}
    listed = [*given.get("matchExpressions", ()), *required]
    selector = {**given, "matchExpressions": listed} if given else label_selector(required)
    return {**constraints, "namespaceSelector": selector}


def opposite(requirement: JSONObject) -> JSONObject:
    """Return the requirement that holds exactly if this one does not.

    >>> opposite({"key": "app", "operator": "Exists"})
    {'key': 'app', 'operator': 'DoesNotExist'}
    """
    return {**requirement, "operator": _OPPOSITES[requirement["operator"]]}


def holds_without_labels(requirement: JSONObject) -> bool:
    """Return whether an object without labels meets a requirement.

    >>> holds_without_labels({"key": "app", "operator": "NotIn", "values": ["web"]})
    True
    """
    return requirement["operator"] in ("NotIn", "DoesNotExist")


def _labelled(each: JSONObject) -> Cel:
    """Translate a requirement as k8s.io/apimachinery pkg/labels/selector.go defines it."""
    key, values = str(each["key"]), [str(value) for value in each.get("values") or ()]
    if each["operator"] == "Like" or (each["operator"] == "In" and len(values) == 1):
        return _pair("labels", key, values[0])
    optional = f"o.metadata.?labels[?{quoted(key)}]"
    there = Cel(f"{optional}.hasValue()")
    if each["operator"] in ("Exists", "DoesNotExist"):
        return there if each["operator"] == "Exists" else negated(there)
    listed = every(there, among(f"{optional}.orValue('')", values))
    return listed if each["operator"] == "In" else negated(listed)


def _subjects(entry: JSONObject, path: str) -> Cel:
    """Test the user as kyverno pkg/utils/match/subjects.go does."""
    tests = []
    users = []
    for index, each in enumerate(entry.get("subjects") or ()):
        name, kind = str(each.get("name", "")), each.get("kind")
        if kind == "ServiceAccount":
            users.append(f"system:serviceaccount:{each.get('namespace', '')}:{name}")
        elif kind == "User":
            users.append(name)
        elif kind == "Group":
            tests.append(_group(name))
        else:
            raise Refused(
                f"{path}.subjects[{index}].kind", "a subject is a User, a Group or a ServiceAccount"
            )
    if users:
        tests.insert(0, among("request.userInfo.username", users))
    return some(*tests) if tests else TRUE


def _group(name: str) -> Cel:
    if not has_wildcards(name):
        return relation(quoted(name), "in", "request.userInfo.groups")
    return Cel(f"request.userInfo.groups.exists(g, {globbed('g', name).text})")


def _roles(entry: JSONObject, path: str, notes: ImportNotes) -> Cel:
    """Kyverno looks up the bindings of the user; a request names only the user and the groups."""
    if entry.get("roles"):
        raise Refused(
            f"{path}.roles", "a request does not show the roles of its user: name users or groups"
        )
    roles = entry.get("clusterRoles") or []
    if not roles:
        return TRUE
    if roles != ["cluster-admin"]:
        raise Refused(
            f"{path}.clusterRoles",
            "a request does not show the cluster roles of its user: name users or groups "
            "(cluster-admin alone becomes a check of what the user may do)",
        )
    notes.remark(
        f"{path}.clusterRoles",
        "whoever may do everything counts as cluster-admin: the webhook needs access to the "
        "cluster to ask",
    )
    return Cel(_ADMINISTRATOR)
