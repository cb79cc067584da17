"""Expressions that Kubernetes 1.36 and 1.37 answer differently: ``rows/versions.jsonl`` holds what the
CEL of each (tests/oracle) gave for ``SUBJECT``.
"""

import json
from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.versions import NEWEST, RECORDED, KubernetesVersion
from tests.core.lib.evaluate import outcome
from tests.shared import ROOT, rows

FILE = ROOT / "tests/core/rows/versions.jsonl"
SUBJECT = {"memory": "1Gi", "a": {"b": [1, 2]}, "labels": {"a-b": "x"}, "n": 5}
FIELDS = ("cost", "error", "value")


def difference(row: dict[str, Any], version: KubernetesVersion) -> str | None:
    found = outcome(row["expression"], {"object": SUBJECT}, Environment.kubernetes(version))
    got = {"cost": found.cost, "error": found.error, "value": found.value}
    want = {field: row.get(field) for field in FIELDS}
    if json.dumps(got, sort_keys=True) == json.dumps(want, sort_keys=True):
        return None
    return f"{row['expression']}: {got}, not {want}"


@pytest.mark.parametrize("version", RECORDED, ids=str)
def test_each_version_answers_as_it_did(version: KubernetesVersion) -> None:
    recorded = [row for row in rows(FILE) if row["version"] == str(version)]
    wrong = [found for row in recorded if (found := difference(row, version)) is not None]
    print(f"{version}: {len(recorded) - len(wrong)} passed of {len(recorded)}")
    assert wrong == []


def test_the_rows_are_of_both_versions() -> None:
    by_version = {
        version: {row["expression"]: row for row in rows(FILE) if row["version"] == str(version)}
        for version in (RECORDED[0], NEWEST)
    }
    old, new = by_version.values()
    assert old.keys() == new.keys()
    changed = [text for text in old if any(old[text].get(f) != new[text].get(f) for f in FIELDS)]
    assert len(changed) > 25
