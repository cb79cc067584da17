"""``policyd denials`` as a person runs it, against real servers and against other programs."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest

from policyd.cli.denials.command import table
from tests.builders.reviews import body
from tests.cli.terminal import SCRIPT, environment, in_terminal, run, start
from tests.forking import Forked
from tests.server.process import Process, until
from tests.server.serve import DENY, command, serving, write_policy
from tests.shared import ROOT
from tests.web_server import QuietHandler, web_server

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason=f"policyd is not installed: no {SCRIPT} (make build installs it)"
)
FORBIDDEN: dict[str, Any] = {"data": {"forbidden": "x"}}
OWNER = {"kind": "ReplicaSet", "name": "web-7d9f", "controller": True}
ROW = {"sequence": 7, "policy": "p"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path, write_policy(tmp_path / "policies", "no-text", DENY).parent) as process:
        yield process


def url_of(server: Process) -> str:
    return f"http://127.0.0.1:{server.admin_port}"


def denials(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("denials", *arguments)


def deny(server: Process, uid: str, **changes: Any) -> None:
    changes = {"object": FORBIDDEN, **changes}
    assert not server.post("/validate", body(uid=uid, **changes))[1]["response"]["allowed"]


def test_a_table_names_what_was_denied(server: Process, tmp_path: Path) -> None:
    where = "--admin", url_of(server)
    metadata = {"generateName": "web-", "ownerReferences": [OWNER]}
    deny(server, "1")
    deny(server, "2", name="", object={**FORBIDDEN, "metadata": metadata}, namespace="team-b")
    done = denials(*where)
    assert (done.returncode, done.stderr) == (0, "")
    head, first, second = done.stdout.splitlines()
    assert head.split() == ["TIME", "EFFECT", "POLICY", "REQUEST", "USER", "MESSAGE"]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(
        rf"{time}  denied  no-text  CREATE v1/configmaps shop/settings  ann   no TEXT", first
    )
    assert second.endswith("team-b/web-*   ann   no TEXT (owner: ReplicaSet/web-7d9f)")
    rows = json.loads(denials(*where, "--format", "json").stdout)["denials"]
    assert [row["uid"] for row in rows] == ["1", "2"]
    for choice, want in (
        (("-n", "team-b"), ["2"]),
        (("--limit", "1"), ["2"]),
        (("--policy", "no-text", "--namespace", "shop"), ["1"]),
    ):
        found = json.loads(denials(*where, "--format", "json", *choice).stdout)["denials"]
        assert [row["uid"] for row in found] == want
    done = denials(*where, "--policy", "other")
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(
        rf"nothing was denied by policy other since {time}; each replica has its own denials\n",
        done.stderr,
    )
    shown = in_terminal("denials", *where, cwd=tmp_path, columns=100)
    assert "\x1b[31mdenied" in shown
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 100


HOSTILE = {
    **ROW,
    "time": "2026-11-23T18:04:36.123Z",
    "event": "error",
    "effect": "denied",
    "operation": "CREATE",
    "resource": "v1/pods",
    "namespace": "shop",
    "name": "\x1b[2Jx\ny",
    "message": "a\nb\x07",
    "dryRun": True,
}
HIDDEN = {**ROW, "event": "would_deny", "effect": "admitted", "rollout": "enforce is empty"}


def test_no_cell_moves_the_cursor_and_each_effect_is_named() -> None:
    line = click.unstyle(table([HOSTILE]).row(HOSTILE))
    assert line.isprintable()
    assert "shop/ [2Jx y" in line and line.endswith("error: a b  (dry run)")
    line = click.unstyle(table([HIDDEN]).row(HIDDEN))
    assert "  would deny  p " in line and line.endswith("(not enforced: enforce is empty)")


@contextmanager
def following(out: Path, *arguments: str) -> Iterator["Forked | subprocess.Popen[bytes]"]:
    with out.open("wb") as stream:
        streams = (0, stream.fileno(), stream.fileno())
        child = start(
            "denials", "-f", *arguments, cwd=ROOT, streams=streams, variables=environment()
        )
        try:
            yield child
        finally:
            child.kill()
            child.wait()


def test_following_goes_on_after_a_restart_and_ctrl_c_ends_it(
    server: Process, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    deny(server, "before")
    with following(out, "--admin", url_of(server), "--format", "json") as child:

        def rows() -> list[str]:
            lines = out.read_text().splitlines()
            return [json.loads(line)["uid"] for line in lines if line.startswith("{")]

        def notes() -> list[str]:
            return [line for line in out.read_text().splitlines() if line.startswith("note")]

        until(lambda: rows() == ["before"], "the first page")
        for number in range(3):
            deny(server, str(number))
        until(lambda: rows() == ["before", "0", "1", "2"], "the denials")
        port = server.admin_port
        server.kill()
        (lost,) = until(notes, "a note")
        assert lost.endswith("Connection refused; trying again")
        flags = command(tmp_path / "policies", "--admin-bind", f"127.0.0.1:{port}")
        again = Process(flags, tmp_path / "again.log")
        try:
            until(lambda: len(notes()) == 3, "notes about the new server")
            assert notes()[1:] == [
                "note: the server answers again",
                "note: denials may be missing here: the server has restarted, or had too many",
            ]
            deny(again, "after")
            until(lambda: rows()[-1] == "after", "the denial")
            assert rows() == ["before", "0", "1", "2", "after"]
            child.send_signal(signal.SIGINT)
            assert child.wait(300) == 0
            assert "Traceback" not in out.read_text()
        finally:
            again.kill()


def test_what_was_too_much_between_two_looks_is_said(server: Process, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with following(out, "--admin", url_of(server), "--policy", "no-text") as child:
        until(lambda: "MESSAGE" in out.read_text(), "the head of the table")
        child.send_signal(signal.SIGSTOP)
        connection = server.connect()
        for _ in range(210):
            connection.request("POST", "/validate", body(object=FORBIDDEN))
            connection.getresponse().read()
        connection.close()
        child.send_signal(signal.SIGCONT)
        until(lambda: "note: denials may be missing here" in out.read_text(), "a note")
        until(lambda: out.read_text().count("no TEXT") == 200, "the last ones")


class Stranger(QuietHandler):
    """What is asked for is answered with the status and text in the path."""

    def do_GET(self) -> None:
        _, status, text, *_ = self.path.split("/")
        self.send_response(int(status))
        if status == "302":
            self.send_header("Location", "/200/elsewhere/")
        self.end_headers()
        self.wfile.write(text.encode())


REFUSALS = [
    ("/401/x", "answered 401\n  hint: give --token-file"),
    ("/403/x", "answered 403\n  hint: connect from its own machine (kubectl port-forward)"),
    ("/404/x", "answered 404\n  hint: this is another program, or an older policyd"),
    ("/500/x", "answered 500\n  hint: is policyd serve running there"),
    ("/302/x", "answered 302\n  hint: is policyd serve running there"),
    ("/200/hello", "this is not policyd\n  hint: is policyd serve running there"),
    ("/200/[]", "this is not policyd\n"),
    ('/200/{"denials":[{}],"next":1,"completeSince":1}', "this is not policyd\n"),
]


@pytest.mark.parametrize(("path", "message"), REFUSALS, ids=[each for each, _ in REFUSALS])
def test_a_refusal_says_what_to_do(path: str, message: str) -> None:
    with web_server(Stranger) as url:
        for follows in ((), ("-f",)):
            done = denials("--admin", url + path, *follows)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"Error: --admin {url}")
            assert message in done.stderr


def test_what_cannot_be_reached_or_read_is_named(tmp_path: Path) -> None:
    done = denials("--admin", "http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--admin http://127.0.0.1:9/denials: Connection refused" in done.stderr
    assert "kubectl port-forward deploy/policyd 8080 -n policyd" in done.stderr
    file = tmp_path / "token"
    done = denials("--token-file", str(file))
    assert (done.returncode, "token: No such file or directory" in done.stderr) == (2, True)
    file.write_text("two\nlines")
    done = denials("--token-file", str(file))
    assert (done.returncode, "token: expected a token" in done.stderr) == (2, True)
    assert "lines" not in done.stderr


def test_a_token_opens_what_is_guarded(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policies", "no-text", DENY).parent
    file = tmp_path / "token"
    file.write_text("secret\n")
    with serving(tmp_path, folder, "--admin-token-file", str(file)) as server:
        deny(server, "1")
        done = denials("--admin", url_of(server))
        assert (done.returncode, "hint: give --token-file" in done.stderr) == (2, True)
        done = denials("--admin", url_of(server), "--token-file", str(file))
        assert (done.returncode, done.stdout.count("no TEXT")) == (0, 1)
