"""The schema that editors use: it agrees with the loader on what the policies in this tree say."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from policyd.policy.model.base import Model, ObjectMeta
from policyd.policy.model.editor_schema import (
    REQUIRED,
    documentation,
    field_docs,
    schema_of,
    schema_of_all,
)
from policyd.policy.model.kinds import KINDS
from policyd.policy.source.loader import load
from tests.builders.policies import policy
from tests.shared import ROOT

# Fields that say everything by their name, or that only a cluster writes.
PLAIN = {
    "SuiteRequest": {"name", "namespace", "kind", "resource", "requestKind", "requestResource",
                     "requestSubResource", "uid", "dryRun", "options"},
    "UserInfo": {"username", "uid", "groups", "extra"},
    "GroupVersionKind": {"group", "version", "kind"},
    "GroupVersionResource": {"group", "version", "resource"},
    "_Rules": {"authorizer"},  # a file of its own, no document
    "AuthorizerRule": {"group", "resource", "subresource", "namespace", "name"},
}  # fmt: skip


def all_models(base: type[Model] = Model) -> Iterator[type[Model]]:
    """Every class of a document's parts."""
    for each in base.__subclasses__():
        yield each
        yield from all_models(each)


def fields(model: type) -> Iterator[str]:
    for field in model.fields.values():  # type: ignore[attr-defined]
        yield field.alias


@pytest.mark.parametrize("model", list(all_models()), ids=lambda model: model.__name__)
def test_every_field_says_what_it_is_for(model: type) -> None:
    if model is ObjectMeta:
        return
    silent = PLAIN.get(model.__name__, set())
    missing = {name for name in fields(model) if not documentation(model, name)}
    assert missing == silent


def test_what_is_documented_or_required_is_there() -> None:
    models = {model.__name__: model for model in all_models()}
    for table in (field_docs(), REQUIRED):
        for name, listed in table.items():
            assert set(listed) <= {*fields(models[name])}, name


def documents() -> list[Any]:
    sources = load([ROOT / "policies", ROOT / "tools/bench/data"])
    found = [document for document in sources.documents if document.kind in KINDS]
    return [pytest.param(d.raw, id=f"{d.kind} {d.name} {i}") for i, d in enumerate(found)]


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    jsonschema.Draft7Validator.check_schema(schema_of_all())
    return jsonschema.Draft7Validator(schema_of_all())


@pytest.mark.parametrize("document", documents())
def test_policies_that_load_fit(document: Any, validator: jsonschema.Draft7Validator) -> None:
    assert [error.message for error in validator.iter_errors(document)] == []


WRONG: list[tuple[str, Any, str]] = [
    ("a misspelt field", policy(validation=[]), "'validation' was unexpected"),
    ("a wrong type", policy(validations={}), "is not of type 'array'"),
    ("no such value", policy(failurePolicy="fail"), "is not one of ['Fail', 'Ignore']"),
    ("a field in a list", policy(variables=[{"name": "a", "expr": "1"}]), "'expr' was unexpected"),
    ("one that is needed", policy(variables=[{"name": "a"}]), "'expression' is a required"),
    ("an action", policy(paramRef={"name": "a"}), "{'name': 'a'} is not valid under any"),
    ("a date", policy(exceptions=[{"name": "a", "until": "soon"}]), "is not valid under any"),
]


@pytest.mark.parametrize("document, message", [row[1:] for row in WRONG], ids=[r[0] for r in WRONG])
def test_mistakes_are_told(
    document: Any, message: str, validator: jsonschema.Draft7Validator
) -> None:
    messages = [error.message for error in validator.iter_errors(document)]
    assert any(message in each for each in messages), messages


def test_other_kinds_are_params(validator: jsonschema.Draft7Validator) -> None:
    assert validator.is_valid({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}})
    assert validator.is_valid({"apiVersion": "kyverno.io/v1", "kind": "Policy", "spec": {"a": 1}})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_has_a_schema_of_its_own(kind: str) -> None:
    schema = schema_of(kind)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert {"apiVersion", "kind", "metadata"} <= set(schema["properties"])


def test_fields_have_the_names_and_defaults_of_yaml() -> None:
    spec = schema_of("Policy")["definitions"]["PolicySpec"]["properties"]
    assert spec["podControllers"]["type"] == "boolean"
    assert spec["failurePolicy"]["enum"] == ["Fail", "Ignore"]
    assert spec["failurePolicy"]["default"] == "Fail"
    assert spec["validationActions"]["default"] == ["Deny"]
    assert spec["matchConstraints"]["description"].startswith("The requests")
    action = schema_of("Policy")["definitions"]["ParamRef"]["properties"]["parameterNotFoundAction"]
    assert action["enum"] == ["Allow", "Deny"]
    assert "default" not in action  # it is required
