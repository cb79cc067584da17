"""The script ``policyd`` as a person runs it: in a terminal, or with pipes. No tests here."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
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


# Its input becomes the terminal that controls it, so that Ctrl-C is a signal.
_IN_TERMINAL = """
import fcntl, runpy, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("policyd", run_name="__main__")
"""


class Interactive:
    """A command whose output is read while it runs: in a pipe, or in a terminal of its own."""

    def __init__(
        self, *arguments: str, terminal: bool = True, variables: Mapping[str, str]
    ) -> None:
        self._reader, writer = pty.openpty() if terminal else os.pipe()
        command = ["-c", _IN_TERMINAL, *arguments] if terminal else ["policyd", *arguments]
        with Path(os.devnull).open("rb") as nothing:
            streams = (writer if terminal else nothing.fileno(), writer, writer)
            self.process = forking.popen(
                command, ROOT, {**os.environ, **variables}, streams, forking.COMMANDS, session=True
            )
        os.close(writer)
        self._seen = ""

    def until(self, text: str, seconds: float = PATIENCE) -> str:
        """What is written up to this text and with it, since the last time."""
        end = time.monotonic() + seconds
        while text not in self._seen:
            ready, _, _ = select.select([self._reader], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self._seen!r}"
            more = os.read(self._reader, 4096)
            assert more, f"it ended: {self._seen!r}"
            self._seen += more.decode()
        before, _, self._seen = self._seen.partition(text)
        return before + text

    def shows(self, text: str, seconds: float) -> bool:
        """Whether this text is written in time."""
        try:
            self._seen = self.until(text, seconds) + self._seen
        except AssertionError:
            return False
        return True

    def type(self, text: str) -> None:
        """Write to the terminal."""
        os.write(self._reader, text.encode())

    def close(self) -> None:
        """End it, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._reader)
