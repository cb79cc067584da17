"""The process that checks an edit: what it takes and breaks is not the server's."""

import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter_ns

import pytest

from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import flat
from policyd.policy.kinds.wanted_definitions import WantedDefinition
from policyd.server.edits import child, process
from policyd.server.edits.model import EditFindings, InUse, PolicyEdit, TooLate, written
from policyd.server.edits.process import Broken, NotStarted, ProcessLimits, check_apart, left_in_pod
from policyd.versions import NEWEST
from tests.builders.config_maps import BROKEN, forbidding, policy_map
from tests.builders.policies import demand, policy, rule

PLENTY = 60.0  # seconds
UNLIMITED = ProcessLimits(nullcontext(), left=lambda: None)
HOSTILE = "tests.server.edits.hostile"


def apart(
    new: JSONObject, seconds: float = PLENTY, fetch: process.FetchForEdit | None = None
) -> EditFindings:
    name = f"configmap/{new['metadata']['name']}"
    made = PolicyEdit(
        name, None, flat(new), InUse([], {}, NEWEST, False), definitions=fetch is not None
    )
    deadline = perf_counter_ns() + int(seconds * 1e9)
    return check_apart(made, deadline, fetch, UNLIMITED)


def children() -> list[str]:
    listed = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    )
    return [each for each in listed.stdout.splitlines() if process.CHILD in each]


def test_the_process_finds_what_is_wrong_and_asks_for_definitions() -> None:
    asked: list[WantedDefinition] = []

    def fetch(wanted: frozenset[WantedDefinition], most: int) -> Iterable[JSONObject]:
        asked.extend(wanted)
        return ()

    made = policy("w", rule("widgets", group="example.org"), validations=[demand("true", "never")])
    result = apart(policy_map("c", p=made, q=BROKEN), fetch=fetch)
    assert (result.errors, result.elsewhere) == (1, 0)
    assert result.shown[0].startswith("configmap/c/q.yaml:1:")
    assert asked == [WantedDefinition("example.org", "widgets")]
    assert children() == []


def test_an_edit_that_names_too_many_custom_resources_is_broken() -> None:
    made = policy("w", rule("widgets", group="example.org"), validations=[demand("true", "never")])
    with pytest.raises(Broken, match="more than 100 unknown custom resources"):
        apart(policy_map("c", p=made), fetch=lambda wanted, most: None)


BREAKS: list[tuple[str, type[Exception], str]] = [
    ("killed", Broken, "its process was killed by SIGSEGV"),
    ("ended", Broken, "its process ended with status 3"),
    ("greedy", Broken, "its process ended with status 1"),
    ("flooding", Broken, "its answer is too long"),
    ("garbage", Broken, "its answer is malformed"),
    ("strange", Broken, "its answer is malformed"),
]


@pytest.mark.parametrize(("what", "kind", "message"), BREAKS)
def test_a_process_that_breaks_is_the_fault_of_the_edit(
    what: str, kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CHILD", HOSTILE)
    with pytest.raises(kind, match=message):
        apart(policy_map(what))
    assert children() == []


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (TooLate(), {"late": True}),
        (MemoryError("SECRET"), {"failed": "MemoryError", "trace": ""}),
        (KeyError("SECRET"), {"failed": "KeyError"}),
    ],
)
def test_what_a_check_raises_is_told_without_its_message(
    raised: Exception, message: JSONObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> EditFindings:
        raise raised

    monkeypatch.setattr(child, "check", fail)
    made = PolicyEdit("configmap/a", None, None, InUse([], {}, NEWEST, False))
    out = io.BytesIO()
    child.answer(io.BytesIO(b"".join(written(made))), out, PLENTY)
    said = json.loads(out.getvalue())
    assert said.items() >= message.items()
    assert "SECRET" not in out.getvalue().decode()
    assert bool(said.get("trace")) is isinstance(raised, KeyError)


def test_a_process_that_hangs_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CHILD", HOSTILE)
    with pytest.raises(TooLate):
        apart(policy_map("hanging"), 0.5)
    assert children() == []
    with pytest.raises(TooLate):  # it is not even started
        apart(policy_map("killed"), -1.0)


def test_an_edit_that_needs_too_much_memory_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MEMORY", 26 * 2**20)
    monkeypatch.setattr(process, "LEAST_MEMORY", 0)
    made = [json.dumps(forbidding(f"p{n}")) for n in range(1000)]
    with pytest.raises(Broken, match="it needs more than 26 MiB of memory"):
        apart(policy_map("c", p="\n---\n".join(made)))


def test_without_a_process_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(NotStarted, match="No such file"):
        apart(policy_map("c", p=forbidding("one")))


def test_its_limits_grow_with_the_policies_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[list[str]] = []

    def popen(command: list[str], **_: object) -> None:
        begun.append(command)
        raise OSError

    monkeypatch.setattr(subprocess, "Popen", popen)
    for size in (0, 2**20):
        in_use = InUse([], {}, NEWEST, False, size)
        with pytest.raises(NotStarted):
            check_apart(
                PolicyEdit("configmap/a", None, None, in_use),
                perf_counter_ns() + 10**10,
                None,
                UNLIMITED,
            )
    small, large = (int(command[4]) for command in begun)
    assert large - small == process.MEMORY_PER_BYTE * 2**20
    assert small == process.MEMORY


def test_its_memory_is_what_the_pod_has_left_beside_reviews() -> None:
    mib = 2**20
    for left, wanted in ((512, 96), (100, 50), (90, 40)):
        limits = ProcessLimits(nullcontext(), 50 * mib, lambda: left * mib)  # noqa: B023
        assert limits.memory(0) == wanted * mib
    with pytest.raises(NotStarted, match="the Pod has too little memory left"):
        ProcessLimits(nullcontext(), 50 * mib, lambda: 89 * mib).memory(0)


GROUPS = [
    # /proc/self/cgroup, files of the group, what is left
    (
        "0::/\n",
        {"memory.max": "1000", "memory.current": "700", "memory.stat": "inactive_file 50"},
        350,
    ),
    ("0::/a\n", {"a/memory.max": "9", "a/memory.current": "4", "a/memory.stat": "anon 3"}, 5),
    ("0::/a\n", {"a/memory.max": "max"}, None),
    ("0::/a\n", {}, None),
    (
        "5:cpu:/a\n4:memory:/a\n0::/\n",
        {
            "memory/a/memory.limit_in_bytes": "1000",
            "memory/a/memory.usage_in_bytes": "900",
            "memory/a/memory.stat": "cache 1\ntotal_inactive_file 100",
        },
        200,
    ),
    ("4:memory:/gone\n", {"memory/memory.limit_in_bytes": str(2**62)}, None),
    ("", {}, None),
]


@pytest.mark.parametrize(("group", "files", "left"), GROUPS)
def test_what_a_pod_has_left_is_read_of_its_control_group(
    group: str, files: dict[str, str], left: int | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "self").write_text(group)
    assert left_in_pod(tmp_path / "self", tmp_path) == left
    assert left_in_pod(tmp_path / "absent", tmp_path) is None


def test_it_cannot_raise_its_limits() -> None:
    """They are hard ones, and it is killed first when memory runs out."""
    code = (
        "import resource\nfrom policyd.server.edits.child import confine\nconfine(2**28, 9.5)\n"
        "print([resource.getrlimit(each) for each in (resource.RLIMIT_DATA, resource.RLIMIT_CPU,"
        " resource.RLIMIT_CORE)], open('/proc/self/oom_score_adj').read().strip())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"[({2**28}, {2**28}), (11, 11), (0, 0)] 1000"
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] != 2**28
