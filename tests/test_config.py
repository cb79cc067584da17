"""Settings: parsing of strings, and precedence of sources."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from policyd import units
from policyd.config import RESERVED, Settings, resolve
from policyd.errors import ConfigError
from policyd.units import Address

DURATIONS = [
    ("10s", 10.0),
    ("500ms", 0.5),
    ("1m30s", 90.0),
    ("1.5h", 5400.0),
    ("100us", 1e-4),
    ("100µs", 1e-4),
    ("7", 7.0),
    ("0.25", 0.25),
    ("0s", 0.0),
    (".5s", 0.5),
]


@pytest.mark.parametrize(("text", "seconds"), DURATIONS)
def test_duration(text: str, seconds: float) -> None:
    assert units.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "10 s", "1d", "-1s", "1s2", "١s", "1e3s"])
def test_what_is_no_go_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a duration like"):
        units.duration(text)


SIZES = [
    ("1", 1),
    ("16MiB", 2**24),
    ("16Mi", 2**24),
    ("2M", 2_000_000),
    ("3 KiB", 3072),
    ("1g", 10**9),
]


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_size(text: str, size: int) -> None:
    assert units.size(text) == size


ADDRESSES = [
    ("0.0.0.0:8443", Address("0.0.0.0", 8443)),
    (":0", Address("0.0.0.0", 0)),
    ("[::]:8443", Address("::", 8443)),
    ("localhost:1", Address("localhost", 1)),
]


@pytest.mark.parametrize(("text", "address"), ADDRESSES)
def test_address(text: str, address: Address) -> None:
    assert units.address(text) == address


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"bind": "8443"}, "--bind: expected HOST:PORT like"),
    ({"bind": "::1:8443"}, "--bind: expected HOST:PORT like"),
    ({"bind": "h:70000"}, "--bind: expected a port of at most 65535"),
    ({"timeout": "soon"}, "--timeout: expected a duration like 10s, 1m30s or 500ms, got 'soon'"),
    ({"timeout": "0s"}, "--timeout: expected a duration above zero"),
    ({"max_in_flight": "0"}, "--max-in-flight: expected a whole number above zero"),
    ({"max_body_bytes": "much"}, "--max-body-bytes: expected a size like 16MiB"),
    ({"http2": "maybe"}, "--http2: expected true or false"),
    ({"log_format": "xml"}, "--log-format: expected json or text"),
    ({"self_signed": True, "tls_cert": "a"}, "--self-signed cannot be used with"),
    ({"tls_cert": "a"}, "--tls-cert and --tls-key must be set together"),
    ({"client_name": ("x",)}, "--client-name needs --client-ca"),
]


@pytest.mark.parametrize(("flags", "message"), WRONG)
def test_wrong_setting_says_where_and_what(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(flags, {})
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_flag_over_environment_over_file_over_default() -> None:
    file: dict[str, object] = {"timeout": "1s", "maxInFlight": 1, "grace": 1, "http2": True}
    environment = {"POLICYD_TIMEOUT": "2s", "POLICYD_MAX_IN_FLIGHT": "2", "POLICYD_HTTP2": ""}
    settings = resolve({"timeout": "3s", "grace": None}, environment, file, "f.yaml")
    assert (settings.timeout, settings.max_in_flight, settings.grace) == (3.0, 2, 1.0)
    assert settings.http2 is True
    assert settings.keep_alive == 120.0


def test_lists_come_from_flags_files_and_commas() -> None:
    assert resolve({"policies": ("a", "b")}, {}).policies == (Path("a"), Path("b"))
    assert resolve({"policies": ()}, {"POLICYD_POLICIES": "a,b"}).policies == (Path("a"), Path("b"))
    assert resolve({}, {}, {"policies": ["a"]}, "f").policies == (Path("a"),)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"timeOut": "1s", "time-out": "2s"}, "'timeOut' and 'time-out' are the same setting"),
        ({"tiemout": "1s"}, "f.yaml: unknown key 'tiemout'; expected one of adminBind, adminHost"),
        ({"timeout": ["1s"]}, "f.yaml: timeout: expected a string or a number"),
        ({"policies": 7}, "f.yaml: policies: expected a list, got 7"),
    ],
)
def test_wrong_file_is_an_error(document: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({}, {}, document, "f.yaml")
    assert message in str(caught.value)


def test_what_kubernetes_sets_for_a_service_is_ignored() -> None:
    environment = {"POLICYD_PORT": "tcp://10.0.0.1:443", "POLICYD_SERVICE_HOST": "10.0.0.1"}
    assert resolve({}, environment) == Settings()
    assert RESERVED.isdisjoint(each.name for each in fields(Settings))


def test_every_setting_says_what_it_is() -> None:
    for each in fields(Settings):
        assert len(each.metadata["doc"]) > 20, each.name
