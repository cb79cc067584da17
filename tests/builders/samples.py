"""Manifests of any built-in kind, made from its schema: sparse, with every struct and list, or
random. They need not be valid: the API server applies defaults before it validates.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import OBJECT_META, builtin_table
from policyd.versions import KubernetesVersion
from tests import kubernetes
from tests.shared import ROOT

DATA = ROOT / "tests/defaulting/data"
VERSION = KubernetesVersion.parse(kubernetes.chosen())  # whose fields the manifests have


def _documents(file: Path) -> list[JSONObject]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


DEFINITIONS = _documents(DATA / "definitions.yaml")
MANIFESTS = _documents(DATA / "manifests.yaml")

DEPTH = 14
# Values that a default depends on, by Go type or by the name of the field.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "v1.ServiceType": ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    "v1.ServiceAffinity": ("None", "ClientIP"),
    "v1.DeploymentStrategyType": ("RollingUpdate", "Recreate"),
    "v1.DaemonSetUpdateStrategyType": ("RollingUpdate", "OnDelete"),
    "v1.StatefulSetUpdateStrategyType": ("RollingUpdate", "OnDelete"),
    "v1.LimitType": ("Container", "Pod"),
    "v1.DeviceAllocationMode": ("ExactCount", "All"),
    "v1beta1.DeviceAllocationMode": ("ExactCount", "All"),
    "v1beta2.DeviceAllocationMode": ("ExactCount", "All"),
    "v1.Protocol": ("TCP", "UDP"),
    "v1.PullPolicy": ("Never", ""),
    "image": ("app", "app:1", "app:latest", "r.io:5000/a/b", "a@sha256:0", "", "A b"),
    "reference": ("app", "app:1", "app:latest"),
    "kind": ("User", "Group", "ServiceAccount", "x"),
    "podIP": ("10.0.0.1", "10.0.0.2"),
    "ip": ("10.0.0.1", "10.0.0.2"),
    "serviceAccount": ("old", ""),
    "serviceAccountName": ("new", ""),
}
LEAVES: Mapping[str, tuple[JSON, ...]] = {
    "resource.Quantity": ("1", "0.1", "1500m", 2, "1024Mi", "0.0001"),
    "intstr.IntOrString": (1, "25%", 0, ""),
    "[]uint8": ("eA==",),
    "v1.Time": ("2026-01-02T03:04:05Z",),
    "v1.MicroTime": ("2026-01-02T03:04:05.000000Z",),
}
RESOURCES = ("cpu", "memory", "hugepages-2Mi", "example.com/x")


def rows_of(version: str) -> Path:
    """The recorded rows of a Kubernetes version."""
    return DATA / f"defaults-{version}.jsonl.gz"


def every_kind(version: KubernetesVersion = VERSION) -> "list[Samples]":
    """The kinds of the built-in schemas of a Kubernetes version."""
    found = []
    for key, definition in builtin_table(version).kinds.items():
        group, served, kind = key.split("/")
        found.append(Samples(f"{group}/{served}" if group else served, kind, definition))
    return found


@dataclass(frozen=True, slots=True)
class Samples:
    """Manifests of one kind. ``definition`` is the name of its schema."""

    api_version: str
    kind: str
    definition: str

    def all(self, seeds: int) -> Iterator[JSONObject]:
        """One of each form, and random ones."""
        yield from (self.minimal(), self.skeleton(), self.full())
        for seed in range(seeds):
            yield self.random(seed)

    def minimal(self) -> JSONObject:
        """Only a name."""
        metadata = {"name": "sample"}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}

    def skeleton(self) -> JSONObject:
        """Every struct, empty, and every list of structs with an empty item and one like this."""
        return self._made(_Maker(None, 1))

    def full(self) -> JSONObject:
        """Every field, with its first value."""
        return self._made(_Maker(None, 0))

    def random(self, seed: int, share: float = 0.5) -> JSONObject:
        """Each field with this probability."""
        return self._made(_Maker(random.Random(f"{self.api_version} {self.kind} {seed}"), share))

    def _made(self, maker: "_Maker") -> JSONObject:
        members = {
            name: member
            for name, member in builtin_table(VERSION)
            .definition(self.definition)["properties"]
            .items()
            if name not in ("apiVersion", "kind", "metadata")
        }
        return {**self.minimal(), **maker.members(members, ())}


class _Maker:
    """``chance``: of a field to be there; without it every one is (share 0) or every struct is."""

    def __init__(self, chance: random.Random | None, share: float) -> None:
        self._chance = chance
        self._share = share

    def members(self, members: Mapping[str, JSONObject], path: tuple[str, ...]) -> JSONObject:
        found: JSONObject = {}
        for name, member in members.items():
            if self._chance is not None and self._chance.random() > self._share:
                continue
            value = self.value(name, member, path)
            if value is not None:
                found[name] = value
        return found

    def value(self, name: str, schema: JSONObject, path: tuple[str, ...]) -> Any:
        go = schema.get("go", "")
        reference = schema.get("$ref", "")
        if go in LEAVES:
            return self._pick(LEAVES[go])
        if reference == OBJECT_META:
            return {"labels": {"a": "b"}} if self._whole else {}
        if reference:
            if reference in path or len(path) > DEPTH:
                return None
            path = (*path, reference)
            schema = {**builtin_table(VERSION).definition(reference), "go": go}
            if reference.endswith(("JSON", "OrBool", "OrArray", "OrStringArray", "FieldsV1")):
                return None
        if "properties" in schema:
            return self.members(schema["properties"], path)
        form = schema.get("type")
        if form == "array":
            return self._list(name, schema["items"], path)
        if form == "object" and isinstance(schema.get("additionalProperties"), dict):
            inner = self.value(name, schema["additionalProperties"], path)
            keys = RESOURCES if go == "v1.ResourceList" else ("a",)
            return None if inner is None else {self._pick(keys): inner}
        if form == "object":
            return {}
        return self._scalar(name, go, form) if self._whole else None

    def _list(self, name: str, items: JSONObject, path: tuple[str, ...]) -> Any:
        whole = self.value(name, items, path)
        if not isinstance(whole, dict):
            return None if whole is None else [whole]
        if self._chance is None:
            return [{}, whole] if whole else [whole]
        return [whole] if self._chance.random() < 0.7 else []

    def _scalar(self, name: str, go: str, form: object) -> JSON:
        if form == "boolean":
            return self._pick((True, False))
        if form in ("integer", "number"):
            return self._pick((1, 0, -1))
        return self._pick(CHOICES.get(go) or CHOICES.get(name) or ("x", ""))

    @property
    def _whole(self) -> bool:
        return self._chance is not None or self._share == 0

    def _pick(self, values: tuple[Any, ...]) -> Any:
        return values[0] if self._chance is None else self._chance.choice(values)


# Fields that are not defaults: the time now, a summary of a status, and fields of 1.36 that 1.37 no
# longer has.
LEFT_OUT = (
    "timeAdded",
    "nodeAllocatableResourceClaimStatuses",
    "nodeAllocatableResourceMappings",
    "autoscaling.alpha.kubernetes.io/current-metrics",
)


def comparable(value: JSON) -> JSON:
    """The value without these fields, and without annotations if there are none."""
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "StorageVersion":
        return {**value, "spec": None}  # a struct without fields
    found = {key: comparable(each) for key, each in value.items() if key not in LEFT_OUT}
    return {key: each for key, each in found.items() if key != "annotations" or each}
