"""The supervisor of workers that die, hang or share what one process has for itself."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from policyd.config import Settings
from policyd.server.capture import Capture
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.workers.board import Board
from policyd.server.workers.preloading import Preloaded
from policyd.server.workers.supervisor import part_of
from policyd.versions import NEWEST, KubernetesVersion
from tests.builders.recording import unlogged
from tests.builders.reviews import body
from tests.server import pair
from tests.server.fakes import FakeLoader
from tests.server.process import Process, ended, sockets, until, write_sources
from tests.server.serve import DENY, write_policy
from tests.shared import ROOT

SERVE = """\
import os, sys
from policyd.config import resolve
from policyd.server.workers import supervisor
from tests.server.fakes import FakeLoader, judge
{change}
flags = dict(argument.split("=", 1) for argument in sys.argv[1:])
supervisor.Supervisor(resolve(flags, {{}}), FakeLoader(), judge).run()
"""


def command(sources: Path, change: str, **settings: str) -> list[str]:
    """A server of two workers over the fakes, with a change of the supervisor."""
    certificate, key = pair.files()
    given = {
        "policies": str(sources),
        "bind": "127.0.0.1:0",
        "admin_bind": "127.0.0.1:0",
        "drain": "0s",
        "tls_cert": certificate,
        "tls_key": key,
        "workers": "2",
        **settings,
    }
    arguments = [f"{key}={value}" for key, value in given.items()]
    return [sys.executable, "-c", SERVE.format(change=change), *arguments]


def test_gives_up_when_workers_keep_dying_at_start(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    dying = "supervisor.Worker = lambda *_, **__: os._exit(3)"
    status, errors = ended(command(sources, dying))
    assert status == 1
    messages = [json.loads(line)["message"] for line in errors.splitlines()]
    assert messages[0] == "worker 0 ended with status 3; it is restarted"
    assert messages[4] == "workers ended 5 times before they served; giving up"


def test_gives_up_when_one_of_the_workers_keeps_dying_at_start(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    dying = """
from policyd.server.workers.worker import Worker
class Dying(Worker):
    def run(self):
        if self._shared.number:
            os._exit(3)
        super().run()
supervisor.Worker = Dying
"""
    status, errors = ended(command(sources, dying))
    assert status == 1
    assert "workers ended 5 times before they served; giving up" in errors
    assert "all connections are closed" in errors  # the other one drained


def test_an_invalid_certificate_is_reported_once_and_ends_the_server(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    pair = str(sources / "a.txt")
    flags = ("--workers", "3", "--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0")
    arguments = [sys.executable, "-m", "policyd", "serve", "-p", "policies/best-practices"]
    arguments += [*flags, "--tls-cert", pair, "--tls-key", pair]
    status, errors = ended(arguments)
    assert errors.count("not a usable pair") == 1
    assert status == 2


def test_a_worker_that_hangs_is_replaced(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    impatient = "supervisor.SILENCE_SECONDS = 3.0"
    with Process(command(sources, impatient), tmp_path / "server.log") as server:
        until(lambda: server.lines("workers"), "all workers")
        os.kill(server.children()[0], signal.SIGSTOP)
        assert server.post("/validate", body())[0] == 200  # the other one accepts it
        until(lambda: server.lines("worker"), "its end")
        assert "has not responded" in server.lines("worker")[0]["message"]
        until(lambda: server.metric("policyd_worker_restarts_total") == 1, "another one")
        assert server.terminate() == 0


def test_many_log_lines_of_several_workers_stay_whole(tmp_path: Path) -> None:
    """Writes to a pipe beyond 4096 bytes may be interleaved with those of other processes."""
    sources = write_sources(tmp_path / "sources", a="allow a")
    noisy = """
from policyd.server.workers.worker import Worker
class Noisy(Worker):
    def _listening(self, *sockets):
        for number in range(400):
            self.log.write("info", "noise", "x" * 900, number=number)
        super()._listening(*sockets)
supervisor.Worker = Noisy
"""
    read, write = os.pipe()
    child = subprocess.Popen(command(sources, noisy), cwd=ROOT, stderr=write)
    os.close(write)
    served = 0
    noise = 0
    try:
        with os.fdopen(read) as lines:
            for line in lines:
                row = json.loads(line)
                noise += row["event"] == "noise"
                served += row["event"] == "workers"
                if row["event"] == "workers":
                    child.terminate()
    finally:
        child.kill()
        child.wait()
    assert (served, noise) == (1, 800)


def test_connections_are_shared_evenly(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    # Twenty times as long as usual, for a busy machine.
    patient = "from policyd.server.workers import listening\nlistening.TURN_SECONDS = 0.1"
    with Process(command(sources, patient), tmp_path / "server.log") as server:
        until(lambda: server.lines("workers"), "all workers")
        before = [sockets(each) for each in server.children()]
        held = []
        for _ in range(8):
            held.append(server.secure_socket())
            time.sleep(0.3)  # an API server opens one when a request needs it
        after = [sockets(each) for each in server.children()]
        first, second = (each - former for each, former in zip(after, before, strict=True))
        assert (first + second, abs(first - second) <= 2) == (8, True)
        for each in held:
            each.close()


def test_each_worker_has_an_equal_part() -> None:
    whole = Settings(
        workers=4,
        timeout=3.0,
        max_in_flight=9,
        max_in_flight_bytes=10,
        max_read_bytes=11,
        max_connections=8,
    )
    part = part_of(whole)
    assert (part.max_in_flight, part.max_in_flight_bytes, part.max_connections) == (2, 2, 2)
    assert part.max_read_bytes == 2
    assert (part.timeout, part.workers) == (3.0, 4)


# For a cluster, captures, a last good set, overlays, params and broken keys.
NEEDLESS = (
    "policyd.server.workers",
    "policyd.server.edits",
    "policyd.server.capture",
    "policyd.server.policies.last_good",
    "policyd.policy.kinds.object_types",
    "policyd.policy.kinds.wanted_definitions",
    "policyd.defaulting.builtin",
    "policyd.tls.keys",
)


def test_one_process_knows_nothing_of_workers(tmp_path: Path) -> None:
    """Nor of anything else that few servers need, when it has loaded its policies."""
    write_policy(tmp_path, "deny", DENY)
    code = """if True:
        import sys
        from policyd.config import resolve
        from policyd.server.composition import Server
        from policyd.server.policies.policy_loader import PolicyLoader

        settings = resolve({"policies": (sys.argv[1],), "self_signed": "true"}, {})
        Server(settings, PolicyLoader()).store.start()
        print(*sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert "policyd.server.watches" in loaded
    assert [each for each in loaded if each.startswith(NEEDLESS)] == []


def test_turns_on_the_board() -> None:
    board = Board(3)
    board.opened(0, 2)
    assert board.is_least(0)
    board.opened(1, 1)
    assert [board.is_least(each) for each in (0, 1)] == [False, True]
    board.leave(1)
    assert board.is_least(0)
    board.requested(0, 5.0)
    board.requested(2, 7.0)
    assert (board.last_request, board.closing) == (7.0, False)
    board.close_ports()
    assert board.closing


class Counting(FakeLoader):
    """Loads fakes, and counts."""

    loads = 0

    def load(self, *arguments: Any, **options: Any) -> LoadedSet:
        self.loads += 1
        return super().load(*arguments, **options)


def test_a_set_is_loaded_once_for_all_workers(tmp_path: Path) -> None:
    sources, counting = write_sources(tmp_path / "sources", a="allow a"), Counting()
    preloaded = Preloaded(counting)
    preloaded.prepare(Settings(policies=(sources,)))
    first = preloaded.take([sources], lambda: NEWEST)
    assert first is not None and first.policies.policies[0].name == "a"
    assert preloaded.take([sources], lambda: NEWEST) is None, "a reload is another set"
    assert counting.loads == 1


def test_a_set_of_other_files_or_another_version_is_loaded_again(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    preloaded = Preloaded(FakeLoader())
    preloaded.prepare(Settings(policies=(sources,)))
    write_sources(sources, b="deny b")
    assert preloaded.take([sources], lambda: NEWEST) is None
    preloaded.prepare(Settings(policies=(sources,)))
    assert preloaded.take([sources], lambda: KubernetesVersion(1, 30)) is None


def test_writers_share_the_limit_of_a_folder(tmp_path: Path) -> None:
    """A new file replaces the one that was written to the longest ago, not that of another writer
    with an older name.
    """
    quiet = Capture(tmp_path, 1600, lambda *_: None, unlogged(), 2)
    used = next(tmp_path.glob("*.jsonl"))
    for number in range(20):
        (tmp_path / f"3{number:03}-1.jsonl").write_text("{}\n")
        os.utime(tmp_path / f"3{number:03}-1.jsonl", (number, number))
    Capture(tmp_path, 1600, lambda *_: None, unlogged(), 2).close(1.0)
    assert len(list(tmp_path.glob("*.jsonl"))) == 16
    assert used.exists()
    quiet.close(1.0)
