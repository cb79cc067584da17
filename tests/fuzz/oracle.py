"""Asks the Go program in tests/oracle, which it builds if there is a Go to build it with.

There is one program for each version of Kubernetes; a question's ``version`` names it, and without
one that of the run (``tests/kubernetes.py``) is asked.
"""

import functools
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Timer

from policyd.json_types import JSONObject
from tests import kubernetes
from tests.shared import ROOT

SOURCE = ROOT / "tests" / "oracle"
BUILT = ROOT / "build"
# Names a folder of programs that are there already, such as oracle-1.37.
VARIABLE = "POLICYD_ORACLE"
MEMORY = 3 << 30
SECONDS = 5.0


@functools.cache
def program(version: str) -> Path:
    """The path of a version's oracle, built once; ``kubernetes.Unavailable`` where that fails."""
    name = f"oracle-{version}"
    if given := os.environ.get(VARIABLE):
        return Path(given) / name
    kubernetes.build(SOURCE, version, BUILT / name, ".")
    return BUILT / name


class Conversation:
    """A running oracle of one version. What it cannot answer within its memory and time gets the stage ``died``: cel-go
    builds ``lists.range(1000000000000)`` before it counts what that costs.
    """

    def __init__(self, version: str) -> None:
        self._program = str(program(version))
        self._process = self._start()

    def ask(self, questions: Iterable[JSONObject]) -> Iterator[JSONObject]:
        """The answers, in order."""
        for question in questions:
            yield self._answer(json.dumps(question).encode() + b"\n")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _start(self) -> "subprocess.Popen[bytes]":
        limited = ["prlimit", f"--as={MEMORY}", self._program]
        return subprocess.Popen(
            limited,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "GOMAXPROCS": "1", "GOGC": "400"},
        )

    def _answer(self, line: bytes) -> JSONObject:
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


def ask(questions: Iterable[JSONObject]) -> list[JSONObject]:
    """The answers to questions, in order."""
    conversations: dict[str, Conversation] = {}
    answers: list[JSONObject] = []
    try:
        for question in questions:
            version = question.get("version") or kubernetes.chosen()
            # One of an older version than any oracle's is put to the newest, which knows them all.
            known = version in kubernetes.RELEASES or version in kubernetes.AHEAD
            of = version if known else kubernetes.NEWEST
            if of not in conversations:
                conversations[of] = Conversation(of)
            answers += conversations[of].ask([question])
    finally:
        for each in conversations.values():
            each.close()
    return answers
