"""Processes of Python modules, forked from one that has imported policyd: half a second of CPU less for
each than with an interpreter of its own. No tests here.

What depends on a fresh interpreter (what is imported, variables that it reads at its start, memory that it
takes) must not be started so. With ``POLICYD_SAMPLE=1`` nothing is.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.sampling import share

# What servers import sooner or later, and what commands do. Nothing here starts a thread.
SERVERS = (
    "policyd.cli.serve", "policyd.admission.engine", "policyd.server.composition",
    "policyd.server.policies.policy_loader", "policyd.server.workers.supervisor", "policyd.cluster",
    "policyd.server.network.hypercorn_port", "policyd.cli.shared.terminal.color",
    "policyd.server.cluster.cluster_connection", "policyd.server.cluster.cluster_controllers",
    "policyd.cluster.client", "policyd.observability.metrics.exposition",
    "policyd.observability.metrics.rows", "policyd.offline.suite_policies", "lightkube",
)  # fmt: skip
COMMANDS = (
    "policyd.cli.apply.command", "policyd.cli.explain.command", "policyd.cli.lint",
    "policyd.cli.test.command", "policyd.cli.denials.command", "policyd.cli.export.command",
    "policyd.cli.review", "policyd.cli.eval.command", "policyd.policy.suite.runner",
    "policyd.cli.replay", "policyd.cli.importing.command", "policyd.cli.configmap",
    "policyd.cli.webhooks", "policyd.cli.bench", "policyd.policy.lint.run",
    "policyd.cel.hints.explaining",
)  # fmt: skip
# Variables that an interpreter reads when it starts, or that libraries read when they are loaded.
READ_AT_START = ("PYTHON", "LC_", "LANG", "OPENSSL", "MALLOC", "GLIBC", "LD_")
# Of the processes that fork.
_ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "default"}
MOST_BYTES = 2**17
Streams = tuple[int, int, int]


class Forked:
    """A process that runs, with as much of ``subprocess.Popen`` as tests need."""

    def __init__(self, parent: "_Parent", pid: int) -> None:
        self.pid = pid
        self._parent = parent

    @property
    def returncode(self) -> int | None:
        return self._parent.ended.get(self.pid)

    def poll(self) -> int | None:
        """The exit status, if it has ended; negative for a signal."""
        self._parent.listen(self.pid, 0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        self._parent.listen(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and its status is on the way
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Parent:
    """The process that forks, as its client sees it."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.ended: dict[int, int] = {}
        self._lock = threading.RLock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forking", str(theirs.fileno()), *modules],
                cwd=Path(__file__).parent.parent,
                env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._end)

    def start(self, order: dict[str, Any], streams: Streams) -> Forked:
        """Fork, with these as the standard streams."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(order).encode()], list(streams))
            while not (pid := self._read()):
                pass
            self.ended.pop(pid, None)  # of another process that had this number
            return Forked(self, pid)

    def listen(self, pid: int, timeout: float | None) -> None:
        """Take what was said until this process has ended, or the time is over."""
        end = None if timeout is None else time.monotonic() + timeout
        while pid not in self.ended:
            left = 0.1 if end is None else min(0.1, max(0.0, end - time.monotonic()))
            with self._lock:  # for so short a time that other threads get their turns
                if select.select([self._socket], [], [], left)[0]:
                    self._read()
                elif left < 0.1:
                    return

    def _read(self) -> int:
        """Take one message; return the process that began, or 0."""
        message = self._socket.recv(MOST_BYTES)
        assert message, "the process that forks has ended"
        said = json.loads(message)
        if "status" in said:
            self.ended[said["pid"]] = said["status"]
            return 0
        return int(said["pid"])

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


@cache
def _parent(modules: tuple[str, ...]) -> _Parent:
    return _Parent(modules)


def worthwhile(environment: Mapping[str, str]) -> bool:
    """Whether processes with these variables may be forked: none if all is checked, or coverage measured."""
    if share() == 1 or os.environ.get("COVERAGE_PROCESS_START"):
        return False
    read = {key: value for key, value in environment.items() if key.startswith(READ_AT_START)}
    return read.items() <= _ENVIRONMENT.items()


def popen(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    streams: Streams,
    modules: tuple[str, ...] = SERVERS,
    *,
    session: bool = False,
) -> "Forked | subprocess.Popen[bytes]":
    """Run ``python -m`` with these streams: a module with its arguments, or "-c" and a program. If it is
    worthwhile, without a new interpreter; then ``modules`` are imported already.
    """
    if worthwhile(environment):
        order = {
            "command": list(command),
            "folder": str(folder),
            "environment": dict(environment),
            "session": session,
        }
        return _parent(modules).start(order, streams)
    program = [sys.executable, *(["-m"] if command[0] != "-c" else []), *command]
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        program, cwd=folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr,
        start_new_session=session,
    )  # fmt: skip


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork as ordered; return the order in each process that was forked, None when the client is gone."""
    reading, writing = socket.socketpair()
    with connection, reading, writing, select.epoll() as poll:
        writing.setblocking(False)
        signal.set_wakeup_fd(writing.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        poll.register(connection, select.EPOLLIN)
        poll.register(reading, select.EPOLLIN)
        while True:
            ready = {file for file, _ in poll.poll()}
            if reading.fileno() in ready:
                reading.recv(4096)
                _report_ends(connection)
            if connection.fileno() not in ready:
                continue
            message, streams, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
            if not message:
                return None
            pid = os.fork()
            if not pid:
                break
            for each in streams:
                os.close(each)
            connection.send(json.dumps({"pid": pid}).encode())
        signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    order: dict[str, Any] = json.loads(message)
    return order


def _report_ends(connection: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        code = os.waitstatus_to_exitcode(status)
        connection.send(json.dumps({"pid": pid, "status": code}).encode())


def _run(order: dict[str, Any]) -> None:
    """Run a module as a fresh interpreter would, and end with its status."""
    if order["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    _open_streams()
    status: object = 0
    try:
        module, *sys.argv[1:] = order["command"]
        if module == "-c":
            exec(compile(sys.argv.pop(1), "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code or 0
        if not isinstance(status, int):
            print(status, file=sys.stderr)
    # As the interpreter ends, but without taking apart what it is about to leave.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = 120  # as of Python
    os._exit(status if isinstance(status, int) else 1)


def _open_streams() -> None:
    """Open the standard streams as Python does: a terminal gets each line when it is written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        old = getattr(sys, name)
        lines = name == "stderr" or os.isatty(old.fileno())
        new = os.fdopen(old.fileno(), mode, 1 if lines else -1, "utf-8", old.errors, closefd=False)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def main() -> None:
    """Serve orders from the socket whose number is the first argument; import the other ones."""
    _, number, *modules = sys.argv
    gc.disable()
    for each in modules:
        import_module(each)
    gc.freeze()
    gc.enable()
    if order := _serve(socket.socket(fileno=int(number))):
        _run(order)


if __name__ == "__main__":
    main()
