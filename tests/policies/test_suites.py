"""Every suite that comes with policyd holds, judged by the policies beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from policyd import PolicySet
from policyd.policy import loader, suite
from tests.shared import ROOT

SUITES = sorted((ROOT / "policies").rglob("suite.yaml"))
IDS = [str(each.parent.relative_to(ROOT / "policies")) for each in SUITES]


def judge(file: Path) -> suite.Review:
    """The policy beside a suite with its parameters, as the runner asks it."""
    (document,) = loader.load([file]).documents
    policies = PolicySet.load([file.parent / each for each in document.raw["policies"]])

    def review(asked: dict[str, Any], webhook: str) -> dict[str, Any]:
        answer: dict[str, Any] = policies.review(
            asked, "mutate" if webhook == "mutate" else "validate"
        )
        return answer

    return review


@pytest.mark.parametrize("file", SUITES, ids=IDS)
def test_suites_hold(file: Path) -> None:
    (document,) = loader.load([file]).documents
    results = list(suite.run(document, judge(file)))
    assert len(results) >= 4
    wrong = [(each.name, each.error, each.mismatches) for each in results if not each.passed]
    assert wrong == []
    print(f"{len(results)} passed of {len(results)}")


@pytest.mark.parametrize(
    "file", [each for each in SUITES if each.parent.parent.name == "mutation"], ids=str
)
def test_mutations_are_idempotent(file: Path) -> None:
    """What a policy made is left alone when it comes again."""
    (document,) = loader.load([file]).documents
    for case in document.raw["cases"]:
        wanted = case["expect"].get("patched")
        if wanted is None:
            continue
        request = {**case["request"], "object": wanted}
        again = {"cases": [{"name": "again", "request": request, "expect": {"patch": []}}]}
        text = json.dumps({**document.raw, **again})
        (document_again,) = loader.load_text(text, "suite.yaml").documents
        (result,) = suite.run(document_again, judge(file))
        assert result.passed, (case["name"], result.mismatches, result.error)
