"""The recent denials that a process keeps: which events, what of them, and how many."""

import gc
import sys
import tracemalloc
from typing import Any

import pytest

from policyd.admission.confidential import WITHHELD
from policyd.admission.recorder import Happening, PolicyEvent, RequestEffect
from policyd.admission.review import decode
from policyd.bounded_text import MAX_STATUS_CHARS
from policyd.http.denials import MOST
from policyd.observability.denial_history import DenialHistory
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from tests.builders.reviews import review

NOW = 1_795_235_816.2231
DENIAL = PolicyEvent("denial", "p", "no", "denied", "g")
OWNER = {"kind": "ReplicaSet", "name": "web-7d9f", "controller": True}


def noted(*events: PolicyEvent, **changes: Any) -> list[dict[str, Any]]:
    trail = DenialHistory(lambda: NOW)
    for event in events:
        trail.note(decode(review(**changes)), event)
    return [dict(row) for row in trail.recent().rows]


def test_a_denial_is_what_its_line_in_the_log_is() -> None:
    (row,) = noted(
        PolicyEvent("would_deny", "p", "no", "admitted", "g", rollout="enforce is empty"),
        name="",
        dryRun=True,
        object={"metadata": {"generateName": "web-", "ownerReferences": [OWNER]}, "data": "hidden"},
    )
    assert row.pop("sequence") > NOW * 1e6
    assert row == {
        "time": "2026-11-21T04:36:56.223Z",
        "event": "would_deny",
        "uid": "u-1",
        "policy": "p",
        "effect": "admitted",
        "rollout": "enforce is empty",
        "generation": "g",
        "operation": "CREATE",
        "resource": "v1/configmaps",
        "namespace": "shop",
        "generateName": "web-",
        "owner": "ReplicaSet/web-7d9f",
        "user": "ann",
        "dryRun": True,
        "message": "no",
    }


@pytest.mark.parametrize(
    ("what", "effect", "kept"),
    [
        ("denial", "denied", True),
        ("error", "denied", True),
        ("would_deny", "admitted", True),
        ("error", "admitted", False),
        ("warning", "admitted", False),
        ("conflict", "admitted", False),
        ("exemption", "admitted", False),
        ("would_mutate", "admitted", False),
    ],
)
def test_only_what_denied_or_would_have_is_kept(
    what: Happening, effect: RequestEffect, kept: bool
) -> None:
    assert bool(noted(PolicyEvent(what, "p", "m", effect, "g"))) is kept


def test_messages_about_secrets_are_withheld() -> None:
    rows = noted(DENIAL, object={"kind": "Secret", "stringData": {"a": "hidden"}})
    assert [row["message"] for row in rows] == [WITHHELD]


def test_the_last_ones_are_kept_and_from_when_on_they_are_complete() -> None:
    trail, request = DenialHistory(lambda: NOW), decode(review())
    began = trail.recent()
    assert not began.rows
    for number in range(MOST + 50):
        trail.note(request, DENIAL._replace(message=str(number)))
        if number == MOST - 1:
            assert trail.recent().complete_since == began.complete_since
    recent = trail.recent()
    assert [row["message"] for row in recent.rows] == [str(each) for each in range(50, MOST + 50)]
    sequences = [row["sequence"] for row in recent.rows]
    assert sequences == sorted(set(sequences))
    assert began.next < recent.complete_since < sequences[0]
    assert recent.next > sequences[-1]


def test_sequences_go_on_although_the_clock_is_set_back() -> None:
    now = [NOW]
    trail, request = DenialHistory(lambda: now[0]), decode(review())
    trail.note(request, DENIAL)
    cursor = trail.recent().next
    now[0] -= 3600
    trail.note(request, DENIAL)
    rows = trail.recent().rows
    assert rows[0]["sequence"] <= cursor < rows[1]["sequence"]
    assert rows[1]["time"] == "2026-11-21T03:36:56.223Z"


def test_no_request_is_kept_alive_however_large_its_strings_are() -> None:
    trail = DenialHistory()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(MOST):
            name = "n" * 100_000
            owners = [{**OWNER, "name": name + "o"}]
            metadata = {"name": name, "ownerReferences": owners, "labels": {"a": "b" * 100_000}}
            request = decode(
                review(
                    uid=f"u-{number}",
                    name=name + "x",
                    namespace=name + "y",
                    userInfo={"username": name + "z"},
                    object={"metadata": metadata},
                )
            )
            held = sys.getrefcount(request), sys.getrefcount(request.object)
            trail.note(request, DENIAL._replace(message="m" * 100_000))
            assert (sys.getrefcount(request), sys.getrefcount(request.object)) == held
        del request, metadata, owners, name
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # A message and four strings that are cut, of 2 bytes a character because of the ellipsis.
    assert kept < MOST * (2 * (MAX_STATUS_CHARS + 4 * 600) + 2000)
    assert all(len(row["name"]) < 600 for row in trail.recent().rows)


def test_a_recorder_passes_events_on_with_and_without_a_log() -> None:
    class Nowhere:
        def write(self, line: bytes) -> None:
            """Nobody reads it."""

        def flush(self) -> None:
            """Nothing is kept back."""

    for log in (None, Log(Nowhere())):
        recorder, trail = PrometheusRecorder(log), DenialHistory()
        recorder.listeners["denials"] = trail.note
        recorder.happened(decode(review()), DENIAL)
        assert len(trail.recent().rows) == 1
