"""Advice on unguarded fields of a policy, for the tests of them. No tests here."""

from typing import Any

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from tests.builders.objects import gadget_definition
from tests.builders.policies import policy
from tests.policy_sets import loaded

FIELD, NULL = "unguarded-field", "null-object"


def found_in(document: JSONObject) -> list[tuple[str, str]]:
    """Path, and what may be missing, of each advice."""
    sources = loaded(document, gadget_definition())
    assert sources.problems == ()
    found = list(in_policies(LintRun(sources), unguarded))
    assert all(each.severity == "advice" and each.line and "^" in each.excerpt for each in found)
    assert all(each.hint.startswith("write ") for each in found)
    return [(each.path, each.message) for each in found]


def told(expression: str, *rules: JSONObject, **fields: Any) -> list[str]:
    """The messages on a policy with one validation."""
    document = policy("p", *rules, validations=[{"expression": expression}], **fields)
    return [message for _, message in found_in(document)]
