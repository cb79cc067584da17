"""Adds the defaults of Kubernetes' own kinds by the rules of each type, from the root of an object
down. Compiled with builtin.pxd.
"""

from typing import Any

from policyd._core.schema.types import Decoding, SchemaType
from policyd.defaulting.go_values import UndecodableError, decode, inner, printed
from policyd.defaulting.rules import FUNCTIONS, VALUES, VERSIONED
from policyd.defaulting.rules.quantities import rounded
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import KindSchema, builtin_table
from policyd.versions import KubernetesVersion

_STRUCT, _MAP = int(Decoding.STRUCT), int(Decoding.MAP)
_RESOURCES = "v1.ResourceList"
_UNROUNDED = "io.k8s.api.node.v1.Overhead"


def with_defaults(obj: JSONObject, kind: KindSchema, version: KubernetesVersion) -> JSONObject:
    """Return the object as the API server decodes, defaults and prints it.

    An object that does not decode is returned unchanged: the API server refuses it.
    """
    try:
        value = decode(obj, kind.root)
    except UndecodableError:
        return obj
    _apply(value, kind.root.type, version)
    result: JSONObject = printed(value, kind.root.type)
    return result


class _Rules:
    """The rules of a type in its version. ``rounds``: rounds its quantities."""

    def __init__(self, kind: SchemaType, version: KubernetesVersion) -> None:
        name = builtin_table(version).definition_of(kind)
        self.values = [
            (field, kind.fields[field], default)
            for field, default in VALUES.get(name, {}).items()
            if field in kind.fields  # the version may lack it
        ]
        self.functions = list(FUNCTIONS.get(name, ()))
        versioned = VERSIONED.get(name)
        if versioned is not None and versioned.holds(version):
            self.functions.append(versioned.rule)
        self.rounds = name != _UNROUNDED


def _rules(kind: SchemaType, version: KubernetesVersion) -> _Rules:
    found: Any = kind.defaults
    if found is None:
        kind.defaults = found = _Rules(kind, version)
    made: _Rules = found
    return made


def _apply(value: JSON, kind: SchemaType, version: KubernetesVersion) -> None:
    """Apply the rules to a decoded value in place, to a struct before its parts."""
    if isinstance(value, list):
        item = inner(kind.item).type
        for each in value:
            _apply(each, item, version)
    elif isinstance(value, dict) and kind.decoding == _STRUCT:
        rules = _rules(kind, version)
        for field, schema, default in rules.values:
            if field not in value or (not schema.pointer and not value[field]):
                value[field] = decode(default, schema)
        for function in rules.functions:
            function(value)
        for field, member in list(value.items()):
            below = kind.fields.get(field)
            if below is None or not isinstance(member, dict | list):
                continue
            if below.go == _RESOURCES and rules.rounds and isinstance(member, dict):
                value[field] = {key: rounded(each) for key, each in member.items()}
            else:
                _apply(member, below.type, version)
    elif isinstance(value, dict) and kind.decoding == _MAP:
        entry = inner(kind.extra).type
        for each in value.values():
            _apply(each, entry, version)
