"""The examples of every rule: lint finds the mistake in the wrong one and nothing in the right one."""

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

import policyd.cli.lint
from policyd.policy.lint.details.explaining import details, explanation
from policyd.policy.lint.lint_rules import RULES

HEAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: example}
spec:
"""
DEFAULTS = {
    "matchConstraints:": """\
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
""",
    "validations:": """\
  validations:
  - {message: another name, expression: "object.metadata.name != 'x'"}
""",
}
SUITE = """
---
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: example}
cases:
- name: a Pod
  request:
    object:
      apiVersion: v1
      kind: Pod
      metadata: {name: web}
      spec: {containers: [{name: web, image: nginx}]}
  expect: {allowed: true}
"""
OPTIONS = {
    "newer-policy-api": ["--target", "1.35"],
    "newer-than-target": ["--target", "1.30"],
    "not-idempotent": ["--strict"],
    "unused-disable": ["--strict"],
}
ADDED = {"not-idempotent": SUITE}
# No document shows them; those of a cluster are in tests/leftovers.
WITHOUT = {"too-large", "unreadable", "suite"}
WITHOUT |= {"blocking-webhook", "dead-webhook", "enforced-twice", "unexecuted-policy"}
WITHOUT |= {"unread-exception"}
SHOWN = sorted(set(RULES) - WITHOUT)


def test_every_rule_has_details_and_nothing_else_has() -> None:
    assert set(details()) == set(RULES), "add it to policyd/policy/lint/details/examples.yaml"
    assert all(detail.why for detail in details().values())
    assert {name for name, detail in details().items() if not detail.wrong} == WITHOUT


@pytest.mark.parametrize("rule", SHOWN)
def test_the_wrong_example_is_reported(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f" {rule} " in linted(rule, details()[rule].wrong, tmp_path, monkeypatch)


@pytest.mark.parametrize("rule", SHOWN)
def test_the_right_example_is_silent(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = linted(rule, details()[rule].right, tmp_path, monkeypatch)
    assert f" {rule} " not in found
    assert "error" not in found


@pytest.mark.parametrize("rule", RULES)
def test_an_explanation_has_both_and_how_to_disable(rule: str) -> None:
    text = explanation(rule)
    assert text.startswith(f"{rule} ({RULES[rule].severity}): {RULES[rule].about}\n")
    assert (f"policyd lint --disable {rule} " in text) is (RULES[rule].severity == "advice")


def linted(rule: str, example: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The rules and severities that are found in an example, on the day that it is written for."""
    monkeypatch.setattr(policyd.cli.lint, "datetime", _MarchOf2027)
    file = folder / "example.yaml"
    file.write_text(whole(example) + ADDED.get(rule, ""))
    result = CliRunner().invoke(
        policyd.cli.lint.command, [str(file), "--format", "json", *OPTIONS.get(rule, [])]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit)
    found = orjson.loads(result.stdout_bytes)
    return "".join(f" {each['rule']} {each['severity']}\n" for each in found)


class _MarchOf2027(datetime):
    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime(2027, 3, 15, tzinfo=UTC)


def whole(example: str) -> str:
    """Complete fields of a spec to a Policy; documents stay as they are."""
    first = next(line for line in example.splitlines() if not line.startswith("#"))
    if first.startswith(("apiVersion:", "kind:", "{apiVersion")):
        return example
    given = example.splitlines()
    missing = [
        text
        for field, text in DEFAULTS.items()
        if not any(line.startswith(field) for line in given)
        and not (field == "validations:" and "mutations:" in given)
    ]
    return HEAD + "".join([*missing, *(f"  {line}\n" for line in given)])
