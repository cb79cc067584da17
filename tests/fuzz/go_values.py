"""Expressions at random over objects of built-in kinds, which Kubernetes 1.37 reads as Go's values.

The objects follow the schemas of the kinds. The oracle decodes them into their Go types; what it
prints is what a webhook gets, and what policyd evaluates.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from policyd._core.schema.types import Decoding, Field
from policyd.json_types import JSONObject
from policyd.mutation.schemas.request_type import REQUEST_KIND
from policyd.mutation.schemas.schemas import Schemas
from tests.fuzz import oracle

KINDS = (
    "v1/Pod",
    "apps/v1/Deployment",
    "apps/v1/StatefulSet",
    "apps/v1/DaemonSet",
    "v1/Service",
    "v1/ConfigMap",
    "v1/Secret",
    "v1/Namespace",
    "v1/Node",
    "v1/PersistentVolume",
    "v1/PersistentVolumeClaim",
    "v1/ServiceAccount",
    "v1/Event",
    "v1/LimitRange",
    "v1/ResourceQuota",
    "v1/Endpoints",
    "v1/ReplicationController",
    "apps/v1/ReplicaSet",
    "apps/v1/ControllerRevision",
    "batch/v1/Job",
    "batch/v1/CronJob",
    "autoscaling/v2/HorizontalPodAutoscaler",
    "networking.k8s.io/v1/Ingress",
    "networking.k8s.io/v1/NetworkPolicy",
    "policy/v1/PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1/Role",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
    "storage.k8s.io/v1/StorageClass",
    "storage.k8s.io/v1/CSIStorageCapacity",
    "discovery.k8s.io/v1/EndpointSlice",
    "certificates.k8s.io/v1/CertificateSigningRequest",
    "scheduling.k8s.io/v1/PriorityClass",
    "coordination.k8s.io/v1/Lease",
    "node.k8s.io/v1/RuntimeClass",
    "resource.k8s.io/v1/ResourceClaim",
    "flowcontrol.apiserver.k8s.io/v1/FlowSchema",
    "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
)
LEAVES: dict[str, tuple[Any, ...]] = {
    "resource.Quantity": ("1", "1Gi", "1073741824", "500m", "0.5", "0", "1e3", "1k", "1Ki", "1024"),
    "intstr.IntOrString": (1, 80, "http", "25%", 0),
    "v1.Time": ("2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"),
    "v1.MicroTime": ("2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000001Z"),
    "v1.Duration": ("1s", "1m0s", "0s"),
    "[]uint8": ("YQ==", "", "YWI="),
    "runtime.RawExtension": ({"a": 1, "b": [1, {"c": None}]}, {"a": 1.0}, {}),
    "v1.FieldsV1": ({"f:a": {}, "f:b": {".": {}}},),
}
EACH = 12  # expressions over the same objects
STRINGS = ("a", "b", "web", "", "http", "x/y", "Always")


class Objects:
    """Makes objects of a kind. ``keep`` is the share of fields that are set."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def of(self, field: Field, levels: int) -> Any:
        kind, random = field.type, self.random
        if field.go in LEAVES:
            return random.choice(LEAVES[field.go])
        match kind.decoding:
            case Decoding.STRUCT:
                names = list(kind.fields)
                most = min(len(names), 7 if levels else 2)
                chosen = random.sample(names, random.randrange(most + 1))
                made = {
                    name: self.of(kind.fields[name], levels - 1)
                    for name in chosen
                    if levels or scalar(kind.fields[name])
                }
                return {
                    name: value
                    for name, value in made.items()
                    if value is not None or random.random() < 0.2
                }
            case Decoding.MAP:
                extra = kind.extra
                assert extra is not None
                return (
                    {
                        key: self.of(extra, levels - 1)
                        for key in random.sample(("a", "b", "app", "x.y/z"), random.randrange(3))
                    }
                    if levels or scalar(extra)
                    else {}
                )
            case Decoding.LIST:
                item = kind.item
                assert item is not None
                return (
                    [self.of(item, levels - 1) for _ in range(random.randrange(3))]
                    if levels or scalar(item)
                    else []
                )
            case Decoding.GO_STRING:
                return random.choice(STRINGS)
            case Decoding.GO_BOOL:
                return random.choice((True, False))
            case Decoding.INT32 | Decoding.INT64:
                return random.choice((0, 1, 2, 80))
            case Decoding.FLOAT:
                return random.choice((0.0, 1.0, 1.5))
            case Decoding.LEAF:
                return None
        return None

    def object(self, schemas: Schemas, name: str) -> JSONObject:
        group, version, kind = gvk(name)
        found = schemas.lookup(group, version, kind)
        assert found is not None, name
        made: JSONObject = {}
        while len(made) < 2:
            made = self.of(found.root, 5)
        return {**made, "apiVersion": name.rpartition("/")[0], "kind": kind}


def gvk(name: str) -> tuple[str, str, str]:
    """Group, version and kind of ``apps/v1/Deployment``."""
    if name == "AdmissionRequest":
        return REQUEST_KIND
    home, _, kind = name.rpartition("/")
    group, _, version = home.rpartition("/")
    return group, version, kind


def scalar(field: Field) -> bool:
    return field.type.decoding not in (Decoding.STRUCT, Decoding.MAP, Decoding.LIST)


def literal(value: Any) -> str:
    """A JSON value as CEL."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value)


class Expressions:
    """Makes expressions over variables."""

    def __init__(self, random: Random, variables: JSONObject) -> None:
        self.random = random
        self.places: list[tuple[str, Any]] = []
        for name, value in variables.items():
            self.walk(f"dyn({name})" if name in ("request", "namespaceObject") else name, value)
        self.containers = [each for each in self.places if isinstance(each[1], dict | list)]

    def walk(self, path: str, value: Any) -> None:
        self.places.append((path, value))
        if isinstance(value, dict):
            for key, item in value.items():
                self.walk(
                    f"{path}.{key}"
                    if key.isidentifier() and key not in ("namespace", "in")
                    else f"{path}[{key!r}]",
                    item,
                )
        elif isinstance(value, list):
            for at, item in enumerate(value):
                self.walk(f"{path}[{at}]", item)

    def place(self) -> str:
        path, _ = self.random.choice(self.containers if self.random.random() < 0.8 else self.places)
        return self.other(path) if self.random.random() < 0.3 else path

    def other(self, path: str) -> str:
        """The same place in the other object."""
        if path.startswith("object"):
            return "oldObject" + path.removeprefix("object")
        return "object" + path.removeprefix("oldObject") if path.startswith("oldObject") else path

    def value(self, levels: int = 2) -> str:
        random = self.random
        if levels and random.random() < 0.35:
            a, b = self.value(levels - 1), self.value(levels - 1)
            forms = (
                "[{a}]", "[{a}, {b}]", "{{'a': {a}}}", "{{'a': {a}, 'b': {b}}}", "{{1: {a}}}", "({a} + {b})",
                "(true ? {a} : {b})", "dyn({a})", "optional.of({a})", "optional.ofNonZeroValue({a})",
                "{a}.map(x, x)", "{a}.filter(x, true)", "{a}.map(x, {b})", "{a}.transformMap(k, v, v)",
                "{a}.transformList(k, v, v)", "{a}.?b", "{a}[?0]", "{a}[?0u]", "{a}[?1]", "{a}[?'a']", "{a}.orValue({b})",
                "{a}[0]", "{a}[0u]", "{a}[0.0]", "{a}[1]", "{a}[{b}]", "{a}['a']", "{a}[?{b}]", "{a}.first()", "{a}.last()",
                "{a}.distinct()", "{a}.reverse()", "{a}.flatten()", "{a}.slice(0, 1)", "{a}.sort()", "{a}.slice(0, size({a}))",
                "({a} + [])", "([] + {a})", "{a}.first().value()", "{a}.min()", "{a}.sum()",
            )  # fmt: skip
            return random.choice(forms).format(a=a, b=b)
        if random.random() < 0.15:
            return random.choice(
                (
                    "1",
                    "0u",
                    "1.0",
                    "'a'",
                    "null",
                    "true",
                    "[]",
                    "{}",
                    "[1]",
                    "{'a': 'b'}",
                    "b'a'",
                    "duration('1s')",
                    "quantity('1Gi')",
                    "'1Gi'",
                )
            )
        if random.random() < 0.15:
            _, value = random.choice(self.places)
            if len(json.dumps(value)) < 2000:
                return literal(self.bent(value))
        return self.place()

    def bent(self, value: Any) -> Any:
        """A copy, at times changed."""
        copy = json.loads(json.dumps(value))
        node = copy
        if self.random.random() < 0.5:
            while isinstance(node, dict | list) and node:
                key = self.random.choice(list(node) if isinstance(node, dict) else range(len(node)))
                if self.random.random() < 0.4 or not isinstance(node[key], dict | list):
                    node[key] = self.random.choice((None, 1, "a", [], {}, [1], {"a": 1}))
                    break
                node = node[key]
        return copy

    def expression(self) -> str:
        random = self.random
        path, _ = random.choice(self.containers)
        if random.random() < 0.25:
            a, b = (path, self.other(path))[:: random.choice((1, -1))]
            form = random.choice(
                (
                    "{a} == {b}",
                    "{a} == {b}",
                    "{a} != {b}",
                    "[{a}] == [{b}]",
                    "{a} in [{b}]",
                    "{{'a': {a}}} == {{'a': {b}}}",
                )
            )
            return form.format(a=a, b=b)
        a, b = self.value(), self.value()
        forms = (
            "{a} == {b}", "{a} == {b}", "{a} == {b}", "{a} != {b}", "{a} in {b}", "{b} in {a}", "size({a})", "type({a})",
            "{a}", "has({a}.a)", "has({a}.metadata)", "{a}.exists(x, x == {b})", "{a}.all(x, x == {b})", "{a}.all(k, v, v == {b})",
            "{a}.exists_one(x, x == {b})", "sets.contains({a}, {b})", "sets.intersects({a}, {b})", "sets.equivalent({a}, {b})",
            "{a}.indexOf({b})", "{a}.lastIndexOf({b})", "{a}.includes({b})", "{a}.hasValue()", "{a}.join(',')", "'%s'.format([{a}])",
            "{a} < {b}", "string({a})", "{a}.isSorted()", "{a}.max()", "{a}.value() == {b}", "{a}.sortBy(x, x.name)", "{a} && true",
        )  # fmt: skip
        return random.choice(forms).format(a=a, b=b)


def variables(random: Random, schemas: Schemas) -> tuple[JSONObject, dict[str, str]]:
    """Variables and their kinds."""
    objects = Objects(random)
    kind = random.choice(KINDS)
    first = objects.object(schemas, kind)
    second = first if random.random() < 0.8 else objects.object(schemas, kind)
    resource = {"group": "", "version": "v1", "resource": "pods"}
    gvk = {"group": "", "version": "v1", "kind": "Pod"}
    request = {
        "uid": "", "kind": gvk, "resource": resource, "requestKind": gvk, "requestResource": resource, "name": "n",
        "operation": "UPDATE", "userInfo": {"username": "u", "groups": ["a", "b"], "extra": {"a": ["x"]}},
        "dryRun": False, "options": {"kind": "UpdateOptions", "dryRun": []}, "object": None, "oldObject": None,
    }  # fmt: skip
    params = random.choice(("v1/ConfigMap", "v1/Secret", "v1/LimitRange"))
    made = {
        "object": first,
        "oldObject": scaled(random, second),
        "params": objects.object(schemas, params),
        "request": request,
        "namespaceObject": objects.object(schemas, "v1/Namespace"),
    }
    kinds = {
        "object": kind,
        "oldObject": kind,
        "params": params,
        "request": "AdmissionRequest",
        "namespaceObject": "v1/Namespace",
    }
    return made, kinds


OTHERS = {
    "1Gi": "1073741824",
    "1073741824": "1Gi",
    "500m": "0.5",
    "1Ki": "1024",
    "1e3": "1k",
    "1k": "1e3",
}


def scaled(random: Random, value: Any) -> Any:
    """A copy in which some quantities are written otherwise, the keys of some maps are in another
    order, and few values are others.
    """
    if isinstance(value, dict):
        items = [(key, scaled(random, item)) for key, item in value.items()]
        return dict(reversed(items) if random.random() < 0.1 else items)
    if isinstance(value, list):
        return [scaled(random, item) for item in value]
    if isinstance(value, str) and value in OTHERS and random.random() < 0.6:
        return OTHERS[value]
    return "b" if value == "a" and random.random() < 0.02 else value


def questions(count: int, seed: int) -> Iterator[JSONObject]:
    """Questions for both: the variables are as Go prints them."""
    random, schemas = Random(seed), Schemas.builtin()
    made = [variables(random, schemas) for _ in range(-(-count // EACH))]
    asked = [
        {"canonical": True, "variables": values, "kinds": kinds, "mode": "vap"}
        for values, kinds in made
    ]
    for (_, kinds), printed in zip(made, oracle.ask(asked), strict=True):
        maker = Expressions(random, printed["value"])
        for _ in range(EACH):
            yield {
                "expression": maker.expression(),
                "variables": printed["value"],
                "kinds": kinds,
                "mode": "vap",
            }
