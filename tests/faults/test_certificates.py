"""Certificates that are wrong, expired or unreadable, at start and while the server runs."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.faults.asking import ask
from tests.server.process import Process, until
from tests.server.serve import DENY, command, write_policy
from tests.shared import ROOT
from tests.tls.pki import Issued, issue, put


def files(folder: Path, issued: Issued, key: Issued | None = None) -> list[str]:
    """Flags of a serving certificate, whose key may be that of another."""
    certificate, _ = issued.write(folder)
    _, private = (key or issued).write(folder)
    put(folder / "tls.crt", certificate.read_bytes())
    put(folder / "tls.key", private.read_bytes())
    return ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key")]


def with_files(folder: Path, flags: list[str]) -> list[str]:
    """The command with these files instead of those of all tests."""
    policies = write_policy(folder / "policies", "p", DENY).parent
    return command(policies, *flags)  # the last ones count


def test_a_start_with_another_key_ends_and_says_why(tmp_path: Path) -> None:
    flags = files(tmp_path, issue("policyd"), key=issue("other"))
    done = subprocess.run(
        with_files(tmp_path, flags), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "not a usable pair of certificate and key" in done.stderr


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "another key"])
def test_a_bad_pair_leaves_the_former_one_in_use(tmp_path: Path, damage: str) -> None:
    flags = files(tmp_path, issue("policyd"))
    with Process(with_files(tmp_path, flags), tmp_path / "server.log") as server:
        good = server.metric("policyd_certificate_expiry_timestamp_seconds")
        key = tmp_path / "tls.key"
        if damage == "another key":
            _, other = issue("other").write(tmp_path)
            put(key, other.read_bytes())
        elif damage == "gone":
            key.unlink()
        else:
            put(key, key.read_bytes()[:60] if damage == "cut" else b"")
        said = until(lambda: server.lines("certificate"), "what the log says")
        assert said[0]["level"] == "error"
        assert said[0]["message"].endswith("; the previous one stays in use")
        assert ask(server, "/validate", body()).response["allowed"]
        assert server.metric("policyd_certificate_expiry_timestamp_seconds") == good
        assert server.get("/readyz") == (200, "ok")
        files(tmp_path, issue("policyd", days=9))
        until(
            lambda: server.metric("policyd_certificate_expiry_timestamp_seconds") > good,
            "the next certificate",
        )
        assert ask(server, "/validate", body()).response["allowed"]


def test_an_expired_certificate_is_served_and_reported(tmp_path: Path) -> None:
    """API servers refuse it; a server that ended would help nobody and could not be mended."""
    flags = files(tmp_path, issue("policyd", days=-1))
    with Process(with_files(tmp_path, flags), tmp_path / "server.log") as server:
        said = until(lambda: server.lines("certificate"), "what the log says")
        assert said[0]["level"] == "error"
        assert "the serving certificate expired at" in said[0]["message"]
        assert server.get("/readyz") == (200, "ok")
        assert ask(server, "/validate", body()).response["allowed"]  # a client that does not look
        files(tmp_path, issue("policyd"))
        until(lambda: "new connections" in str(server.lines("certificate")), "the next one")


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv, to be no root")
def test_a_key_without_the_right_to_read_leaves_the_former_one_in_use(tmp_path: Path) -> None:
    flags = files(tmp_path, issue("policyd"))
    bounded = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    with Process([*bounded, *with_files(tmp_path, flags)], tmp_path / "server.log") as server:
        (tmp_path / "tls.key").chmod(0)
        said = until(lambda: server.lines("certificate"), "what the log says")
        assert "Permission denied" in said[0]["message"]
        assert ask(server, "/validate", body()).response["allowed"]
        files(tmp_path, issue("policyd"))
        until(lambda: "new connections" in str(server.lines("certificate")), "the next one")
