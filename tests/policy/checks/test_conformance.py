"""What a real API server accepted must load; what it refused for its form must be refused."""

from typing import Any

import orjson
import pytest

from policyd.policy.source.loader import load
from policyd.policy.source.modelling import with_model
from policyd.policy.source.splitting import split
from tests.shared import ROOT, conformance

FILES = ("vap-cel", "vap-match", "map", "typecheck")
BENCH = ROOT / "tools" / "bench" / "data"

# What tells that CEL, not the form of the document, was the reason to refuse.
CEL_REFUSALS = (
    "compilation failed",
    "must evaluate to",
    "program instantiation failed",
    "Required value: JSONPatch",
)


def problems_of(policy: dict[str, Any]) -> list[str]:
    documents, problems = split("row.json", orjson.dumps(policy))
    found = [problem for document in documents for problem in with_model(document).problems]
    return [f"{problem.path}: {problem.message}" for problem in [*problems, *found]]


@pytest.mark.parametrize("file", FILES)
def test_models_agree_with_the_api_server(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = conformance(f"apiserver/{file}.jsonl")
    wrong: list[str] = []
    for row in rows:
        error = (row.get("expect") or {}).get("policyError")
        found = [text for policy in row["policies"] for text in problems_of(policy)]
        if error is None and found:
            wrong.append(f"{row['id']}: accepted there, refused here: {found}")
        elif error is not None and not found and not _by_cel(error["message"]):
            wrong.append(f"{row['id']}: refused there, accepted here: {error['message']}")
    with capsys.disabled():
        print(f"\napiserver/{file}: {len(rows) - len(wrong)} passed of {len(rows)}")
    assert not wrong, "\n".join(wrong)


def _by_cel(message: str) -> bool:
    return any(mark in message for mark in CEL_REFUSALS)


def test_reference_policies_load() -> None:
    sources = load([BENCH / "vap", BENCH / "map"])
    assert not sources.problems
    assert len(sources.of_kind("ValidatingAdmissionPolicy")) == 16
    assert len(sources.of_kind("MutatingAdmissionPolicy")) == 30
