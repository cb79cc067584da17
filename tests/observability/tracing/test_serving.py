"""Traces of the real process over TLS, as a collector gets them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.builders.reviews import body
from tests.observability.tracing.receiver import Behaviour, Receiver, receiving, values
from tests.server.process import Process, until
from tests.server.serve import DENY, serving, write_policy

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=opaque"}
AGENT = {"user-agent": "kube-apiserver-admission"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
WARN = 'validations: [{expression: "!has(object.data.odd)"}]\n  validationActions: [Warn]'
EXPORTED = 'policyd_traced_requests_total{result="exported"}'
FAILED = 'policyd_traced_requests_total{result="failed"}'

# The head of the answers of the last two says that the traces were taken.
FAULTS: tuple[Behaviour, ...] = ("refuses", "redirects", "garbage", "never ends", "lies")

Served = tuple[Process, Receiver]


def policies(folder: Path) -> Path:
    sources = folder / "policies"
    write_policy(sources, "deny", DENY)
    write_policy(sources, "warn", WARN)
    return sources


def post(server: Process, path: str = "/validate", data: Any = None, **headers: str) -> Any:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data or {}}
    return server.post(path, body(object=obj), **headers)[1]


def flags(url: str, sample: str = "parent") -> tuple[str, ...]:
    return "--otlp-endpoint", url, "--trace-sample", sample


@pytest.fixture(name="running", scope="module")
def _running(http_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("traced")
    with receiving() as receiver, serving(folder, policies(folder), *flags(receiver.url)) as server:
        yield server, receiver


@pytest.fixture(name="served")
def _served(running: Served) -> Served:
    """One server for all tests, which traces what the API server sampled."""
    running[1].requests.clear()
    return running


def requests_in(receiver: Receiver) -> list[Span]:
    """The spans of requests."""
    return [span for span in receiver.spans if span.kind == Span.SPAN_KIND_SERVER]


def request_span(receiver: Receiver) -> Span:
    """The span of the only request that was traced."""
    until(lambda: receiver.spans, "a trace")
    (span,) = requests_in(receiver)
    return span


def test_a_sampled_request_is_one_span_with_its_phases_below(served: Served) -> None:
    server, receiver = served
    before = server.metric(EXPORTED)
    post(server, "/validate?timeout=10s", {"forbidden": "words", "odd": "x"}, **SAMPLED, **AGENT)
    span = request_span(receiver)
    assert span.trace_id.hex() == TRACE and span.parent_span_id.hex() == PARENT
    assert span.trace_state == "vendor=opaque"
    assert (span.name, span.status.code) == ("POST /validate", Status.STATUS_CODE_UNSET)
    assert values(span.attributes) == {
        "http.request.method": "POST",
        "http.route": "/validate",
        "http.response.status_code": 200,
        "url.scheme": "https",
        "url.path": "/validate",
        "network.protocol.name": "http",
        "network.protocol.version": "1.1",
        "client.address": "127.0.0.1",
        "user_agent.original": "kube-apiserver-admission",
        "policyd.request.uid": "u-1",
        "policyd.request.kind": "v1/ConfigMap",
        "policyd.request.namespace": "shop",
        "policyd.request.operation": "CREATE",
        "policyd.webhook": "validate",
        "policyd.result": "denied",
        "policyd.response.allowed": False,
        "policyd.response.code": 422,
        "policyd.policies.denying": ["deny"],
    }
    events = [(each.name, values(each.attributes)) for each in span.events]
    assert events == [
        ("policyd.denial", {"policyd.policy": "deny", "policyd.effect": "denied"}),
        ("policyd.warning", {"policyd.policy": "warn", "policyd.effect": "admitted"}),
    ]
    phases = receiver.children(span)
    assert [each.name for each in phases] == [
        f"policyd.{name}" for name in ("receive", "decode", "match", "evaluate", "encode")
    ]
    for each in phases:
        assert each.trace_id == span.trace_id
        assert span.start_time_unix_nano <= each.start_time_unix_nano
        assert each.start_time_unix_nano <= each.end_time_unix_nano <= span.end_time_unix_nano
    assert {"service.name": "policyd"}.items() <= receiver.resource().items()
    assert receiver.headers[-1]["path"] == "/v1/traces"
    until(lambda: server.metric(EXPORTED) == before + 1, "the count")


def test_no_content_of_objects_and_users_is_in_a_trace(served: Served) -> None:
    server, receiver = served
    metadata = {"name": "hidden-name", "labels": {"hidden-label": "x"}}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    user = {"username": "ann-name", "groups": ["hidden-group"], "extra": {"k": ["hidden-extra"]}}
    sent = {**obj, "data": {"forbidden": "hidden words"}}
    server.post("/validate", body(object=sent, userInfo=user, name="hidden-name"), **SAMPLED)
    request_span(receiver)
    got = b"".join(each.SerializeToString() for each in receiver.requests)
    assert b"u-1" in got
    for secret in (b"hidden", b"ann-name", b"no TEXT"):
        assert secret not in got


def test_the_api_server_decides_what_is_sampled(served: Served) -> None:
    server, receiver = served
    zero = {"traceparent": f"00-{'0' * 32}-{PARENT}-01"}
    long = {"traceparent": SAMPLED["traceparent"] + "-" + "x" * 5000}
    for headers in ({}, UNSAMPLED, {"traceparent": "garbage"}, zero, long):
        assert post(server, **headers)["response"]["allowed"] is True
    post(server, "/mutate", **SAMPLED)
    assert request_span(receiver).name == "POST /mutate"


def test_names_have_few_values_and_errors_of_clients_are_not_ours(served: Served) -> None:
    server, receiver = served
    rows = [
        ("/validate/policy/deny", 200, "POST /validate/policy/{name}"),
        ("/validate/policy/gone", 404, "POST"),
        ("/validate/fail?timeout=-1s", 400, "POST /validate/fail"),
    ]
    for path, _, _ in rows:
        post(server, path, **SAMPLED)
    spans = until(
        lambda: len(requests_in(receiver)) == len(rows) and requests_in(receiver), "traces"
    )
    for span, (_, status, name) in zip(spans, rows, strict=True):
        found = values(span.attributes)
        assert (span.name, found["http.response.status_code"]) == (name, status)
        assert span.status.code == Status.STATUS_CODE_UNSET and "error.type" not in found


def test_a_client_that_leaves_is_an_error(served: Served) -> None:
    server, receiver = served
    head = "".join(f"{key}: {value}\r\n" for key, value in SAMPLED.items())
    with server.secure_socket() as sock:
        sock.sendall(
            f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n{head}\r\n".encode()
        )
    span = request_span(receiver)
    assert span.status.code == Status.STATUS_CODE_ERROR
    assert values(span.attributes)["error.type"] == "disconnected"


def test_a_faulty_collector_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server for all faults: after each of them it goes on, until the collector is mended."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    with (
        receiving() as receiver,
        serving(tmp_path, policies(tmp_path), *flags(receiver.url, "1")) as server,
    ):
        post(server)
        until(lambda: server.metric(EXPORTED) == 1, "an export")
        before, exported, failed = server.resident(), 1, 0
        for behaviour in FAULTS:
            receiver.behaviour = behaviour
            assert post(server, data={"forbidden": "x"})["response"]["allowed"] is False
            taken = behaviour in FAULTS[-2:]
            exported, failed = exported + taken, failed + (not taken)
            until(lambda: server.metric(FAILED) == failed, f"{behaviour}: a failure")  # noqa: B023
            until(lambda: server.metric(EXPORTED) == exported, f"{behaviour}: an export")  # noqa: B023
        receiver.behaviour = "takes"
        receiver.requests.clear()
        post(server)
        post(server, **UNSAMPLED)
        assert server.resident() < before + 20 * 2**20
        assert server.terminate() == 0
        # What was queued is exported at the end.
        assert request_span(receiver).parent_span_id == b""
        (line,) = (line for line in server.lines("tracing") if line["level"] == "warning")
        assert line["message"].startswith(
            "traces are lost: the collector did not accept them: Failed"
        )
        assert not server.lines("defect") and not server.lines("log")


def test_a_collector_that_hangs_holds_up_neither_requests_nor_the_end(tmp_path: Path) -> None:
    with (
        receiving("hangs") as receiver,
        serving(tmp_path, policies(tmp_path), *flags(receiver.url, "1"), "--grace=4s") as server,
    ):
        for _ in range(3):
            post(server)
        until(lambda: receiver.headers, "an export")
        assert post(server)["response"]["allowed"] is True
        assert server.terminate() == 0
        (line,) = (line for line in server.lines("tracing") if line["level"] == "warning")
        assert line["lost"] == 4


def test_without_tracing_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    """Not even with an endpoint in the environment, as operators of clusters set it for all Pods."""
    program = """\
import json, os, sys
from policyd.admission import engine
from policyd.config import resolve
from policyd.server.composition import Server
from policyd.server.policies.policy_loader import PolicyLoader
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://x:4317"
settings = resolve({"policies": (sys.argv[1],), "self_signed": "true"}, {})
server = Server(settings, PolicyLoader(), engine.review)
loaded = [each for each in sys.modules if each.startswith(("opentelemetry", "requests", "policyd.obs"))]
print(json.dumps([type(server.app).__name__, type(server.recorder).__name__, *sorted(loaded)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(policies(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
    )
    app, recorder, *loaded = json.loads(done.stdout)
    assert (app, recorder) == ("Application", "PrometheusRecorder")
    assert [each for each in loaded if not each.startswith("policyd.observability.")] == [
        "policyd.observability"
    ]
    assert [each for each in loaded if "tracing" in each] == [
        "policyd.observability.tracing",
        "policyd.observability.tracing.switch",
        "policyd.observability.tracing.wrappers",
    ]
