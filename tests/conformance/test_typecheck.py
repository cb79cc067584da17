"""Type checking against schemas: the warnings that a real API server put into
status.typeChecking.
"""

import json
import re
from typing import Any

import pytest

from policyd.cel.syntax.source import Source
from policyd.errors import CelTypeError
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import TypeErrors, type_errors
from policyd.policy.source import loader
from tests.conformance.apiserver_rows import definitions
from tests.shared import conformance

A_STRING = "the value is a string when policies run"
# Where the API server's checker is wrong about what happens when a policy runs; and what we say.
WRONG: dict[str, tuple[str, str]] = {
    "typecheck-021": (A_STRING, "'_>_' applied to '(string, timestamp)'"),
    "typecheck-024": ("there are limits", ""),
    "typecheck-037": ("an object may be indexed", ""),
    "typecheck-038": ("an object may be indexed", ""),
    "typecheck-049": (A_STRING, "'_==_' applied to '(string, bytes)'"),
    "typecheck-056": (A_STRING, ""),
    "typecheck-057": (A_STRING, "'_==_' applied to '(string, duration)'"),
    "typecheck-058": (A_STRING, "'_==_' applied to '(string, bytes)'"),
    "typecheck-061": ("unknown fields are preserved", ""),
    "typecheck-062": ("fields are not escaped", "undefined field 'dash__dash__name'"),
    "typecheck-069": ("the field may hold null", ""),
    "typecheck-077": ("the object is a Scale", "undefined field 'nope'"),
}
CRDS = [f"{name}.golden.example.com" for name in ("widgets", "limits", "nslimits")]


def test_warnings_are_those_of_the_api_server(capsys: pytest.CaptureFixture[str]) -> None:
    rows = conformance("apiserver/typecheck.jsonl")
    done = [row for row in rows if row["id"] not in WRONG]
    failures = {row["id"]: failure for row in done if (failure := judge(row))}
    with capsys.disabled():
        print(f"\nwarnings: {len(done) - len(failures)} passed of {len(rows)}, ", end="")
        print(f"{len(WRONG)} where the API server is wrong")
    assert failures == {}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_right_at_run_time_is_not_warned_about(name: str) -> None:
    _, ours = WRONG[name]
    row = next(row for row in conformance("apiserver/typecheck.jsonl") if row["id"] == name)
    told = [problem.message for each in checked(row) for problem in each.problems()]
    assert [ours in message for message in told] == ([True] if ours else [])


def judge(row: dict[str, Any]) -> str:
    """What differs; empty if nothing does."""
    told = {each.expression.at: warning(each) for each in checked(row)}
    status = row["expect"].get("typeChecking") or {}
    wanted = {
        each["fieldRef"]: unnamed(each["warning"]) for each in status.get("expressionWarnings", ())
    }
    return "" if told == wanted else f"{told}, not {wanted}"


def checked(row: dict[str, Any]) -> list[TypeErrors]:
    documents = [*row["policies"], *definitions(CRDS)]  # all were there when the rows were made
    text = "\n---\n".join(json.dumps(document) for document in documents)
    policies = LintRun(loader.load_text(text, row["id"])).policies
    return [each for policy in policies for each in type_errors(policy)]


def warning(errors: TypeErrors) -> str:
    """The warning as the API server writes it."""
    source = Source(errors.expression.text)
    texts = {gvk: source.error(CelTypeError, found).text for gvk, found in errors.issues.items()}
    return "\n".join(f"{gvk}: {text}\n" for gvk, text in texts.items())


def unnamed(text: str) -> str:
    """The API server gives types a random part in their names."""
    return re.sub("<random>", "", text)
