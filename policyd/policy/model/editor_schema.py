"""JSON Schema of policy documents, for completion and field descriptions in editors.

Generated from the models, so it accepts the same documents. It does not check CEL, names and
limits; ``policyd lint`` does.

``field_docs.json`` has a line about each field, keyed by model and YAML name; an inherited field is
found at the model that declares it. The lines explain what fields mean, not which values are valid.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from policyd.policy.model.base import Model, ModelField
from policyd.policy.model.kinds import KINDS
from policyd.policy.model.mutations import KUBERNETES_KINDS, OWN_KINDS
from policyd.policy.model.shapes import inner_types


@functools.cache
def field_docs() -> Mapping[str, Mapping[str, str]]:
    """Return the lines by model and field; lines of kinds of mutation are the kinds' own."""
    found = json.loads(Path(__file__).with_name("field_docs.json").read_bytes())
    found["Mutation"] |= {kind.field: kind.about for kind in KUBERNETES_KINDS}
    found["PolicyMutation"] = {kind.field: kind.about for kind in OWN_KINDS}
    return found  # type: ignore[no-any-return]


# The models do not require them, so that all missing fields are reported at once.
REQUIRED: Mapping[str, list[str]] = json.loads(
    Path(__file__).with_name("required_fields.json").read_bytes()
)


Schema = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"  # what the YAML servers of editors know
# What may stand in the place of another field: it is moved there when the model is made.
_SHORT_FORMS: Mapping[str, Mapping[str, str]] = {
    "Case": {"review": "SuiteRequest", "reviewFile": "SuiteRequest"}
}
# Objects that need one of these fields.
_ALTERNATIVES = {"Case": ("expect", "table")}
_SIMPLE = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
}


def schema_of(kind: str) -> Schema:
    """Return the schema of one kind's documents. Raises KeyError for a kind not in ``KINDS``."""
    definitions = _definitions(kind)
    return {"$schema": DRAFT, **definitions.pop(kind), "definitions": definitions}


def schema_of_all() -> Schema:
    """One schema for any file of policies: the kind decides; other kinds are params and fit."""
    definitions: Schema = {}
    for kind in KINDS:
        definitions |= _definitions(kind)
    return {
        "$schema": DRAFT,
        "title": "policyd policies and suites",
        "type": "object",
        "required": ["apiVersion", "kind"],
        # The API group distinguishes our documents of a kind from another's.
        "allOf": [
            {
                "if": {
                    "required": ["apiVersion", "kind"],
                    "properties": {"kind": {"const": kind}, "apiVersion": {"enum": [*versions]}},
                },
                "then": {"$ref": f"#/definitions/{kind}"},
            }
            for kind, (versions, _) in KINDS.items()
        ],
        "definitions": definitions,
    }


def _definitions(kind: str) -> dict[str, Schema]:
    """Return the schemas of the models in a kind's documents, and last the kind's own."""
    used = _models_below(KINDS[kind][1])
    models = {name: used[name] for name in sorted(used)}
    found = {name: _of_model(model) for name, model in models.items() if name != kind}
    found[kind] = _of_model(KINDS[kind][1])
    for name, moved in _SHORT_FORMS.items():
        if name in found:
            for field, owner in moved.items():
                found[name]["properties"][field] = found[owner]["properties"][field]
    return found


def _models_below(model: type[Model]) -> dict[str, type[Model]]:
    """Return a model and the models of its fields, by name."""
    found = {model.__name__: model}
    for field in model.fields.values():
        for each in inner_types(field.annotation):
            if issubclass(each, Model):
                found |= _models_below(each)
    return found


def _of_model(model: type[Model]) -> Schema:
    """Return the schema of an object, with the description of each field."""
    schema: Schema = {"additionalProperties": False}
    if model.__name__ in _ALTERNATIVES:
        schema["anyOf"] = [{"required": [each]} for each in _ALTERNATIVES[model.__name__]]
    schema["description"] = " ".join((model.__doc__ or "").replace("``", "`").split())
    schema["properties"] = {each.alias: _of_field(model, each) for each in model.fields.values()}
    schema["type"] = "object"
    schema["required"] = REQUIRED.get(model.__name__, [])
    return schema


def _of_field(model: type[Model], field: ModelField) -> Schema:
    schema = _of_type(field.annotation)
    optional = field.alias not in REQUIRED.get(model.__name__, ())
    if optional and field.default and isinstance(field.default, bool | str | tuple):
        default = field.default
        schema = {"default": list(default) if isinstance(default, tuple) else default, **schema}
    if "$ref" in schema:  # beside which draft 7 reads nothing
        schema = {"allOf": [schema]}
    text = documentation(model, field.alias)
    return {**schema, "description": text} if text else schema


def _of_type(annotation: Any) -> Schema:
    """Return the schema of a type that a field of a model has."""
    if annotation is Any:
        return {}
    if annotation in _SIMPLE:
        return {"type": _SIMPLE[annotation]}
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return {"$ref": f"#/definitions/{annotation.__name__}"}
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        values = {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
        return {**values, "type": "string"}
    if origin is Annotated:
        accepted = arguments[1]
        if isinstance(accepted, str):
            return {"pattern": accepted, **_of_type(arguments[0])}
        return _of_type(accepted.accepts)
    if origin in (tuple, list):
        return {"items": _of_type(arguments[0]), "type": "array"}
    if origin is dict:
        return {"additionalProperties": _of_type(arguments[1]) or True, "type": "object"}
    schemas = (_of_type(each) for each in arguments)  # of a union, and of a union in it
    return {"anyOf": [one for each in schemas for one in each.get("anyOf", [each])]}


def documentation(model: type[Model], field: str) -> str:
    """Return the description of a field from the model, or the base, that declares it."""
    for base in model.__mro__:
        text = field_docs().get(base.__name__, {}).get(field)
        if text:
            return text
    return ""
