"""Creates the tracing that the settings request. Without ``--trace-sample`` nothing is wrapped, so
that tracing costs nothing, and no module of OpenTelemetry is imported.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.observability.logs import Log
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.observability.tracing.wrappers import Tracing

_PATH = "/v1/traces"
# Variables of the OpenTelemetry specification; its exporter reads the others.
_TRACES_ENDPOINT, _ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_DISABLED = "OTEL_SDK_DISABLED"


def tracing(settings: Settings, log: Log, environment: Mapping[str, str] = os.environ) -> Tracing:
    """Tracing for a server. Raises ConfigError if it is requested but cannot work."""
    sample = settings.trace_sample
    if not sample or environment.get(_DISABLED, "").strip().lower() == "true":
        return Tracing(PrometheusRecorder(log))
    endpoint = endpoint_of(settings.otlp_endpoint, environment)
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        raise ConfigError("--trace-sample needs the extra otel: pip install 'policyd[otel]'")
    from policyd.observability.tracing.traced_requests import TracedRequests

    return TracedRequests(endpoint, None if sample == "parent" else float(sample), log)


def endpoint_of(flag: str, environment: Mapping[str, str]) -> str:
    """The URL for traces: from the flag, else from the standard variables."""
    if flag:
        return _with_path(flag)
    endpoint = environment.get(_TRACES_ENDPOINT, "")  # unchanged, as the specification requires
    if not endpoint and environment.get(_ENDPOINT):
        endpoint = _with_path(environment[_ENDPOINT])
    if not endpoint:
        raise ConfigError(f"--trace-sample needs --otlp-endpoint, or the variable {_ENDPOINT}")
    protocol = next(filter(None, map(environment.get, _PROTOCOLS)), _PROTOCOL)
    if protocol != _PROTOCOL:
        raise ConfigError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL: expected {_PROTOCOL}, got {protocol!r}: "
            "set --otlp-endpoint to the collector's port for OTLP over HTTP"
        )
    if not endpoint.startswith(("http://", "https://")):
        raise ConfigError(f"{_ENDPOINT}: expected a URL like http://collector:4318")
    return endpoint


def _with_path(url: str) -> str:
    url = url.rstrip("/")
    return url if url.endswith(_PATH) else url + _PATH
