"""Asks the Go program in tests/oracle, which it builds if there is a Go to build it with."""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

from tests.shared import ROOT

SOURCE = ROOT / "tests" / "oracle"
BUILT = ROOT / "build" / "oracle"
# Names a program that is there already.
VARIABLE = "POLICYD_ORACLE"
JSON = dict[str, Any]
MEMORY = 3 << 30
SECONDS = 5.0


class Unavailable(Exception):
    """There is no oracle on this machine; the text says why."""


@functools.cache
def program() -> Path:
    """The oracle's path; built once (Go's own cache makes a second build quick)."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    go = shutil.which("go")
    if go is None:
        raise Unavailable(f"no Go to build tests/oracle with (or set {VARIABLE})")
    made = subprocess.run(
        [go, "build", "-trimpath", "-o", str(BUILT), "."],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise Unavailable(f"tests/oracle does not build: {made.stderr.strip()[-300:]}")
    return BUILT


class Conversation:
    """A running oracle. What it cannot answer within its memory and time gets the stage ``died``: cel-go
    builds ``lists.range(1000000000000)`` before it counts what that costs.
    """

    def __init__(self) -> None:
        self._process = self._start()

    def ask(self, questions: Iterable[JSON]) -> Iterator[JSON]:
        """The answers, in order."""
        for question in questions:
            yield self._answer(json.dumps(question).encode() + b"\n")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _start(self) -> "subprocess.Popen[bytes]":
        limited = ["prlimit", f"--as={MEMORY}", str(program())]
        return subprocess.Popen(
            limited,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "GOMAXPROCS": "1", "GOGC": "400"},
        )

    def _answer(self, line: bytes) -> JSON:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        watch = Timer(SECONDS, process.kill)
        watch.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            found = process.stdout.readline()
        except BrokenPipeError:
            found = b""
        finally:
            watch.cancel()
        if found:
            return dict(json.loads(found))
        self.close()
        self._process = self._start()
        return {"stage": "died"}


def ask(questions: Iterable[JSON]) -> list[JSON]:
    """The answers to questions, in order."""
    conversation = Conversation()
    try:
        return list(conversation.ask(questions))
    finally:
        conversation.close()
