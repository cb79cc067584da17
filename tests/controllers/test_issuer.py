"""Certificates from a process of its own, and what its failures become."""

import asyncio
import subprocess
import sys
import time

import pytest

from policyd.controllers.certificates.issuer import IssuingError, issue
from policyd.tls.pem import KeyPair
from policyd.tls.verifying import refusal

NAMES = ("policyd.policyd.svc",)


def test_an_authority_and_then_a_leaf_of_it() -> None:
    first = asyncio.run(issue(time.time(), 3600.0, NAMES, None))
    assert first.authority is not None
    assert first.leaf is not None
    assert refusal(first.authority.certificate, first.leaf, NAMES) == ""
    second = asyncio.run(issue(time.time(), 3600.0, NAMES, first.authority))
    assert second.authority is None
    assert second.leaf is not None
    assert second.leaf != first.leaf
    assert refusal(first.authority.certificate, second.leaf, NAMES) == ""
    third = asyncio.run(issue(time.time(), 3600.0, (), None))
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
        asyncio.run(issue(time.time(), 3600.0, NAMES, damaged))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(IssuingError, match="cannot issue certificates: FileNotFoundError"):
        asyncio.run(issue(time.time(), 3600.0, NAMES, None))
