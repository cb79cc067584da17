"""Advice on reads."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.matching.reads import advise_reads
from policyd.policy.lint.run import LintRun
from tests.builders.policies import demand, policy
from tests.policy_sets import loaded


def advice(expression: str, **fields: Any) -> list[str]:
    """Return the rules of the advice about a read of Services and an expression."""
    read: JSONObject = {"name": "it", "apiVersion": "v1", "kind": "Service", **fields}
    sources = loaded(policy("p", reads=[read], validations=[demand(expression, "no")]))
    assert sources.problems == ()
    return [each.rule for each in advise_reads(LintRun(sources))]


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
