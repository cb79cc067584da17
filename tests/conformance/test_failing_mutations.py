"""The lint error failing-mutation: a real API server denied what it reports, and nothing else."""

import json
from typing import Any

import pytest

from policyd.policy.lint.all import in_policies
from policyd.policy.lint.mutations.failing import failing
from policyd.policy.lint.run import LintRun
from policyd.policy.source import loader
from tests.conformance.apiserver_rows import definitions
from tests.shared import conformance

IGNORED = {"map-fp-021"}  # it fails, too, but failurePolicy is Ignore
CRDS = [f"{name}.golden.example.com" for name in ("widgets", "limits", "nslimits")]


def test_reported_mutations_failed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = conformance("apiserver/map.jsonl")
    reported = {row["id"]: row for row in rows if reports(row)}
    wrong = {name for name, row in reported.items() if passed(row)}
    with capsys.disabled():
        print(f"\nfailing mutations: {len(reported)} reported of {len(rows)} rows, ", end="")
    assert wrong == IGNORED
    assert len(reported) > 75


def reports(row: dict[str, Any]) -> bool:
    documents = [*row["policies"]]
    if "golden.example.com" in json.dumps(documents):
        documents += definitions(CRDS)
    text = "\n---\n".join(json.dumps(document) for document in documents)
    found = in_policies(LintRun(loader.load_text(text, row["id"])), failing)
    return any(problem.severity == "error" for problem in found)


def passed(row: dict[str, Any]) -> bool:
    expect = row["expect"]
    return bool(expect.get("passedMutation", expect.get("allowed")))
