"""Requests at a rate that does not depend on the answers: what many API servers send together.

One thread, one epoll, requests that are prepared bytes and TLS connections that are kept: the load
must be cheaper than the server. Each source address has as many connections as given, as an API
server bounds the calls that it has under way; an arrival that finds none free waits for one, and is
dropped when the client's patience has passed. No tests here.
"""

import select
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import perf_counter

from tests.server.process import trusting


@dataclass
class Answers:
    """What came back, seen from the clients of one source address."""

    sent: int = 0
    dropped: int = 0  # arrivals that found no free connection in time
    broken: int = 0  # connections that ended before the answer
    unanswered: int = 0  # requests without an answer at the end
    good: list[float] = field(default_factory=list)  # seconds to an answer that allows
    failed: list[float] = field(default_factory=list)  # ... that is an error or a denial
    shed: list[float] = field(default_factory=list)  # ... that is a 503
    without_retry: int = 0  # 503s that lack Retry-After
    others: list[bytes] = field(default_factory=list)  # first lines of any other answer

    @property
    def seconds(self) -> list[float]:
        """How long each answer took, whichever it was."""
        return [*self.good, *self.failed, *self.shed]


def merged(answers: "list[Answers]") -> Answers:
    """The sum of several."""
    whole = Answers()
    for each in answers:
        for name, value in vars(each).items():
            setattr(whole, name, getattr(whole, name) + value)
    return whole


class Client:
    """A source address: its connections, those that are free, and what waits for one."""

    def __init__(self, load: "OpenLoad", address: str, request: bytes, connections: int) -> None:
        self.address = address
        self.request = request
        self.most = connections
        self.rate = 0.0  # requests a second that ``offer`` lets arrive
        self.answers = Answers()
        self.free: deque[Connection] = deque()
        self.open: set[Connection] = set()
        self.waiting: deque[float] = deque()  # when the requests without a connection arrived
        self._load = load

    def fill(self) -> None:
        """Open all connections."""
        while len(self.open) < self.most:
            Connection(self._load, self)

    def arrive(self, now: float) -> None:
        """One more request."""
        self.waiting.append(now)
        self.send(now)

    def send(self, now: float) -> None:
        """Give free connections to the requests that wait."""
        while self.waiting and now - self.waiting[0] > self._load.patience:
            self.waiting.popleft()
            self.answers.dropped += 1
        while self.waiting and self.free:
            self.waiting.popleft()
            self.answers.sent += 1
            self.free.popleft().send(self.request, now)


class Connection:
    """One TLS connection, not blocking."""

    __slots__ = ("_client", "_load", "_rest", "_secure", "_sent_at", "_unsent", "answer", "busy")

    def __init__(self, load: "OpenLoad", client: Client) -> None:
        raw = socket.socket()
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.bind((client.address, 0))
        raw.settimeout(load.patience)
        raw.connect(("127.0.0.1", load.port))
        raw.setblocking(False)
        self._secure = load.context.wrap_socket(raw, do_handshake_on_connect=False)
        self._load = load
        self._client = client
        self._sent_at = 0.0
        self._unsent = memoryview(b"")
        self._rest = False  # whether the handshake is over
        self.answer = b""
        self.busy = False
        client.open.add(self)
        load.add(self)
        self.ready()

    def fileno(self) -> int:
        """The socket's number."""
        return self._secure.fileno()

    def send(self, request: bytes, now: float) -> None:
        """Send a request."""
        self._sent_at, self.busy, self.answer = now, True, b""
        self._unsent = memoryview(request)
        self._flush()

    def ready(self) -> None:
        """The socket can be read or written."""
        try:
            if not self._rest:
                self._secure.do_handshake()
                self._rest = True
                self._load.wait_for(self, select.EPOLLIN)
                self._free()
                return
            if self._unsent:
                self._flush()
            self._read()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:
            self._load.wait_for(self, select.EPOLLIN | select.EPOLLOUT)
        except OSError:
            self.end()

    def end(self) -> None:
        """The connection is gone."""
        client = self._client
        if self.busy:
            client.answers.broken += 1
            self.busy = False
        client.open.discard(self)
        if self in client.free:
            client.free.remove(self)
        self._load.remove(self)
        self._secure.close()
        self._load.lost.append(client)

    def _flush(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._secure.send(self._unsent) :]
            self._load.wait_for(self, select.EPOLLIN)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            self._load.wait_for(self, select.EPOLLIN | select.EPOLLOUT)
        except OSError:
            self.end()

    def _read(self) -> None:
        data = self._secure.recv(65536)
        if not data:
            self.end()
            return
        self.answer += data
        head, found, content = self.answer.partition(b"\r\n\r\n")
        if not found or len(content) < _length(head):
            return
        now = perf_counter()
        self.busy = False
        self._count(head, content, now - self._sent_at)
        if b"connection: close" in head:
            self.end()
        else:
            self._free()

    def _count(self, head: bytes, content: bytes, seconds: float) -> None:
        answers, status = self._client.answers, head[9:12]
        if status == b"503":
            answers.shed.append(seconds)
            answers.without_retry += b"\r\nretry-after: " not in head
        elif status != b"200":
            answers.others.append(head[:40])
        elif b'"allowed":true' in content:
            answers.good.append(seconds)
        else:
            answers.failed.append(seconds)

    def _free(self) -> None:
        self._client.free.append(self)
        self._client.send(perf_counter())


def _length(head: bytes) -> int:
    return int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])


class OpenLoad:
    """Clients of one server. ``patience``: seconds that a request waits for a connection."""

    def __init__(self, port: int, patience: float) -> None:
        self.port = port
        self.patience = patience
        self.context = trusting()
        self.clients: list[Client] = []
        self.lost: list[Client] = []  # whose connection ended
        self._epoll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._masks: dict[int, int] = {}

    def client(self, address: str, request: bytes, connections: int) -> Client:
        """Add a source address, with its connections open."""
        made = Client(self, address, request, connections)
        self.clients.append(made)
        made.fill()
        end = perf_counter() + self.patience
        while len(made.free) < connections and perf_counter() < end:
            self._turn(0.1)
        return made

    def offer(self, seconds: float) -> None:
        """Let requests arrive at the rate of each client, at random (a Poisson process). They are
        timed from when they were due.
        """
        gaps, start = Random(1), perf_counter()
        due = {each: start + gaps.expovariate(each.rate) for each in self.clients if each.rate}
        while (now := perf_counter()) < start + seconds:
            for client, first in due.items():
                moment = first
                while moment <= now:
                    client.arrive(moment)
                    moment += gaps.expovariate(client.rate)
                due[client] = moment
            self._turn(min(0.001, max(0.0, min(due.values()) - now)))

    def saturate(self, seconds: float, client: Client, connections: int) -> None:
        """Keep this many connections of a client busy."""
        client.send(0.0)
        start = perf_counter()
        while (now := perf_counter()) < start + seconds:
            while client.free and len(client.open) - len(client.free) < connections:
                client.arrive(now)
            self._turn(0.001)

    def settle(self, seconds: float) -> None:
        """Send no more, and wait for the answers of what was sent."""
        for client in self.clients:
            client.answers.dropped += len(client.waiting)
            client.waiting.clear()
        self.until(lambda: not any(each.busy for each in self._connections.values()), seconds)
        for client in self.clients:
            client.answers.unanswered += sum(each.busy for each in client.open)

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Go on until the condition holds; False if it does not in time."""
        end = perf_counter() + seconds
        while not condition():
            if perf_counter() > end:
                return False
            self._turn(0.01)
        return True

    def take(self) -> Answers:
        """The answers of all clients so far, which count no more."""
        whole = merged([client.answers for client in self.clients])
        for client in self.clients:
            client.answers = Answers()
        return whole

    def close(self) -> None:
        """End all connections."""
        for connection in tuple(self._connections.values()):
            connection.end()
        self._epoll.close()

    def add(self, connection: Connection) -> None:
        """Watch a connection."""
        number = connection.fileno()
        self._connections[number] = connection
        self._masks[number] = select.EPOLLIN | select.EPOLLOUT
        self._epoll.register(number, self._masks[number])

    def wait_for(self, connection: Connection, mask: int) -> None:
        """Change what is waited for."""
        number = connection.fileno()
        if self._masks.get(number, mask) != mask:
            self._masks[number] = mask
            self._epoll.modify(number, mask)

    def remove(self, connection: Connection) -> None:
        """Watch it no more."""
        number = connection.fileno()
        if self._connections.pop(number, None) is not None:
            del self._masks[number]
            self._epoll.unregister(number)

    def _turn(self, seconds: float) -> None:
        select.select([self._epoll], [], [], seconds)  # epoll alone waits in whole milliseconds
        for number, _ in self._epoll.poll(0):
            connection = self._connections.get(number)
            if connection is not None:
                connection.ready()
        lost, self.lost = self.lost, []
        for client in lost:
            client.fill()
