"""The script ``policyd`` as a person runs it: in a terminal, or with pipes. No tests here."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from tests import forking
from tests.forking import Forked, Streams
from tests.shared import ROOT

SCRIPT = Path(sys.executable).with_name("policyd")
# Seconds until a command counts as hanging.
PATIENCE = 300


def environment(**more: str) -> dict[str, str]:
    """Nothing of the tests' own environment that could change what is written."""
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TERM": "xterm-256color", **more}


def start(
    *arguments: str, cwd: Path, streams: Streams, variables: Mapping[str, str]
) -> "Forked | subprocess.Popen[bytes]":
    """Start the script with these standard streams."""
    command = ["policyd", *arguments]
    if forking.worthwhile(variables):
        return forking.popen(command, cwd, variables, streams, forking.COMMANDS)
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        [SCRIPT, *arguments], cwd=cwd, env=variables, stdin=stdin, stdout=stdout, stderr=stderr
    )


def run(
    *arguments: str, cwd: Path = ROOT, text: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the script to its end, with no terminal."""
    with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
        stdin.write(text.encode())
        stdin.seek(0)
        streams = (stdin.fileno(), stdout.fileno(), stderr.fileno())
        status = start(*arguments, cwd=cwd, streams=streams, variables=environment(**more)).wait(
            PATIENCE
        )
        for each in (stdout, stderr):
            each.seek(0)
        said = [each.read().decode(errors="replace") for each in (stdout, stderr)]
        return subprocess.CompletedProcess(["policyd", *arguments], status, *said)


def in_terminal(*arguments: str, cwd: Path, columns: int = 0, **more: str) -> str:
    """What a person would see. 0 ``columns``: the terminal does not know its width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = (follower, follower, follower)
    process = start(*arguments, cwd=cwd, streams=streams, variables=environment(**more))
    os.close(follower)
    seen = b""
    try:
        while True:
            ready, _, _ = select.select([leader], [], [], PATIENCE)
            assert ready, seen
            seen += os.read(leader, 65536)
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(leader)
        process.wait(PATIENCE)
    return seen.decode()
