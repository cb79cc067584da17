"""Expressions over one document, answered by the CEL of Kubernetes 1.36 (tests/oracle): value, error text, cost.

``language.jsonl`` was made at random from operators, macros, selections and conversions, right and wrong ones;
for every error text at most 60 were kept. ``differential.jsonl`` holds what ``make fuzz-cel`` once found to differ; its rows of the mode "map" were asked in the
environment of mutations, where requests and namespaces are typed.
"""

import json
from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.versions import KubernetesVersion
from tests.core.lib.evaluate import outcome
from tests.fuzz import words
from tests.shared import ROOT, rows

ROWS = ROOT / "tests/core/rows"
SUBJECT = json.loads((ROWS / "subject.json").read_text())
MUTATIONS = Environment.admission(
    params=True, authorizer=True, patch_types=True, version=KubernetesVersion(1, 36)
)


def difference(row: dict[str, Any]) -> str | None:
    if row.get("mode") == "map":
        found = outcome(row["expression"], SUBJECT | words.ADMISSION, MUTATIONS)
    else:
        found = outcome(row["expression"], SUBJECT)
    got = {"cost": found.cost, "error": found.error, "value": found.value}
    want = {"cost": row.get("cost"), "error": row.get("error"), "value": row.get("value")}
    if json.dumps(got, sort_keys=True) == json.dumps(want, sort_keys=True):
        return None
    return f"{row['expression']}: {got}, not {want}"


@pytest.mark.parametrize("file", ["language.jsonl", "differential.jsonl"])
def test_expressions_answer_and_cost_as_in_kubernetes(file: str) -> None:
    recorded = rows(ROWS / file)
    wrong = [found for row in recorded if (found := difference(row)) is not None]
    print(f"{len(recorded) - len(wrong)} passed of {len(recorded)}")
    assert wrong == []
