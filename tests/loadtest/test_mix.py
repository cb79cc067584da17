"""The corpus has the shares of a cluster, and the verdicts of the policies."""

import gzip
import json
from collections import Counter
from typing import Any

import pytest

import policyd
from loadtest.mix import FILE, SHARES
from loadtest.policies import POLICIES
from tests.shared import ROOT


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


def test_the_shares_are_those_of_a_cluster(rows: list[dict[str, Any]]) -> None:
    requests = [json.loads(row["validate"])["request"] for row in rows]
    pods = sum(each["kind"]["kind"] == "Pod" for each in requests)
    assert pods / len(rows) == 0.7
    assert sum(not row["allowed"] for row in rows) / len(rows) == 0.1
    operations = Counter(each["operation"] for each in requests)
    assert operations.keys() == {"CREATE", "UPDATE", "DELETE"}
    assert min(operations.values()) / len(rows) > 0.1
    assert sum(SHARES.values()) == len(rows)


def test_uids_are_unique(rows: list[dict[str, Any]]) -> None:
    uids = {
        json.loads(row[each])["request"]["uid"] for row in rows for each in ("mutate", "validate")
    }
    assert len(uids) == 2 * len(rows)


def test_verdicts_and_mutated_objects_are_those_of_the_policies(rows: list[dict[str, Any]]) -> None:
    policies = policyd.PolicySet.load(ROOT / each for each in POLICIES)
    changed = 0
    for row in rows:
        mutated, validated = (json.loads(row[each]) for each in ("mutate", "validate"))
        result = policies.evaluate(mutated, "mutate")
        assert result.allowed
        changed += bool(result.patch)
        assert validated["request"]["object"] == (
            result.object if result.patch else mutated["request"]["object"]
        )
        assert policies.evaluate(validated, "validate").allowed is row["allowed"]
    assert changed > len(rows) / 4
