"""Check the rules and selectors of a webhook: which requests it wants."""

from collections.abc import Iterator
from typing import get_args

from policyd._core.match.labels import key_errors, value_errors
from policyd.json_types import JSONObject
from policyd.policy.checks.resources import overlaps
from policyd.policy.model.match import Operation, ScopeType
from policyd.webhooks.validation.field_problems import (
    FieldProblem,
    as_json,
    forbidden,
    invalid,
    required,
    unsupported,
)
from policyd.webhooks.validation.metadata import check_labels

_OPERATIONS, _SCOPES = get_args(Operation), get_args(ScopeType)


def check_rule(rule: JSONObject, path: str) -> Iterator[FieldProblem]:
    """Check one rule."""
    operations = rule.get("operations", [])
    yield from _check_list(f"{path}.operations", operations, "operations")
    for index, operation in enumerate(operations):
        yield from unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    yield from _check_list(f"{path}.apiGroups", rule.get("apiGroups", []), "API groups")
    versions = rule.get("apiVersions", [])
    yield from _check_list(f"{path}.apiVersions", versions, "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _check_resources(f"{path}.resources", rule.get("resources", []))
    yield from unsupported(f"{path}.scope", rule.get("scope", "*"), _SCOPES)


def _check_list(path: str, values: list[str], what: str) -> Iterator[FieldProblem]:
    if not values:
        yield required(path)
    elif len(values) > 1 and "*" in values:
        yield from invalid(path, values, [f"if '*' is present, must not specify other {what}"])


def _check_resources(path: str, resources: list[str]) -> Iterator[FieldProblem]:
    if not resources:
        yield required(path)
    for index, wrong in overlaps(resources):
        if index is None:
            yield from invalid(path, resources, [wrong])
        elif not wrong:
            yield required(f"{path}[{index}]")
        else:
            yield from invalid(f"{path}[{index}]", resources[index], [wrong])


def check_selector(selector: JSONObject, path: str) -> Iterator[FieldProblem]:
    """Check a label selector."""
    yield from check_labels(f"{path}.matchLabels", selector.get("matchLabels", {}))
    for index, requirement in enumerate(selector.get("matchExpressions", [])):
        at = f"{path}.matchExpressions[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values", [])
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                yield required(f"{at}.values", detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden(f"{at}.values", detail)
        else:
            text = f"Invalid value: {as_json(operator)}: not a valid selector operator"
            yield FieldProblem(f"{at}.operator", "FieldValueInvalid", text)
        key = requirement.get("key", "")
        yield from invalid(f"{at}.key", key, key_errors(key))
        for number, value in enumerate(values):
            yield from invalid(f"{at}.values[{number}]", value, value_errors(value))
