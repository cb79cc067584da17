"""Calls of every library function, recorded from the CEL of Kubernetes 1.36 by tests/oracle: value, error text, cost.

To record more: send ``{"expression", "variables"}`` to the oracle and keep the question with its answer.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.lib.evaluate import outcome
from tests.shared import rows

RECORDED = sorted((Path(__file__).parent / "rows").glob("*.jsonl"))


@pytest.mark.parametrize("file", RECORDED, ids=[file.stem for file in RECORDED])
def test_library_answers_as_kubernetes(file: Path) -> None:
    recorded = rows(file)
    wrong = [difference for row in recorded if (difference := compare(row)) is not None]
    print(f"{len(recorded) - len(wrong)} passed of {len(recorded)}")
    assert wrong == []


def compare(row: dict[str, Any]) -> str | None:
    found = outcome(row["expression"], row.get("variables", {}))
    got = {"cost": found.cost, "error": found.error, "value": found.value}
    want = {"cost": row.get("cost"), "error": row.get("error"), "value": row.get("value")}
    # json tells 1 from 1.0 and true, which == does not
    if json.dumps(got, sort_keys=True) == json.dumps(want, sort_keys=True):
        return None
    return f"{row['expression']} {row.get('variables', '')}: {got}, not {want}"
