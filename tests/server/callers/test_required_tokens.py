"""What the settings make of the check of callers, and how many signatures it verifies."""

import io
import subprocess
import sys
from typing import Any

import pytest

from policyd.config import Settings, resolve
from policyd.errors import CallerRefused, ConfigError
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.server.callers import switch
from policyd.server.callers.required_tokens import (
    BURST,
    CAUSES,
    RATE,
    RequiredTokens,
    audiences,
)
from policyd.server.callers.switch import required_tokens
from tests.server import pair
from tests.shared import ROOT
from tests.tokens.issuing import ISSUER, SigningKey, keys, token

FORGED = token(SigningKey("first", number=1))
FILE = {"token_keys": "keys.json", "token_issuer": ISSUER}


def settings(**flags: Any) -> Settings:
    given = {"require_api_server_token": "true", "namespace": "policyd", **FILE, **flags}
    return resolve({name: value for name, value in given.items() if value is not None}, {})


def check(made: RequiredTokens, given: bytes, address: str = "10.0.0.1") -> str:
    """The group, or the cause of the refusal."""
    headers = [(b"host", b"x"), (b"authorization", b"bearer  " + given)]
    try:
        return made.check(headers, "validate", "/validate", address)
    except CallerRefused as error:
        return error.cause


def test_a_flood_of_forged_tokens_is_not_verified() -> None:
    now = [0.0]
    recorder = PrometheusRecorder()
    made = RequiredTokens(settings(), None, recorder, Log(io.BytesIO()), lambda: now[0])
    made._verifier.use(ISSUER, keys(SigningKey()))
    known = token()
    assert check(made, known) == "*"
    causes = [check(made, FORGED) for _ in range(BURST + 5)]
    assert causes == ["signature"] * (BURST - 1) + ["flood"] * 6
    assert check(made, known) == "*", "what is known costs nothing"
    assert check(made, token(jti="new")) == "flood"
    assert check(made, token(jti="new"), "10.0.0.2") == "*", "of another address"
    now[0] += 2 / RATE
    assert [check(made, FORGED) for _ in range(3)] == ["signature"] * 2 + ["flood"]
    assert recorder.unauthenticated == dict.fromkeys(CAUSES, 0), "who answers counts"


ADDRESSES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({}, ("https://policyd.policyd.svc:443",)),
    ({"webhook_service": "hook:8443"}, ("https://hook.policyd.svc:8443",)),
    ({"webhook_url": "https://a.example:8443/"}, ("https://a.example:8443",)),
    ({"token_audience": ("https://a.example", "https://b")}, ("https://a.example", "https://b")),
]


@pytest.mark.parametrize(("flags", "wanted"), ADDRESSES)
def test_tokens_are_for_what_is_registered(flags: dict[str, Any], wanted: tuple[str, ...]) -> None:
    assert audiences(settings(**flags)) == wanted


def test_without_a_namespace_the_address_is_not_known() -> None:
    with pytest.raises(ConfigError, match="needs --token-audience or --namespace"):
        audiences(settings(namespace=None))


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"token_issuer": None}, "--token-keys needs --token-issuer"),
    ({"token_keys": None}, "--require-api-server-token without --token-keys needs --cluster"),
    ({"require_api_server_token": None}, "--token-keys needs --require-api-server-token"),
    (
        {**dict.fromkeys([*FILE, "require_api_server_token"]), "token_audience": ("https://a",)},
        "--token-audience needs --require-api-server-token",
    ),
]


@pytest.mark.parametrize(("flags", "problem"), CONTRADICTIONS)
def test_settings_that_cannot_work(flags: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        settings(**flags)


def test_without_the_library_the_server_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(switch, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'policyd\[tokens\]'"):
        required_tokens(settings(), None, PrometheusRecorder(), Log(io.BytesIO()))


def test_without_the_flag_nothing_is_imported() -> None:
    certificate, key = pair.files()
    code = (
        "import sys; from pathlib import Path; from policyd.config import Settings; "
        "from policyd.server.composition import Server; "
        "from policyd.server.policies.policy_loader import PolicyLoader; "
        f"Server(Settings(tls_cert=Path({certificate!r}), tls_key=Path({key!r})), PolicyLoader()); "
        "print([m for m in sys.modules if m in ('jwt', 'policyd.http.callers') "
        "or m.startswith(('policyd.tokens', 'policyd.server.callers.'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['policyd.server.callers.switch']"
