"""Defaults of Kubernetes' own kinds: the rules of each type, from the root of an object down."""

from policyd._core.schema.types import Decoding, SchemaType
from policyd.defaulting.go_values import UndecodableError, decode, inner, printed
from policyd.defaulting.rules import FUNCTIONS, VALUES, VERSIONED
from policyd.defaulting.rules.quantities import rounded
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import KindSchema, builtin_table
from policyd.versions import KubernetesVersion

_RESOURCES = "v1.ResourceList"
_UNROUNDED = "io.k8s.api.node.v1.Overhead"


def with_defaults(obj: JSONObject, kind: KindSchema, version: KubernetesVersion) -> JSONObject:
    """Return the object as the API server decodes, defaults and prints it.

    An object that does not decode is returned as it is: the API server refuses it.
    """
    try:
        value = decode(obj, kind.root)
    except UndecodableError:
        return obj
    _apply(value, kind.root.type, version)
    result: JSONObject = printed(value, kind.root.type)
    return result


def _apply(value: JSON, kind: SchemaType, version: KubernetesVersion) -> None:
    """Apply the rules to a decoded value in place: those of a struct before those of its parts."""
    if isinstance(value, list):
        for each in value:
            _apply(each, inner(kind.item).type, version)
    elif isinstance(value, dict) and kind.decoding == Decoding.STRUCT:
        name = builtin_table(version).definition_of(kind)
        for field, default in VALUES.get(name, {}).items():
            schema = kind.fields.get(field)
            if schema is None:
                continue  # the version does not have the field
            if field not in value or (not schema.pointer and not value[field]):
                value[field] = decode(default, schema)
        for function in FUNCTIONS.get(name, ()):
            function(value)
        versioned = VERSIONED.get(name)
        if versioned is not None and versioned.holds(version):
            versioned.rule(value)
        for field, schema in kind.fields.items():
            if field not in value:
                continue
            if schema.go == _RESOURCES and value[field] is not None and name != _UNROUNDED:
                value[field] = {key: rounded(each) for key, each in value[field].items()}
            _apply(value[field], schema.type, version)
    elif isinstance(value, dict) and kind.decoding == Decoding.MAP:
        for each in value.values():
            _apply(each, inner(kind.extra).type, version)
