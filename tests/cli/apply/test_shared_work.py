"""Results that several processes make are those of one, whatever happens to a process."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd.cli.apply import shared_work
from policyd.cli.apply.command import command
from policyd.cli.apply.shared_work import shared
from tests.builders.policies import VALIDATION, policy

HERE = os.getpid()


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_work, "MANY", 2)
    monkeypatch.setattr(shared_work, "_PIECE", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


def test_results_are_in_order_and_made_elsewhere() -> None:
    found = list(shared(lambda item: (item, os.getpid() != HERE), range(7)))
    assert found == [(item, True) for item in range(7)]


@pytest.mark.parametrize("cores", [1, 2])
def test_a_stream_is_read_a_little_ahead(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    taken: list[int] = []

    def stream() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    found = shared(lambda item: item, stream())
    assert next(found) == 0
    assert len(taken) <= 2 * (shared_work._AHEAD * cores + 1)
    assert list(found) == list(range(1, 100))


def test_errors_are_raised_here() -> None:
    class Unsendable(Exception):
        def __init__(self, one: int, other: int) -> None:
            super().__init__(f"{one} {other}")

    def work(item: int) -> int:
        if item == 3:
            raise Unsendable(item, os.getpid())
        return item

    found: list[int] = []
    with pytest.raises(Unsendable, match=f"3 {HERE}"):
        found.extend(shared(work, range(7)))


def test_what_a_killed_process_leaves_is_done_here() -> None:
    def work(item: int) -> int:
        if os.getpid() != HERE and item == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert list(shared(work, range(9))) == list(range(9))


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit"])
def test_apply_prints_the_same(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policies, manifests = tmp_path / "policy.yaml", tmp_path / "pods.yaml"
    rule = {**VALIDATION, "expression": "object.metadata.name != 'pod-3'", "message": "not three"}
    policies.write_text(yaml.safe_dump(policy("three", validations=[rule])))
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": {}}
        for number in range(7)
    ]
    manifests.write_text(yaml.safe_dump_all(pods))
    arguments = ["-p", str(policies), str(manifests), "--format", form]

    def printed() -> str:
        lines = CliRunner().invoke(command, arguments).output.splitlines()
        return "\n".join(line for line in lines if "time" not in line)

    several = printed()
    assert "not three" in several
    monkeypatch.setattr(shared_work, "MANY", 100)
    assert several == printed()
