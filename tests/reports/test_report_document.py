"""A report as a document: what the hash covers, and how large it gets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.reports.apis import OPENREPORTS, WG_POLICY
from policyd.reports.report_document import (
    HASH,
    LEFT_OUT,
    MAX_RESULT_BYTES,
    MAX_RESULTS,
    ReportedObject,
    report_of,
    resource_label,
)
from policyd.reports.results import ReportResult

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
POD = ReportedObject("v1", "Pod", "shop", "web", "uid-web", "pods")
RESULT = ReportResult(("team", "Policy"), "labelled", "fail", "no team", "", "", ())


def many(count: int, message: str = "no") -> list[ReportResult]:
    return [replace(RESULT, rule=f"validations[{n:04}]", message=message) for n in range(count)]


def test_the_time_is_not_part_of_the_hash() -> None:
    made = report_of(OPENREPORTS, POD, [RESULT])
    now, later = made.written_at(NOON), made.written_at(NOON + timedelta(days=1))
    assert now != later
    assert now["metadata"] == later["metadata"]
    assert now["metadata"]["annotations"] == {HASH: made.content_hash}
    assert now["results"][0]["timestamp"] == {"seconds": int(NOON.timestamp()), "nanos": 0}
    assert report_of(OPENREPORTS, POD, [RESULT]).content_hash == made.content_hash


CHANGES: list[dict[str, Any]] = [
    {"rule": "other"},
    {"result": "warn"},
    {"message": "other"},
    {"category": "Ownership"},
    {"severity": "high"},
    {"properties": (("field", "spec"),)},
    {"policy": ("other", "Policy")},
]


@pytest.mark.parametrize("change", CHANGES)
def test_everything_else_of_a_result_is(change: dict[str, Any]) -> None:
    before = report_of(OPENREPORTS, POD, [RESULT])
    after = report_of(OPENREPORTS, POD, [replace(RESULT, **change)])
    assert after.content_hash != before.content_hash


@pytest.mark.parametrize(
    "change", [{"name": "b"}, {"uid": "b"}, {"api_version": "v2"}, {"kind": "B"}]
)
def test_so_is_the_object(change: dict[str, str]) -> None:
    before = report_of(OPENREPORTS, POD, [RESULT])
    after = report_of(OPENREPORTS, replace(POD, **change), [RESULT])
    assert after.content_hash != before.content_hash


def test_what_was_left_out_is_counted_and_part_of_the_hash() -> None:
    fits = report_of(OPENREPORTS, POD, many(MAX_RESULTS))
    assert LEFT_OUT not in fits.content["metadata"].get("annotations", {})
    more = report_of(OPENREPORTS, POD, many(MAX_RESULTS + 1))
    assert more.content["results"] == fits.content["results"]
    assert more.written_at(NOON)["metadata"]["annotations"][LEFT_OUT] == "1"
    assert more.counts["fail"] == more.content["summary"]["fail"] == MAX_RESULTS + 1
    assert more.content_hash != fits.content_hash


@given(st.integers(1, 300), st.text(max_size=1024))
def test_a_report_is_never_too_large_for_etcd(count: int, message: str) -> None:
    made = report_of(WG_POLICY, POD, many(count, message))
    sent = made.written_at(NOON)
    listed = len(sent["results"])
    assert 0 < listed <= min(count, MAX_RESULTS)
    assert len(orjson.dumps(sent)) < MAX_RESULT_BYTES + 64 * MAX_RESULTS + 2048 < 1.5 * 2**20 / 4
    annotations = sent["metadata"]["annotations"]
    assert int(annotations.get(LEFT_OUT, 0)) == count - listed


LABELS = [
    ("", "pods", "pods"),
    ("apps", "deployments", "deployments.apps"),
    ("example.com", "x" * 51, "x" * 51 + ".example.com"),
]


@pytest.mark.parametrize(("group", "resource", "label"), LABELS)
def test_the_label_is_the_name_of_the_resource(group: str, resource: str, label: str) -> None:
    assert resource_label(group, resource) == label


def test_labels_that_are_too_long_stay_apart() -> None:
    labels = {resource_label(f"{end}.example.com", "x" * 60) for end in ("a", "b")}
    assert len(labels) == 2
    assert {len(each) for each in labels} == {63}
