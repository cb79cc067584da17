"""The Go types of webhook configurations: their fields and the types of these. Decodes nothing.

``go_types.json`` has the structs of k8s.io/api ``admissionregistration/v1`` and apimachinery
``meta/v1``, each after those that it has.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Scalar:
    """``json``: the JSON type that it takes; ``go``: its name in error messages."""

    json: str
    go: str


@dataclass(frozen=True, slots=True)
class Items:
    """A slice."""

    item: "GoType"

    @property
    def go(self) -> str:
        """Return the name of the type."""
        return f"[]{self.item.go}"


@dataclass(frozen=True, slots=True)
class Struct:
    """``embedded``: the name of the embedded struct that has a field. ``kept``: fields that are
    printed if they are empty.
    """

    name: str
    fields: Mapping[str, "GoType"]
    embedded: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()

    @property
    def go(self) -> str:
        """Return the name of the type."""
        return f"v1.{self.name}"


GoType = Scalar | Items | Struct

VALIDATING = "ValidatingWebhookConfiguration"
MUTATING = "MutatingWebhookConfiguration"
_SCALARS = {
    "bool": Scalar("bool", "bool"),
    "int32": Scalar("int32", "int32"),
    "int64": Scalar("int64", "int64"),
    "map[string]string": Scalar("labels", "map[string]string"),
    "[]byte": Scalar("bytes", "[]uint8"),
    "Time": Scalar("time", "string"),
    "any": Scalar("anything", ""),  # managedFields, which the API server replaces
}


def _structs() -> dict[str, Struct]:
    """Return the structs of ``go_types.json``, by name. A type that is neither a struct nor another
    scalar is a string.
    """
    found: dict[str, Struct] = {}

    def named(go: str) -> GoType:
        known = _SCALARS.get(go) or found.get(go)
        if known is None and go.startswith("[]"):
            return Items(named(go[2:]))
        return known or Scalar("string", go)

    for name, row in json.loads(Path(__file__).with_suffix(".json").read_bytes()).items():
        fields = {field: named(go) for field, go in row["fields"].items()}
        found[name] = Struct(name, fields, row.get("embedded", {}), frozenset(row.get("kept", ())))
    return found


CONFIGURATIONS: Mapping[str, Struct] = {
    name: each for name, each in _structs().items() if name in (VALIDATING, MUTATING)
}
