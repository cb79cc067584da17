"""Preconditions on the operation become the operations of match rules."""

import pytest

from policyd.importers.kyverno.matching.operations import OPERATIONS, split
from policyd.json_types import JSON
from tests.importers.kyverno.classic import cluster_policy, rule_of, spec_of


def condition(operator: str, value: JSON, key: str = "{{ request.operation }}") -> JSON:
    return {"key": key, "operator": operator, "value": value}


KEPT = condition("Equals", "a", "{{ request.object.metadata.name }}")
WRITES = {"CREATE", "UPDATE"}


@pytest.mark.parametrize(
    ("preconditions", "allowed", "rest"),
    [
        (None, set(OPERATIONS), None),
        ({"all": [condition("AnyIn", ["CREATE", "UPDATE"])]}, WRITES, None),
        ({"all": [condition("Equals", "UPDATE")]}, {"UPDATE"}, None),
        ({"all": [condition("NotEquals", "DELETE")]}, {*OPERATIONS} - {"DELETE"}, None),
        ({"all": [condition("AnyNotIn", ["DELETE", "CONNECT"])]}, WRITES, None),
        ({"any": [condition("Equals", "CREATE"), condition("Equals", "UPDATE")]}, WRITES, None),
        ([condition("In", ["CREATE"])], {"CREATE"}, None),
        ({"all": [condition("Equals", "CREATE"), KEPT]}, {"CREATE"}, {"all": [KEPT]}),
        (
            {"any": [condition("Equals", "CREATE"), KEPT]},
            set(OPERATIONS),
            {"any": [condition("Equals", "CREATE"), KEPT]},
        ),
        # a string never equals a list
        ({"all": [condition("NotEquals", ["DELETE"])]}, set(OPERATIONS), None),
        (
            {"all": [condition("Equals", ["DELETE"])]},
            set(OPERATIONS),
            {"all": [condition("Equals", ["DELETE"])]},
        ),
        (
            {"all": [condition("Equals", "PATCH")]},
            set(OPERATIONS),
            {"all": [condition("Equals", "PATCH")]},
        ),
    ],
)
def test_preconditions(preconditions: JSON, allowed: set[str], rest: JSON) -> None:
    found = split(preconditions)
    assert (set(found.allowed), found.rest) == (allowed, rest)


@pytest.mark.parametrize(
    "key", ["{{request.operation || 'BACKGROUND'}}", "{{ request.operation }}"]
)
def test_forms_of_the_key(key: str) -> None:
    assert split({"all": [condition("Equals", "CREATE", key)]}).rest is None


def operations(deny: JSON, **fields: JSON) -> list[str]:
    spec = spec_of(cluster_policy(rule_of({"message": "no", "deny": deny}, "Service", **fields)))
    found: list[str] = spec["matchConstraints"]["resourceRules"][0]["operations"]
    return found


def test_a_rule_that_reads_the_object_is_not_for_deletes() -> None:
    reads = {"conditions": {"all": [condition("Equals", "x", "{{ request.object.kind }}")]}}
    assert operations(reads) == ["CREATE", "UPDATE"]
    assert operations({}) == ["CREATE", "UPDATE", "DELETE"]


def test_a_rule_that_names_delete_is_for_deletes() -> None:
    reads = {"conditions": {"all": [condition("Equals", "x", "{{ request.oldObject.kind }}")]}}
    on_delete = {"all": [condition("Equals", "DELETE")]}
    assert operations(reads, preconditions=on_delete) == ["DELETE"]
