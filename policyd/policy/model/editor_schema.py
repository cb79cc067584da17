"""JSON Schema of policy documents, for completion and field descriptions in editors.

Generated from the models, so it accepts the same documents. It does not check CEL, names and
limits; ``policyd lint`` does.
"""

from collections.abc import Iterator
from typing import Any

from policyd.policy.model.base import Model
from policyd.policy.model.field_docs import FIELDS, REQUIRED
from policyd.policy.model.kinds import KINDS

Schema = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"  # what the YAML servers of editors know
# What may stand in the place of another field: it is moved there when the model is made.
_SHORT_FORMS = {"Case": {"review": "SuiteRequest", "reviewFile": "SuiteRequest"}}


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
        "allOf": [_if_kind(kind, groups) for kind, (groups, _) in KINDS.items()],
        "definitions": definitions,
    }


def _if_kind(kind: str, api_versions: tuple[str, ...]) -> Schema:
    """Documents of this kind fit its definition; the API group tells ours from another's."""
    schema = {"kind": {"const": kind}, "apiVersion": {"enum": list(api_versions)}}
    return {
        "if": {"required": ["apiVersion", "kind"], "properties": schema},
        "then": {"$ref": f"#/definitions/{kind}"},
    }


def _definitions(kind: str) -> dict[str, Schema]:
    model = KINDS[kind][1]
    template = "#/definitions/{model}"
    schema = model.model_json_schema(by_alias=True, ref_template=template)
    found: dict[str, Schema] = {**schema.pop("$defs", {}), kind: schema}
    models = {each.__name__: each for each in all_models()}
    for name, definition in found.items():
        _finish(definition, models[name])
    for name, moved in _SHORT_FORMS.items():
        if name in found:
            for field, owner in moved.items():
                found[name]["properties"][field] = found[owner]["properties"][field]
    return found


def all_models(base: type[Model] = Model) -> Iterator[type[Model]]:
    """Every class of a document's parts."""
    for each in base.__subclasses__():
        yield each
        yield from all_models(each)


def _finish(definition: Schema, model: type[Model]) -> None:
    """Describe each field, list the required ones, and remove the noise of the models."""
    definition.pop("title", None)
    definition["description"] = " ".join((model.__doc__ or "").replace("``", "`").split())
    definition["required"] = list(REQUIRED.get(model.__name__, ()))
    for name, field in definition["properties"].items():
        field.pop("title", None)
        if isinstance(field.get("default", {}), dict) or not field["default"]:
            field.pop("default", None)
        if "$ref" in field:  # beside which draft 7 reads nothing
            field["allOf"] = [{"$ref": field.pop("$ref")}]
        text = documentation(model, name)
        if text:
            field["description"] = text


def documentation(model: type[Model], field: str) -> str:
    """Return the description of a field from the model, or the base, that declares it."""
    for base in model.__mro__:
        text = FIELDS.get(base.__name__, {}).get(field)
        if text:
            return text
    return ""
