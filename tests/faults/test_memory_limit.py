"""A Pod of 128 MiB: large bodies of many clients end as 503s, and never by the kernel."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.reviews import body
from tests.faults.asking import ask
from tests.faults.open_load import OpenLoad
from tests.server.announcing import whole
from tests.server.process import Process, until
from tests.server.serve import DENY, command, write_policy

LIMIT = 128 * 2**20
# Those of docs/operate/overload.md for this limit.
FLAGS = ["--max-in-flight-bytes", "8MiB", "--max-body-bytes", "2MiB", "--max-connections", "64"]
CLIENTS = 64
GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
)


@contextmanager
def limited() -> Iterator[tuple[Path, list[str]]]:
    """A control group with this limit, and a prefix that runs a command in it; skips where there
    can be none.
    """
    for root, limit in GROUPS:
        folder = root / f"policyd-test-{os.getpid()}"
        if not (root / "cgroup.procs").exists():
            continue
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / limit).write_text(str(LIMIT))
            yield folder, ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
        finally:
            until(partial(empty, folder), "the end of the process")
            folder.rmdir()
        return
    pytest.skip("needs a control group for memory, and the right to make one")


def empty(group: Path) -> bool:
    return not (group / "cgroup.procs").read_text()


def large() -> bytes:
    """A megabyte in short strings, which take several times as much when they are decoded."""
    held: JSONObject = {"list": ["abcdefghijkl"] * 70_000}
    return body(object={"apiVersion": "v1", "kind": "ConfigMap", "data": held})


def test_large_bodies_in_a_small_pod(tmp_path: Path) -> None:
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with (
        limited() as (group, prefix),
        Process([*prefix, *command(policies, *FLAGS)], tmp_path / "server.log") as server,
    ):
        assert str(server.child.pid) in (group / "cgroup.procs").read_text()
        load = OpenLoad(server.port, 20)
        request = whole("/validate?timeout=10s", large())
        clients = [
            load.client(f"127.0.0.{2 + number}", request, CLIENTS // 4) for number in range(4)
        ]
        for client in clients:
            client.rate = 100.0
        load.offer(4.0)
        load.settle(15)
        answers = load.take()
        load.close()
        assert server.child.poll() is None, "killed"
        assert answers.good and answers.shed
        assert (answers.others, answers.unanswered, answers.without_retry) == ([], 0, 0)
        assert ask(server, "/validate", body()).response["allowed"]
        assert server.get("/readyz") == (200, "ok")
        print(f"{len(answers.good)} evaluated, {len(answers.shed)} shed, {used(group)} MiB")


def used(group: Path) -> int:
    """The most memory that the control group has used."""
    names = ("memory.peak", "memory.max_usage_in_bytes")
    file = next(group / name for name in names if (group / name).exists())
    return int(file.read_text()) >> 20
