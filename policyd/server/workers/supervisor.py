"""The parent of the workers: starts them, passes signals on, and restarts those that die.

It answers no requests, and has one thread and no event loop, so that it can fork at any time. After
the fork a worker leaves the supervisor's loop with an exception, and then runs like a single
server.
"""

import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from policyd.admission.engine import review
from policyd.config import Settings
from policyd.errors import ConfigError, PolicydError
from policyd.gc_policy import exempt
from policyd.observability.log_writer import standard_error
from policyd.observability.logs import Log, LogLevel, log_form
from policyd.server.network.listen import bound
from policyd.server.policies import load_log
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.server.policy_evaluator import Evaluate
from policyd.server.signals import ENDING, IGNORED, RELOAD, Signals, name_of
from policyd.server.workers import processes
from policyd.server.workers.board import Board
from policyd.server.workers.channel import MessageDecoder, WorkerMessage, encode
from policyd.server.workers.hub import Hub
from policyd.server.workers.preloading import Preloaded
from policyd.server.workers.summing import own_process
from policyd.server.workers.worker import SharedByWorkers, Worker
from policyd.tls.certificates import PairSource

# The server gives up after so many successive deaths of workers that did not serve yet: at its
# start, and later if no worker serves.
MOST_DEATHS = 5
# Seconds until a dead worker is restarted: at once, then the first pause, doubled up to the
# longest, until a worker has lived for a minute.
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
LASTING_SECONDS = 60.0
# Seconds until the next attempt to start a worker if the system lacks resources.
FORK_SECONDS = 5.0
# Seconds without a message after which a worker counts as hanging.
SILENCE_SECONDS = 30.0
# Workers exit by themselves within --grace; so many seconds later they are killed.
LATE_SECONDS = 2.0
LOG_SECONDS = 0.25  # to write the last lines of the log
INVALID = 2  # the exit status for settings or policies that cannot be used
READ_BYTES = 1 << 18
# Limits of the whole server, divided among the workers. The limit of captured reviews applies to a
# directory, which the workers share (``capture.py``).
_DIVIDED = ("max_in_flight", "max_in_flight_bytes", "max_read_bytes", "max_connections")


class _IsWorker(Exception):
    """This process is a new worker."""

    def __init__(self, shared: SharedByWorkers) -> None:
        super().__init__()
        self.shared = shared


@dataclass
class _Process:
    """A running worker."""

    number: int
    pid: int
    connection: socket.socket
    began: float
    heard: float
    built: bool = False
    decoder: MessageDecoder = field(default_factory=MessageDecoder)
    unsent: bytearray = field(default_factory=bytearray)


class Supervisor:
    """Serves with several processes; takes the arguments of ``Server``."""

    def __init__(
        self,
        settings: Settings,
        loader: PolicyLoader,
        evaluate: Evaluate = review,
        *,
        certificate: PairSource | None = None,
    ) -> None:
        self._settings = settings
        self._certificate = certificate
        self._part = part_of(settings)
        self._loader, self._evaluate = loader, evaluate
        self._preloaded = Preloaded(loader)
        if not sys.platform.startswith("linux"):
            raise ConfigError("--workers needs Linux")
        self._lock = os.memfd_create("policyd-log", os.MFD_CLOEXEC)
        self._edits = os.memfd_create("policyd-edits", os.MFD_CLOEXEC)
        self._stream = processes.DirectStream(standard_error(), self._lock)
        self._log = Log(self._stream, log_form(settings.log_format))
        self._board = Board(settings.workers)
        self._hub = Hub(settings.workers, self._send, own_process())
        self._sockets: tuple[socket.socket, ...] = ()
        self._processes: dict[int, _Process] = {}
        self._due: dict[int, float] = {}  # when to start a worker
        self._pauses: dict[int, float] = {}
        self._deaths = 0
        self._started = False  # whether all workers ever served
        self._leader: int | None = None
        self._stopping: float | None = None  # until when workers may drain
        self._status = 0

    def run(self) -> None:
        """Serve until a signal arrives; raises SystemExit with the status unless it is 0."""
        try:
            self._prepare()
            self._supervise()
        except _IsWorker as chosen:
            shared = chosen.shared
        else:
            self._stream.settle(LOG_SECONDS)
            if self._status:
                raise SystemExit(self._status)
            return
        Worker(shared, self._part, self._loader, self._evaluate).run()

    def _prepare(self) -> None:
        """Open the ports and load the policies, for all workers."""
        Signals().hold()
        try:
            self._sockets = self._bound()
            if self._certificate is not None:
                self._certificate.read()  # only this process is the parent of its issuer
            self._preloaded.prepare(self._settings)
        except PolicydError as error:
            for each in self._sockets:
                each.close()
            load_log.cannot_start(self._log, error)
            self._stream.settle(LOG_SECONDS)
            raise SystemExit(error.exit_code) from None
        exempt()  # garbage collection would write to all memory that workers share

    def _bound(self) -> tuple[socket.socket, socket.socket]:
        secure = bound(self._settings.bind)
        try:
            return secure, bound(self._settings.admin_bind)
        except PolicydError:
            secure.close()
            raise

    # The loop.

    def _supervise(self) -> None:
        self._selector = selectors.DefaultSelector()
        waking, self._woken = socket.socketpair()
        for each in (waking, self._woken):
            each.setblocking(False)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        self._waking = waking
        for number in (*ENDING, RELOAD, *IGNORED, signal.SIGCHLD):
            signal.signal(number, _wake)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._start(0)  # first only one worker, so that errors in the settings are logged once
        while self._processes or self._due:
            for key, events in self._selector.select(self._patience()):
                if key.fileobj is self._woken:
                    self._signalled()
                elif key.data in self._processes:
                    self._exchange(self._processes[key.data], events)
            self._hub.expire()
            self._stream.flush()
            self._reap()
            self._check()
        self._log.write("info", "stopped", "all workers have ended")

    def _patience(self) -> float:
        now = monotonic()
        ends = [now + 1.0, *self._due.values()]
        if self._hub.next_deadline is not None:
            ends.append(self._hub.next_deadline)
        return max(0.0, min(ends) - now)

    def _signalled(self) -> None:
        with suppress(BlockingIOError):
            numbers = set(self._woken.recv(4096))
            for number in numbers.intersection(ENDING):
                self._stop(signal.Signals(number))
            for number in numbers.intersection((RELOAD, *IGNORED)):
                self._signal(signal.Signals(number))

    def _check(self) -> None:
        """Start workers that are due, and kill those that hang."""
        now = monotonic()
        for number in [each for each, due in self._due.items() if due <= now]:
            self._start(number)
        for each in self._processes.values():
            if now > each.heard + SILENCE_SECONDS and each.built and self._stopping is None:
                each.heard = now
                message = f"worker {each.number} has not responded for {SILENCE_SECONDS:.0f} s"
                self._log.write("error", "worker", f"{message}; it is killed", pid=each.pid)
                os.kill(each.pid, signal.SIGKILL)
        if self._stopping is not None and now > self._stopping:
            self._stopping = now + LATE_SECONDS
            self._signal(signal.SIGKILL)

    # Processes.

    def _start(self, number: int) -> None:
        self._due.pop(number, None)
        try:
            ours, theirs = socket.socketpair()
            pid = processes.fork()
        except OSError as error:  # too many files or processes, or no memory
            self._due[number] = monotonic() + FORK_SECONDS
            message = f"cannot start worker {number}: {error.strerror}"
            self._log.write("error", "worker", message, seconds=FORK_SECONDS)
            return
        if pid == 0:
            self._forget_all(ours)
            raise _IsWorker(
                SharedByWorkers(
                    number,
                    self._sockets,
                    theirs,
                    self._board,
                    self._certificate,
                    self._preloaded,
                    self._lock,
                    self._edits,
                )
            )
        theirs.close()
        ours.setblocking(False)
        now = monotonic()
        self._processes[number] = _Process(number, pid, ours, now, now)
        self._selector.register(ours, selectors.EVENT_READ, number)
        self._hub.began(number)

    def _forget_all(self, ours: socket.socket) -> None:
        """In a new worker: close what belongs to the supervisor."""
        for each in (ours, self._waking, self._woken, self._selector):
            each.close()
        for process in self._processes.values():
            process.connection.close()
        self._processes.clear()

    def _reap(self) -> None:
        for each in list(self._processes.values()):
            pid, status = os.waitpid(each.pid, os.WNOHANG)
            if pid:
                self._ended(each, os.waitstatus_to_exitcode(status))

    def _ended(self, process: _Process, code: int) -> None:
        """Replace a worker that has ended, unless the server stops."""
        number = process.number
        served = number in self._hub.serving
        with suppress(BlockingIOError, OSError):  # its last messages
            while data := process.connection.recv(READ_BYTES):
                self._receive(process, data)
        self._close(process)
        del self._processes[number]
        self._board.leave(number)
        self._hub.ended(number)
        if self._stopping is not None:
            self._status = self._status or int(code != 0)
            return
        if self._leader == number:
            self._leader = None
            self._appoint()
        others = self._started and self._hub.serving
        self._deaths = 0 if served or others else self._deaths + 1
        if not self._started and code == INVALID:
            self._status = INVALID
            self._stop(signal.SIGTERM)
        elif self._deaths >= MOST_DEATHS:
            message = f"workers ended {self._deaths} times before they served; giving up"
            self._log.write("error", "worker", message)
            self._status = 1
            self._stop(signal.SIGTERM)
        else:
            self._restart(process, code)

    def _restart(self, process: _Process, code: int) -> None:
        number, now = process.number, monotonic()
        if now > process.began + LASTING_SECONDS:
            self._pauses.pop(number, None)
        pause = self._pauses.get(number, 0.0)
        self._pauses[number] = min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._due[number] = now + pause
        self._hub.restarts += 1
        why = f"was killed by {name_of(-code)}" if code < 0 else f"ended with status {code}"
        message = f"worker {number} {why}; it is restarted"
        level: LogLevel = "error" if code else "warning"
        self._log.write(level, "worker", message, pid=process.pid, seconds=pause)

    def _stop(self, number: signal.Signals) -> None:
        """End all workers; none is started again."""
        if self._stopping is None:
            self._stopping = monotonic() + self._settings.grace + LATE_SECONDS
            self._due.clear()
            self._board.stop()
            for each in self._sockets:
                each.close()  # the workers close the ports when they have drained
        self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        for each in self._processes.values():
            os.kill(each.pid, number)

    # Messages.

    def _exchange(self, process: _Process, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush(process)
        if events & selectors.EVENT_READ:
            with suppress(BlockingIOError, ConnectionError):
                data = process.connection.recv(READ_BYTES)
                if data:
                    self._receive(process, data)
                else:
                    self._close(process)  # it ends: SIGCHLD follows

    def _receive(self, process: _Process, data: bytes) -> None:
        process.heard = monotonic()
        for message in process.decoder.feed(data):
            if "built" in message:
                self._built(process)
            self._hub.receive(process.number, message)
        if self._hub.complete and not self._started:
            self._started = True
            text = "all workers serve"
            self._log.write("info", "workers", text, workers=self._settings.workers)
        self._appoint()

    def _built(self, process: _Process) -> None:
        process.built = True
        for number in range(self._settings.workers):
            if number not in self._processes and number not in self._due:
                self._due[number] = 0.0

    def _appoint(self) -> None:
        """Let one worker write to the cluster for all replicas. It need not serve yet: a
        certificate may have to be issued first.
        """
        if self._leader is None and self._hub.running and self._stopping is None:
            self._leader = self._hub.running[0]
            self._send(self._leader, {"appointed": True})

    def _send(self, number: int, message: WorkerMessage) -> None:
        process = self._processes.get(number)
        if process is not None:
            process.unsent += encode(message)
            self._flush(process)

    def _close(self, process: _Process) -> None:
        if process.connection.fileno() >= 0:
            self._selector.unregister(process.connection)
            process.connection.close()

    def _flush(self, process: _Process) -> None:
        if process.connection.fileno() < 0:
            return
        with suppress(BlockingIOError, ConnectionError):
            while process.unsent:
                del process.unsent[: process.connection.send(process.unsent)]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.unsent else 0)
        self._selector.modify(process.connection, wanted, process.number)


def _wake(number: int, frame: object) -> None:
    """Python writes the number to the wakeup descriptor."""


def part_of(settings: Settings) -> Settings:
    """Return the settings of one worker; raises ConfigError if a limit is too small to divide."""
    parts: dict[str, int] = {}
    for name in _DIVIDED:
        whole = getattr(settings, name)
        parts[name] = whole // settings.workers
        if not parts[name]:
            flag = "--" + name.replace("_", "-")
            raise ConfigError(f"{flag} {whole} cannot be divided among {settings.workers} workers")
    return replace(settings, **parts)  # type: ignore[arg-type]
