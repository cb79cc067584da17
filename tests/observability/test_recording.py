"""A fault in whatever records requests: every decision is as without it, and the fault is counted."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from policyd.admission import findings
from policyd.admission.recorder import Recorder, RecordingPart
from policyd.controllers.events.writer import EventWriter
from policyd.http.endpoints import Reviews
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight
from policyd.observability import recording
from policyd.observability.denial_history import DenialHistory
from policyd.observability.log_writer import LogWriter
from policyd.observability.logs import Bridge, Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.observability.tracing import record as traces
from policyd.observability.tracing.record import TracingRecorder
from policyd.observability.tracing.traced_requests import TracedRequests
from policyd.server import capture as capturing
from policyd.server.capture import Capture
from policyd.server.policy_evaluator import PolicyEvaluator
from tests.builders.policies import labelling, policy
from tests.builders.reviews import body
from tests.observability.tracing.receiver import receiving
from tests.policy_sets import compiled
from tests.server.process import until

LABEL = "object.metadata.?labels.?team.orValue('')"
POLICIES = compiled(
    policy("named", validations=[{"expression": "request.name != 'evil'", "message": "evil"}]),
    policy(
        "staged",
        rollout={"enforce": {"newOnly": True}},
        validations=[{"expression": f"{LABEL} != 'odd'"}],
    ),
    policy(
        "excepted",
        exceptions=[{"name": "e", "reason": "r", "names": ["legacy"]}],
        validations=[{"expression": "request.name != 'legacy'"}],
    ),
    policy("warns", validationActions=["Warn"], validations=[{"expression": f"{LABEL} != 'warn'"}]),
    policy("failing", failurePolicy="Ignore", validations=[{"expression": "object.spec.x > 1"}]),
    policy("first", mutations=[labelling("x", "'1'")]),
    policy("second", mutations=[labelling("x", "'2'")]),
)


def labelled_review(name: str, **labels: str) -> bytes:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "spec": {"containers": []},
    }
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    return body(kind=kind, resource=resource, name=name, namespace="shop", object=pod)


REVIEWS = [
    labelled_review("good"),
    labelled_review("evil"),
    labelled_review("legacy"),
    labelled_review("a", team="odd"),
    labelled_review("b", team="warn"),
    b'{"no": "review"}',
]


class Broken:
    """Fails whatever is done with it."""

    def fail(self, *_: Any, **__: Any) -> Any:
        raise RecursionError("broken on purpose")

    __call__ = __getitem__ = __setitem__ = __len__ = __iter__ = __contains__ = __bool__ = fail
    __add__ = __iadd__ = __enter__ = fail

    def __getattr__(self, name: str) -> Any:
        raise RecursionError(f"broken on purpose: {name}")


class Lines:
    """A stream that keeps lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    def flush(self) -> None:
        """There is nothing to flush."""


class Setup:
    """Everything that records requests, and the endpoint that answers them."""

    def __init__(self, folder: Path, tracing: TracedRequests | None = None) -> None:
        self.log = Log(Lines())
        self.recorder = PrometheusRecorder(self.log) if tracing is None else tracing.recorder
        self.errors = self.recorder.errors
        self.trail = DenialHistory()
        self.events = EventWriter(object(), self.log, {"dropped": 0})  # type: ignore[arg-type]
        self.recorder.listeners = {"denials": self.trail.note, "events": self.events.note}
        self.outcomes: list[str] = []
        self.capture = Capture(
            folder, 1 << 20, lambda what, _: self.outcomes.append(what), self.errors
        )
        evaluator = PolicyEvaluator(lambda: POLICIES)
        self.reviews = Reviews(
            evaluator if tracing is None else tracing.evaluator(evaluator),
            self.recorder,
            InFlight(10, 1 << 20),
            Lifecycle(),
            timeout=30,
            max_body_bytes=1 << 20,
            capture=self.capture,
        )
        self.app: Any = self._app if tracing is None else tracing.app(self._app)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        await self.reviews.begin(scope, scope["path"][1:], None).later(receive, send)

    def answers(self) -> list[tuple[int, Any]]:
        """The status and the content of each answer, by both webhooks."""
        return [
            asyncio.run(self.answer(webhook, each))
            for webhook in ("validate", "mutate")
            for each in REVIEWS
        ]

    async def answer(self, webhook: str, content: bytes) -> tuple[int, Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "https",
            "method": "POST",
            "query_string": b"",
            "path": f"/{webhook}",
            "headers": [
                (b"traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
            ],
            "client": ("10.0.0.1", 1),
            "state": {},
        }
        await self.app(scope, receive, send)
        return sent[0]["status"], json.loads(b"".join(each.get("body", b"") for each in sent[1:]))


@pytest.fixture(name="setup")
def _setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.capture.close(20)


@pytest.fixture(name="decisions", scope="module")
def _decisions(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, Any]]:
    made = Setup(tmp_path_factory.mktemp("sound"))
    found = made.answers()
    made.capture.close(20)
    assert [status for status, _ in found] == [200, 200, 200, 200, 200, 400] * 2
    denied = [not each["response"]["allowed"] for status, each in found if status == 200]
    assert denied == [False, True, False, True, False] + [False] * 5
    assert set(made.errors.counts.values()) == {0}
    assert made.outcomes == ["written"] * 10
    assert b'"conflict"' in b"".join(made.log._stream.lines)  # type: ignore[attr-defined]
    return found


def broken_attributes(made: Any, *sound: str) -> list[str]:
    return [name for name in vars(made) if name not in sound]


USED = {"_log", "_rejected_lines", "requests", "durations", "phases", "patches", "conflicts"}
# By part, where it is in the setup, and what of it is broken.
PARTS = {
    "recorder": ("recorder", broken_attributes(PrometheusRecorder(), "errors", "listeners")),
    "log": ("log", ["_stream", "_clock", "_line", "always"]),
    "denials": ("trail", broken_attributes(DenialHistory(), "always", "_before", "_sequence")),
    "events": ("events", ["_table", "_waiting"]),
    "capture": ("capture", ["_waiting", "_wanted"]),
}


@pytest.mark.parametrize(
    ("part", "path"),
    [(part, f"{place}.{name}") for part, (place, names) in PARTS.items() for name in names],
)
def test_a_broken_part_changes_no_decision(
    setup: Setup,
    monkeypatch: pytest.MonkeyPatch,
    decisions: list[tuple[int, Any]],
    part: RecordingPart,
    path: str,
) -> None:
    place, _, name = path.partition(".")
    with monkeypatch.context() as patched:
        patched.setattr(getattr(setup, place), name, Broken())
        assert setup.answers() == decisions
    assert (setup.errors.counts[part] > 0) == (part != "recorder" or name in USED)
    if part == "log":
        assert len(setup.trail.recent().rows) == 2  # what else notes an event still does


@pytest.mark.parametrize("fault", [RecursionError, MemoryError, KeyError, RuntimeError])
def test_the_capture_thread_survives_any_exception(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    def line(*_: Any) -> bytes:
        raise fault("broken on purpose")

    with monkeypatch.context() as patched:
        patched.setattr(capturing, "line", line)
        asyncio.run(setup.answer("validate", labelled_review("good")))
        until(lambda: setup.outcomes == ["failed"], "the failure")
    asyncio.run(setup.answer("validate", labelled_review("good")))
    until(lambda: setup.outcomes == ["failed", "written"], "the next review")
    assert setup.errors.counts["capture"] == 1


def test_the_capture_thread_survives_who_hears_of_its_outcomes(setup: Setup) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken on purpose")

    heard = setup.capture._on_outcome
    setup.capture._on_outcome = fail
    asyncio.run(setup.answer("validate", labelled_review("good")))
    until(lambda: setup.errors.counts["capture"], "the failure")
    setup.capture._on_outcome = heard
    asyncio.run(setup.answer("validate", labelled_review("good")))
    until(lambda: setup.outcomes == ["written"], "the next review")


def test_a_bug_in_a_policy_is_decided_by_failure_policy_whatever_its_log_does(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> bool:
        raise RecursionError("broken on purpose")

    monkeypatch.setattr(findings, "is_confidential", fail)
    monkeypatch.setattr("policyd.admission.applicable.Applicable.invocations", fail)
    status, answer = asyncio.run(setup.answer("validate", labelled_review("a", team="odd")))
    assert status == 200 and "internal error" in answer["response"]["status"]["message"]
    assert setup.errors.counts["log"] > 0


def test_the_bridge_of_pythons_logging_never_fails(setup: Setup) -> None:
    bridge = Bridge(setup.log)
    bridge.emit(logging.LogRecord("x", logging.ERROR, "x", 1, "%s %s", ("one",), None))
    assert setup.errors.counts["log"] == 1


def test_the_log_thread_survives_any_exception(capfd: pytest.CaptureFixture[str]) -> None:
    writer = LogWriter(2)
    sound = writer.turn
    writer.turn = Broken()
    writer.write(b"lost\n")
    writer.flush()
    until(lambda: writer.lost == 1, "the loss")
    writer.turn = sound
    writer.write(b"kept\n")
    assert writer.settle(20)
    assert "kept" in capfd.readouterr().err


@pytest.mark.parametrize(
    "break_it",
    [
        lambda tracing, patched: patched.setattr(tracing, "_sampler", Broken()),
        lambda tracing, patched: patched.setattr(tracing, "_propagator", Broken()),
        lambda tracing, patched: patched.setattr(tracing, "_export", Broken()),
        *(
            lambda tracing, patched, name=name: patched.setattr(traces.RequestTrace, name, Broken())
            for name in ("phase", "event", "asked", "answered")
        ),
    ],
)
def test_broken_traces_change_no_decision(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    decisions: list[tuple[int, Any]],
    break_it: Callable[[TracedRequests, pytest.MonkeyPatch], None],
) -> None:
    with receiving() as receiver:
        tracing = TracedRequests(receiver.url, 1.0, Log(Lines()))
        setup = Setup(tmp_path, tracing)
        export = tracing._export
        with monkeypatch.context() as patched:
            break_it(tracing, patched)
            assert setup.answers() == decisions
        assert setup.errors.counts["traces"] > 0
        assert setup.errors.counts["recorder"] == 0
        setup.capture.close(20)
        export.close(20)


def test_every_method_of_a_recorder_is_unfailing() -> None:
    methods = [name for name in vars(Recorder) if not name.startswith("_")]
    for kind in (PrometheusRecorder, TracingRecorder):
        for name in methods:
            if name != "unrecorded":  # it is what the others call
                assert hasattr(getattr(kind, name), "__wrapped__"), (kind, name)


def test_errors_are_counted_by_part_and_logged_once_a_minute() -> None:
    stream = Lines()
    log = Log(stream)
    assert set(log.errors.counts) == set(get_args(RecordingPart)) == set(recording.PARTS)
    for _ in range(3):
        log.errors.note("capture", RuntimeError("secret of an object"))
    assert log.errors.counts["capture"] == 3
    (line,) = map(json.loads, stream.lines)
    assert (line["event"], line["level"]) == ("recording", "error")
    assert line["message"] == "capture: RuntimeError in 1 calls"
    assert "secret" not in stream.lines[0].decode()
