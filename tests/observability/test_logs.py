"""One line for each event, as JSON or for people."""

import io
import logging
from typing import Any

import orjson
import pytest

from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import decode
from policyd.bounded_text import MAX_LOGGED_CHARS
from policyd.observability.logs import Bridge, Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.observability.metrics.recorder import REJECTED_LINES
from tests.builders.reviews import review


def logged(form: str = "json") -> tuple[Log, io.BytesIO]:
    stream = io.BytesIO()
    return Log(stream, form, clock=lambda: 1_795_235_816.2231), stream


def test_denial_tells_who_and_what_but_never_the_object() -> None:
    log, stream = logged()
    request = decode(
        review(
            resource={"group": "apps", "version": "v1", "resource": "deployments"},
            subResource="scale",
            dryRun=True,
            object={"kind": "Deployment", "data": {"key": "hidden"}},
        )
    )
    log.about(request, PolicyEvent("denial", "p", "no", "denied", "g"))
    assert orjson.loads(stream.getvalue()) == {
        "time": "2026-11-21T04:36:56.223Z",
        "level": "info",
        "event": "denial",
        "uid": "u-1",
        "policy": "p",
        "effect": "denied",
        "generation": "g",
        "operation": "CREATE",
        "resource": "apps/v1/deployments/scale",
        "namespace": "shop",
        "name": "settings",
        "user": "ann",
        "dryRun": True,
        "message": "no",
    }


OWNERS = [
    {"kind": "Node", "name": "n", "controller": False},
    {"kind": "ReplicaSet", "name": "web-7d9f", "controller": True},
]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, {"name": "settings"}),
        (
            {
                "name": "",
                "object": {"metadata": {"generateName": "web-", "ownerReferences": OWNERS}},
            },
            {"generateName": "web-", "owner": "ReplicaSet/web-7d9f"},
        ),
        (
            {"object": {"metadata": {"generateName": "settin", "ownerReferences": OWNERS}}},
            {"name": "settings", "owner": "ReplicaSet/web-7d9f"},
        ),
        ({"object": {"metadata": {"ownerReferences": OWNERS[:1]}}}, {"name": "settings"}),
        (
            {"object": None, "oldObject": {"metadata": {"ownerReferences": OWNERS}}},
            {"name": "settings", "owner": "ReplicaSet/web-7d9f"},
        ),
        (
            {
                "operation": "DELETE",
                "name": "",
                "object": None,
                "oldObject": {"metadata": {"name": "web-x7k2p", "generateName": "web-"}},
            },
            {"name": "web-x7k2p"},
        ),
        ({"object": {"metadata": {"ownerReferences": 5}}}, {"name": "settings"}),
        (
            {
                "object": {
                    "metadata": {"ownerReferences": [{"controller": True, "kind": {"a": []}}]}
                }
            },
            {"name": "settings"},
        ),
        ({"name": "", "object": {"metadata": []}}, {}),
    ],
)
def test_a_line_names_the_object_or_what_it_is_made_from(
    changes: dict[str, Any], named: dict[str, str]
) -> None:
    log, stream = logged()
    log.about(decode(review(**changes)), PolicyEvent("denial", "p", "no", "denied", "g"))
    line = orjson.loads(stream.getvalue())
    assert {key: line[key] for key in ("name", "generateName", "owner") if key in line} == named


def test_the_reason_of_an_exception_is_no_value_of_a_secret() -> None:
    log, stream = logged("text")
    secret = decode(review(object={"kind": "Secret"}))
    lifted = PolicyEvent("exemption", "p", "ticket 4711", "admitted", "g", exception="legacy")
    log.about(secret, lifted)
    log.about(secret, PolicyEvent("warning", "p", "the value is x", "admitted", "g"))
    exemption, warning = stream.getvalue().decode().splitlines()
    assert exemption.startswith("2026-11-21T04:36:56.223Z INFO    exemption ticket 4711 uid=u-1")
    assert " policy=p effect=admitted exception=legacy " in exemption
    assert "withheld" in warning


def test_rejected_requests_are_lines_of_text_too() -> None:
    log, stream = logged("text")
    recorder = PrometheusRecorder(log)
    for path in ("/a b", "/c"):
        recorder.rejected(404, "10.0.0.7", path, "nothing is served there")
    recorder.rejected(0, "10.0.0.7", "/validate", "the client disconnected")
    lines = [line.partition("Z ")[2] for line in stream.getvalue().decode().splitlines()]
    assert lines == [
        "WARNING rejected nothing is served there status=404 peer=10.0.0.7 path=/a b",
        "WARNING rejected the client disconnected peer=10.0.0.7 path=/validate suppressed=1",
    ]


def test_a_flood_of_clients_hides_no_request_without_room() -> None:
    log, stream = logged()
    recorder = PrometheusRecorder(log)
    for number in range(1000):
        recorder.rejected(404, f"10.0.0.{number}", f"/{number}", "nothing is served there")
    for reason in ("too many requests", "too many bytes", "too many bytes"):
        recorder.rejected(503, "10.0.0.7", "/validate", reason)
    lines = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["status"] for line in lines] == [404] * REJECTED_LINES + [503, 503]
    assert [line["message"] for line in lines[-2:]] == ["too many requests", "too many bytes"]
    assert lines[-2]["suppressed"] == 1000 - REJECTED_LINES


def test_a_line_says_why_a_rollout_did_not_enforce_a_policy() -> None:
    event = PolicyEvent("would_deny", "p", "no", "admitted", "g", rollout="enforce is empty")
    for form, want in (("json", '"rollout":"enforce is empty"'), ("text", "rollout=enforce is ")):
        log, stream = logged(form)
        log.about(decode(review()), event)
        line = stream.getvalue().decode()
        assert want in line and "would_deny" in line


def test_what_policies_say_of_a_request_is_written_together() -> None:
    flushes = []

    class Stream(io.BytesIO):
        def flush(self) -> None:
            flushes.append(len(self.getvalue().splitlines()))

    log = Log(Stream())
    for policy in ("a", "b"):
        log.about(decode(review()), PolicyEvent("denial", policy, "no", "denied", "g"))
    assert flushes == []
    log.flush()
    log.flush()
    log.write("info", "reload", "policies loaded")
    assert flushes == [2, 3]


def test_text_for_people_cannot_be_broken_into_lines() -> None:
    log, stream = logged("text")
    log.write("error", "reload", 'no\n2026 INFO "forged"', file="a b", count=3)
    assert stream.getvalue().decode() == (
        '2026-11-21T04:36:56.223Z ERROR   reload "no\\n2026 INFO \\"forged\\"" file=a b count=3\n'
    )


def test_records_of_logging_are_lines_too() -> None:
    log, stream = logged()
    logger = logging.Logger("engine")
    logger.addHandler(Bridge(log))
    try:
        raise KeyError("x")
    except KeyError:
        logger.exception("a defect")
    line = orjson.loads(stream.getvalue())
    assert (line["event"], line["level"], line["message"]) == ("log", "error", "a defect")
    assert line["logger"] == "engine"
    assert line["traceback"].startswith("Traceback") and "KeyError: 'x'" in line["traceback"]


def test_values_of_a_line_are_cut() -> None:
    log, stream = logged()
    log.write("error", "log", "m" * 10**6, user="u" * 10**6, count=3)
    line = orjson.loads(stream.getvalue())
    left_out = f"… ({10**6 - MAX_LOGGED_CHARS} more characters)"
    assert line["message"] == "m" * MAX_LOGGED_CHARS + left_out
    assert line["user"] == "u" * MAX_LOGGED_CHARS + left_out


@pytest.mark.parametrize("form", ["json", "text"])
def test_half_of_a_surrogate_pair_is_written_as_what_go_has_for_it(form: str) -> None:
    log, stream = logged(form)
    log.write("error", "reload", "a\ud800b", file="x\udfff", problems=["\ud800"])
    text = stream.getvalue().decode()
    assert "a\ufffdb" in text and "x\ufffd" in text
