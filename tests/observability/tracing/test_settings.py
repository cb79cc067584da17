"""Which settings turn tracing on, and where traces go."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.config import Settings, resolve
from policyd.errors import ConfigError
from policyd.observability.logs import Log
from policyd.observability.tracing import switch
from policyd.observability.tracing import traced_requests as requests
from policyd.observability.tracing.traced_requests import route_of, trace_headers
from policyd.observability.tracing.wrappers import Tracing

BASE, TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"


@pytest.mark.parametrize(
    ("flag", "environment", "url"),
    [
        ("http://a:4318", {}, "http://a:4318/v1/traces"),
        ("http://a:4318/v1/traces", {}, "http://a:4318/v1/traces"),
        ("https://a/tenant", {BASE: "http://b"}, "https://a/tenant/v1/traces"),
        ("", {BASE: "http://b:4318/"}, "http://b:4318/v1/traces"),
        ("", {BASE: "http://b", TRACES: "http://c/in"}, "http://c/in"),
        ("http://a", {PROTOCOL: "grpc"}, "http://a/v1/traces"),
        ("", {BASE: "http://b", PROTOCOL: "http/protobuf"}, "http://b/v1/traces"),
    ],
)
def test_the_endpoint_follows_the_specification(
    flag: str, environment: dict[str, str], url: str
) -> None:
    assert switch.endpoint_of(flag, environment) == url


@pytest.mark.parametrize(
    ("written", "meant"),
    [("parent", "parent"), ("0", 0.0), (".5", 0.5), ("1e-05", 0.00001), ("2.5e-4", 0.00025)],
)
def test_a_sample_is_read_as_people_and_helm_write_it(written: str, meant: float | str) -> None:
    assert resolve({"trace_sample": written, "otlp_endpoint": "http://x"}, {}).trace_sample == meant


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"otlp_endpoint": "http://x:4318"}, {}, "--otlp-endpoint needs --trace-sample"),
        ({"trace_sample": "0.5"}, {}, "--trace-sample needs --otlp-endpoint, or the variable OTEL_"),
        ({"trace_sample": "1"}, {BASE: "http://x", PROTOCOL: "grpc"}, "expected http/protobuf, got 'grpc'"),
        ({"trace_sample": "1"}, {BASE: "x:4317"}, "expected a URL like http://collector"),
        ({"trace_sample": "2"}, {}, "expected a number from 0 to 1 like 0.01, or parent"),
        ({"trace_sample": "-1"}, {}, "expected a number from 0 to 1 like 0.01, or parent"),
        ({"trace_sample": "1e-5e"}, {}, "expected a number from 0 to 1 like 0.01, or parent"),
        ({"trace_sample": "1e1"}, {}, "expected a number from 0 to 1 like 0.01, or parent"),
        ({"trace_sample": "nan"}, {}, "expected a number from 0 to 1 like 0.01, or parent"),
        ({"otlp_endpoint": "x:4318"}, {}, "expected a URL like http://collector:4318"),
        ({"otlp_endpoint": "http://u:p@x"}, {}, "expected a URL like http://collector:4318"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(
    flags: dict[str, Any], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        switch.tracing(resolve(flags, {}), Log(io.BytesIO()), environment)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        ({}, {BASE: "http://x:4317", PROTOCOL: "grpc"}),
        ({"trace_sample": "0", "otlp_endpoint": "http://x:4318"}, {}),
        ({"trace_sample": "1", "otlp_endpoint": "http://x:4318"}, {"OTEL_SDK_DISABLED": "True"}),
    ],
)
def test_tracing_is_off_unless_it_is_asked_for(
    flags: dict[str, Any], environment: dict[str, str]
) -> None:
    found = switch.tracing(resolve(flags, {}), Log(io.BytesIO()), environment)
    assert type(found) is Tracing
    assert found.recorder.traces == {}


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "find_spec", lambda name: None)
    settings = Settings(trace_sample=1.0, otlp_endpoint="http://x:4318")
    with pytest.raises(ConfigError, match=r"needs the extra otel: pip install 'policyd\[otel\]'"):
        switch.tracing(settings, Log(io.BytesIO()), {})


@given(
    st.text(max_size=40)
    | st.from_regex(r"/(validate|mutate|policies)(/[a-z{}/]*)?", fullmatch=True)
)
def test_routes_have_few_values(path: str) -> None:
    found = route_of(path)
    assert found in {
        "",
        "/policies/validate",
        *(
            f"/{webhook}{end}"
            for webhook in ("validate", "mutate")
            for end in ("", "/fail", "/ignore", "/policy/{name}")
        ),
    }
    assert not found or found == path or found.endswith("{name}")


def test_two_parents_are_none() -> None:
    """The specification of trace contexts: a request with more than one has no valid one."""
    parent, state = (b"traceparent", b"00-a"), (b"tracestate", b"a=1")
    assert trace_headers([parent, state, (b"tracestate", b"b=2")]) == {
        "traceparent": "00-a",
        "tracestate": "a=1,b=2",
    }
    assert trace_headers([parent, parent, state]) == {}
    assert trace_headers([state]) == {}


def test_a_ratio_samples_about_that_part_and_parents_decide_alone() -> None:
    endpoint = "http://127.0.0.1:1/v1/traces"
    traced = requests.TracedRequests(endpoint, 0.25, Log(io.BytesIO()))
    scope = {
        "type": "http",
        "scheme": "https",
        "headers": [],
        "method": "POST",
        "path": "/validate",
    }
    sampled = sum(traced.sampled(scope) is not None for _ in range(4000))
    assert 800 < sampled < 1200  # six standard deviations from 1000
    for flag, want in ((b"00", False), (b"01", True)):
        header = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-" + flag
        parent = {**scope, "headers": [(b"traceparent", header)]}
        assert all((traced.sampled(parent) is not None) is want for _ in range(50))
    traced.close()
