"""The certificate of --self-signed comes from a process of its own."""

import sys
from pathlib import Path

import pytest

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.tls.certificates import Certificates, SelfSigned
from policyd.tls.pem import validity


def test_it_is_issued_once_and_for_the_names() -> None:
    source = SelfSigned(["host.example"])
    pair = source.read()
    assert source.read() is pair
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
