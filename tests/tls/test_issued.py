"""Certificates from a process of its own, and what its failures become."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.tls.certificates import Certificates
from policyd.tls.issued import IssuingError, SelfSigned, issue
from policyd.tls.pem import KeyPair, validity
from policyd.tls.verifying import refusal

NAMES = ("policyd.policyd.svc",)


def test_an_authority_and_then_a_leaf_of_it() -> None:
    first = issue(time.time(), 3600.0, NAMES, None)
    assert first.authority is not None
    assert first.leaf is not None
    assert refusal(first.authority.certificate, first.leaf, NAMES) == ""
    second = issue(time.time(), 3600.0, NAMES, first.authority)
    assert second.authority is None
    assert second.leaf is not None
    assert second.leaf != first.leaf
    assert refusal(first.authority.certificate, second.leaf, NAMES) == ""
    third = issue(time.time(), 3600.0, (), None)
    assert third.authority is not None
    assert third.leaf is None


def test_this_process_does_not_load_what_issues() -> None:
    script = (
        "import policyd.controllers.certificates.managed, sys; print('cryptography' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_failure_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = KeyPair(b"damaged", b"damaged")
    with pytest.raises(IssuingError, match="cannot issue certificates: status 1: ValueError"):
        issue(time.time(), 3600.0, NAMES, damaged)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(IssuingError, match="cannot issue certificates: No such file"):
        issue(time.time(), 3600.0, NAMES, None)


def test_it_is_issued_once_and_for_the_names() -> None:
    source = SelfSigned(["host.example"])
    pair = source.read()
    assert pair is not None and source.read() is pair
    begins, ends = validity(pair.certificate)
    assert ends - begins > 360 * 86_400
    assert SelfSigned().read() != pair


def test_a_server_without_a_source_issues_its_own() -> None:
    assert Certificates(Settings(self_signed=True)).served


def test_a_process_that_fails_or_cannot_start_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="cannot issue a certificate: status 1: ValueError"):
        SelfSigned(["höst"]).read()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with pytest.raises(
        ConfigError, match="--self-signed: cannot issue a certificate: No such file"
    ):
        SelfSigned()
