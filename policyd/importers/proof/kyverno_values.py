"""Read what a Kyverno test says about the cluster and the requests: values, labels of namespaces,
sub-resources, the user. Evaluates nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from policyd.importers.fields import object_at, objects, require_fields, string_at
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.kyverno_tests import ExpectedResult, KyvernoTest
from policyd.importers.proof.rows import TestUnusable
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.reviews import namespace

_FIELDS = frozenset(
    {
        "apiVersion", "kind", "metadata", "spec", "globalValues", "policies", "namespaceSelector",
        "namespaces", "subresources", "variables",
    }
)  # fmt: skip
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
                for rule in objects(policy.get("rules"), "rules"):
                    if rule.get("name") in result.rules:
                        found |= object_at(rule, "values")
                for one in objects(policy.get("resources"), "resources"):
                    if one.get("name") == resource:
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


def read_values(test: KyvernoTest, files: TestFiles) -> TestValues:
    """Return the values of a test; raises TestUnusable for what is not understood."""
    found: list[JSONObject] = []
    if test.variables:
        found += _of_kind(test, files, test.variables, ("Values", "Value"))
    if test.values:
        found.append(test.values)
    flat = []
    for each in found:
        require_fields(each, _FIELDS, "")
        flat += [each, object_at(each, "spec")]
    user = None
    if test.user_info:
        holder = _of_kind(test, files, test.user_info, ("UserInfo",))[0]
        # Roles are what Kyverno looks up by itself; an AdmissionReview has none.
        user = object_at(holder, "userInfo") or object_at(holder, "requestInfo").get("userInfo")
        if object_at(holder, "requestInfo").get("roles") or holder.get("clusterRoles"):
            raise TestUnusable("roles of a user are not part of an AdmissionReview")
    return TestValues(tuple(flat), user)


def context_objects(test: KyvernoTest, files: TestFiles) -> list[JSONObject]:
    """Return the objects of the cluster that the context of a test holds. What registries would
    answer is not among them: no policy that asks them is imported.
    """
    if not test.context:
        return []
    found = _of_kind(test, files, test.context, ("Context",))
    return [
        one
        for each in found
        for one in objects(object_at(each, "spec").get("resources"), "resources")
    ]


def request_fields(values: JSONObject) -> JSONObject:
    """Return the fields of the request that values set, such as ``request.operation``."""
    fields: JSONObject = {}
    for name, value in values.items():
        if name == "request" and isinstance(value, dict):
            fields |= value
        elif name.startswith(_REQUEST):
            *above, last = name.removeprefix(_REQUEST).split(".")
            holder = fields
            for part in above:
                holder = holder.setdefault(part, {})
            holder[last] = value
    return fields


def config_maps(values: JSONObject, source: Document) -> list[JSONObject]:
    """Return the ConfigMaps that the policy reads, with the data that the values give them."""
    found: dict[tuple[str, str], JSONObject] = {}
    for name, where in _references(source.raw).items():
        for key, value in values.items():
            if key.startswith(f"{name}{_DATA}"):
                data = found.setdefault(where, {})
                data[key.removeprefix(f"{name}{_DATA}")] = _text(value)
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


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else str(value)


def _of_kind(
    test: KyvernoTest, files: TestFiles, name: str, kinds: Sequence[str]
) -> Sequence[JSONObject]:
    """Return the documents of a file, of these kinds; the first versions had no kind."""
    found = files.values(test.document, name)
    if not found or any(each.get("kind", kinds[0]) not in kinds for each in found):
        raise TestUnusable(f"{name}: expected a document of kind {kinds[0]}")
    return found
