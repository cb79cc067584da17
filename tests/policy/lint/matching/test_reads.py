"""Advice on reads."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.matching.reads import advise_reads
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import type_check
from policyd.policy.lint.unguarded import unguarded
from tests.builders.policies import demand, policy
from tests.policy_sets import loaded


def run(expression: str, *variables: JSONObject, **fields: Any) -> LintRun:
    read: JSONObject = {"name": "it", "apiVersion": "v1", "kind": "Service", **fields}
    checks = [demand(expression, "no")]
    sources = loaded(policy("p", reads=[read], variables=[*variables], validations=checks))
    assert sources.problems == ()
    return LintRun(sources)


def advice(expression: str, *variables: JSONObject, **fields: Any) -> list[str]:
    """Return the rules of the advice about a read of Services and an expression."""
    return [each.rule for each in in_policies(run(expression, *variables, **fields), advise_reads)]


KEY = "item.metadata.name"
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("size(reads.it) > 0", {}, []),
    ("reads.it.exists(s, s.spec.x == 1)", {}, []),
    ("reads.it.exists(s, s.spec.x == 1)", {"namespace": "any"}, ["growing-read"]),
    ("reads . it . filter (s, s.spec.x == 1).size() > 0", {"namespace": "any"}, ["growing-read"]),
    ("reads.it['a'].exists(s, s.spec.x == 1)", {"namespace": "any", "key": KEY}, []),
    ("size(reads.it) > 0", {"namespace": "any"}, []),
    (
        "reads.it.exists(s, s.spec.x == 1)",
        {"namespace": "any", "labelSelector": {"matchLabels": {"a": "b"}}},
        [],
    ),
    ("true", {}, ["unused-read"]),
    ("object.metadata.name != 'reads.items'", {}, ["unused-read"]),
]


@pytest.mark.parametrize(("expression", "fields", "want"), CASES)
def test_advice(expression: str, fields: dict[str, Any], want: list[str]) -> None:
    assert advice(expression, **fields) == want


def test_a_list_is_followed_through_variables() -> None:
    alias: JSONObject = {"name": "all", "expression": "reads.it"}
    walked, counted = "variables.all.exists(s, s.spec.x == 1)", "variables.all.size() > 0"
    assert advice(walked, alias, namespace="any") == ["growing-read"]
    assert advice(counted, alias, namespace="any") == []
    assert advice(walked, alias) == []


KEYS = [
    ("item.metadata.name", []),
    ("item.spec.?clusterIPs.orValue([])", []),
    ("has(item.spec.externalName) ? item.spec.externalName : ''", []),
    ("item.spec.externalName", ["item.spec.externalName may be missing (v1 Service)"]),
    (
        "item.metadata.labels['app']",
        [
            "item.metadata.labels may be missing (v1 Service)",
            "item.metadata.labels['app'] may be missing (v1 Service)",
        ],
    ),
    ("item.?spec.ports.orValue([]).map(p, p.name)", ["p.name may be missing (v1 Service)"]),
    ("item.spec.ports.map(p, p.port)", ["item.spec.ports may be missing (v1 Service)"]),
]


@pytest.mark.parametrize(("key", "want"), KEYS)
def test_a_key_that_can_be_an_error(key: str, want: list[str]) -> None:
    made = run("'a' in reads.it", key=key)
    assert [each.message for each in in_policies(made, unguarded)] == want


TYPES = [
    ("item.metadata.name", ""),
    ("item.spec.ports.map(p, p.name)", ""),
    ("dyn(item.spec.ports[0].port)", ""),
    ("item.spec.ports.map(p, p.port)", "a key must be string or list(string), not list(int)"),
    ("item.spec.publishNotReadyAddresses", "a key must be string or list(string), not bool"),
    ("item.spec.nothing", "undefined field 'nothing'"),
]


@pytest.mark.parametrize(("key", "want"), TYPES)
def test_a_key_of_another_type(key: str, want: str) -> None:
    found = [each.message for each in in_policies(run("'a' in reads.it", key=key), type_check)]
    assert len(found) == bool(want)
    assert all(want in each for each in found)


def test_expressions_with_reads_get_the_advice_of_others() -> None:
    made = run("!(object.spec.nodeName in reads.it)", key=KEY)
    assert [each.message for each in in_policies(made, unguarded)] == [
        "object.spec.nodeName may be missing (v1 Pod)"
    ]
