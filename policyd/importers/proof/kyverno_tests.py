"""Read kyverno-test.yaml: which policies and resources a test is about, the results it expects, and
what it says about the cluster and the requests. Evaluates nothing.

The fields are the ones of ``Test`` of cli.kyverno.io/v1alpha1, with the deprecated ones: ``name``,
``variables``, and in results ``status``, ``resource``, ``namespace`` and ``patchedResource``.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policyd.importers.fields import (
    items,
    object_at,
    objects,
    require_fields,
    string_at,
    strings_at,
)
from policyd.importers.kyverno.matching.autogen import PREFIXES
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.rows import TestUnusable
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.reviews import namespace

_FIELDS = frozenset(
    {
        "apiVersion", "kind", "metadata", "name", "policies", "resources", "targetResources",
        "variables", "values", "userinfo", "userInfo", "exceptions", "context", "results",
        "paramResources", "clusterResources",
    }
)  # fmt: skip
# What policyd has no counterpart for, with the reason why the rows are not run.
_REFUSED = {
    "checks": "checks are assertions of kyverno-json about rule responses: only results are run",
    "jsonPayload": "a JSON payload is no admission request",
    "jsonPayloads": "JSON payloads are no admission requests",
}
_FLAGS = (
    "isValidatingAdmissionPolicy",
    "isMutatingAdmissionPolicy",
    "isValidatingPolicy",
    "isMutatingPolicy",
    "isImageValidatingPolicy",
    "isGeneratingPolicy",
    "isDeletingPolicy",
)
_RESULT_FIELDS = frozenset(
    {
        "policy", "rule", "result", "status", "kind", "resource", "resources", "resourceSpecs",
        "namespace", "operation", "patchedResource", "patchedResources", "generatedResource",
        "cloneSourceResource", *_FLAGS,
    }
)  # fmt: skip
_RESULTS = frozenset({"pass", "fail", "skip", "warn", "error"})


@dataclass(frozen=True, slots=True)
class TestSubject:
    """An object that a result is about, as far as the test names it. Empty: any."""

    kind: str
    name: str = ""
    namespace: str = ""

    def fits(self, document: Document) -> bool:
        """Whether an object of the test's resources is meant."""
        namespace = document.namespace or "default"
        return (
            self.kind in ("", document.kind)
            and self.name in ("", document.name)
            and self.namespace in ("", namespace)
        )

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """One entry of ``results``. ``policy`` is ``NAME`` or ``NAMESPACE/NAME``; an empty ``rule``
    stands for all of them. ``patched``: the file of the object after mutation; empty if the result
    names none.
    """

    path: str
    policy: str
    rule: str
    result: str
    subjects: tuple[TestSubject, ...]
    operation: str = ""
    patched: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """The names under which the rule is known: as written, and as the rule that Kyverno made
        its copies for controllers of.
        """
        made = (self.rule.removeprefix(each) for each in PREFIXES if self.rule.startswith(each))
        return (self.rule, *made)


def expected_results(document: Document) -> Iterator[ExpectedResult]:
    """Yield what a document of kind Test expects; raises Refused for what is not understood."""
    raw = document.raw
    for name, reason in _REFUSED.items():
        if raw.get(name):
            raise TestUnusable(reason)
    require_fields(raw, _FIELDS | _REFUSED.keys(), "")
    for each, path in items(raw, "results", "", _RESULT_FIELDS):
        result = string_at(each, "result", path) or string_at(each, "status", path)
        if result not in _RESULTS:
            raise TestUnusable(f"{path}.result: expected one of {', '.join(sorted(_RESULTS))}")
        patched = strings_at(each, "patchedResources", path) or strings_at(
            each, "patchedResource", path
        )
        if len(patched) > 1:
            raise TestUnusable(f"{path}.patchedResources: expected one file, got {len(patched)}")
        yield ExpectedResult(
            path,
            string_at(each, "policy", path),
            string_at(each, "rule", path),
            result,
            tuple(_subjects(each, path)),
            string_at(each, "operation", path),
            patched[0] if patched else "",
        )


def _subjects(result: JSONObject, path: str) -> Iterator[TestSubject]:
    kind, usual = string_at(result, "kind", path), string_at(result, "namespace", path)
    names = strings_at(result, "resources", path) or strings_at(result, "resource", path)
    specs = objects(result.get("resourceSpecs"), f"{path}.resourceSpecs")
    for each in names:
        namespace, _, name = each.rpartition("/")
        yield TestSubject(kind, name, namespace.rpartition("/")[2] or usual)
    for spec in specs:
        yield TestSubject(
            string_at(spec, "kind", f"{path}.resourceSpecs") or kind,
            string_at(spec, "name", f"{path}.resourceSpecs"),
            string_at(spec, "namespace", f"{path}.resourceSpecs"),
        )
    if not names and not specs:
        yield TestSubject(kind, "", usual)


_VALUES = frozenset(
    {
        "apiVersion", "kind", "metadata", "spec", "globalValues", "policies", "namespaceSelector",
        "namespaces", "subresources", "variables",
    }
)  # fmt: skip
_CLUSTER = ("paramResources", "clusterResources", "targetResources")
_FETCHED = frozenset(("apiCall", "globalReference"))
_REQUEST = "request."
_DATA = ".data."


@dataclass(frozen=True, slots=True)
class TestValues:
    """The values of a test. ``documents`` are the parts of it, the last one wins."""

    __test__ = False

    documents: tuple[JSONObject, ...] = ()
    user: JSONObject | None = None

    def of(self, result: ExpectedResult, resource: str) -> JSONObject:
        """Return the values for one rule and one resource, by the names of variables."""
        found: JSONObject = {}
        for each in self.documents:
            found |= object_at(each, "globalValues")
            for policy in objects(each.get("policies"), "policies"):
                name = string_at(policy, "name").rpartition("/")[2]
                if name != result.policy.rpartition("/")[2]:
                    continue
                for field, names in (("rules", result.rules), ("resources", (resource,))):
                    for one in objects(policy.get(field), field):
                        if one.get("name") in names:
                            found |= object_at(one, "values")
        return found

    def namespaces(self) -> dict[str, JSONObject]:
        """Return the Namespaces that the test describes, by name."""
        found: dict[str, JSONObject] = {}
        for each in self.documents:
            for one in objects(each.get("namespaceSelector"), "namespaceSelector"):
                name = string_at(one, "name")
                found[name] = namespace(name, object_at(one, "labels"))
            for one in objects(each.get("namespaces"), "namespaces"):
                found[string_at(object_at(one, "metadata"), "name")] = one
        return found

    def subresource(self, kind: str) -> JSONObject | None:
        """Return the description of the sub-resource whose objects are of this kind."""
        for each in self.documents:
            for one in objects(each.get("subresources"), "subresources"):
                if object_at(one, "subresource").get("kind") == kind:
                    return one
        return None


def read_values(test: Document, files: TestFiles) -> TestValues:
    """Return the values of a test; raises Refused for what is not understood."""
    found = [*_of_kind(test, files, string_at(test.raw, "variables"), ("Values", "Value"))]
    values = test.raw.get("values") or {}
    if not isinstance(values, dict):
        raise TestUnusable("values must be an object; the file of one is named under variables")
    if values:
        found.append(values)
    flat = []
    for each in found:
        require_fields(each, _VALUES, "")
        flat += [each, object_at(each, "spec")]
    user = None
    named = string_at(test.raw, "userinfo") or string_at(test.raw, "userInfo")
    for holder in _of_kind(test, files, named, ("UserInfo",))[:1]:
        # Roles are what Kyverno looks up by itself; an AdmissionReview has none.
        user = object_at(holder, "userInfo") or object_at(holder, "requestInfo").get("userInfo")
        if object_at(holder, "requestInfo").get("roles") or holder.get("clusterRoles"):
            raise TestUnusable("roles of a user are not part of an AdmissionReview")
    return TestValues(tuple(flat), user)


def cluster_objects(test: Document, files: TestFiles) -> list[JSONObject]:
    """Return the objects of the cluster that a test holds. Answers of registries are not
    among them: no policy that needs them is imported.
    """
    held = [*_of_kind(test, files, string_at(test.raw, "context"), ("Context",))]
    found: list[JSONObject] = []
    names = [name for field in _CLUSTER for name in strings_at(test.raw, field)]
    for each in files.objects(test, names):
        (held if each.kind == "ClusterResource" else found).append(each.raw)
    for one in held:
        found += objects(object_at(one, "spec").get("resources"), "resources")
    return found


def request_fields(values: JSONObject) -> JSONObject:
    """Return the fields of the request that values set, such as ``request.operation``."""
    fields: JSONObject = {}
    for name, value in values.items():
        if name == "request" and isinstance(value, dict):
            fields |= value
        elif name.startswith(_REQUEST):
            _set(fields, name.removeprefix(_REQUEST), value)
    return fields


def _set(fields: JSONObject, path: str, value: JSON) -> None:
    """Set the field at a dotted path."""
    *above, last = path.split(".")
    for part in above:
        if not isinstance(fields.get(part), dict):
            fields[part] = {}
        fields = fields[part]
    fields[last] = value


def substituted(policy: JSON, values: JSONObject) -> JSON:
    """Return a policy in which variables with these values stand in place of what it would get from
    the cluster by calls and references of the same names.
    """
    if isinstance(policy, list):
        return [substituted(each, values) for each in policy]
    if not isinstance(policy, dict):
        return policy
    name = policy.get("name")
    if isinstance(name, str) and _FETCHED & policy.keys():
        found = [*_values_of(name, values)]
        if found:
            return {"name": name, "variable": {"value": found[-1]}}
    return {key: substituted(each, values) for key, each in policy.items()}


def _values_of(name: str, values: JSONObject) -> Iterator[JSON]:
    """Yield the values of a variable, the last of which has all the fields that are given."""
    fields: JSONObject = {}
    for key, value in values.items():
        if key == name:
            yield _decoded(value)
        elif key.startswith(f"{name}."):
            _set(fields, key.removeprefix(f"{name}."), value)
            yield fields


def _decoded(value: JSON) -> JSON:
    """Return the list or number that a string such as ``["a"]`` or ``1`` stands for to operators of
    Kyverno.
    """
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return value if isinstance(found, bool | None) else found


def config_maps(values: JSONObject, source: Document) -> list[JSONObject]:
    """Return the ConfigMaps that the policy reads, with the data that the values give them."""
    found: dict[tuple[str, str], JSONObject] = {}
    for name, where in _references(source.raw).items():
        for key, value in values.items():
            if key.startswith(f"{name}{_DATA}"):
                data = found.setdefault(where, {})
                data[key.removeprefix(f"{name}{_DATA}")] = str(value)
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": within},
            "data": data,
        }
        for (within, name), data in found.items()
    ]


def _references(value: JSON) -> dict[str, tuple[str, str]]:
    """Return namespace and name of each ConfigMap in a policy, by the name of its entry."""
    found: dict[str, tuple[str, str]] = {}
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            found |= _references(each)
    config = value.get("configMap") if isinstance(value, dict) else None
    if isinstance(config, dict) and isinstance(value, dict) and isinstance(value.get("name"), str):
        within = config.get("namespace") or "default"
        found[value["name"]] = (str(within), str(config.get("name")))
    return found


def _of_kind(
    test: Document, files: TestFiles, name: str, kinds: Sequence[str]
) -> Sequence[JSONObject]:
    """Return the documents of a file, of these kinds; the first versions had no kind. None if the
    test names no file.
    """
    if not name:
        return ()
    found = files.values(test, name)
    if not found or any(each.get("kind", kinds[0]) not in kinds for each in found):
        raise TestUnusable(f"{name}: expected a document of kind {kinds[0]}")
    return found
