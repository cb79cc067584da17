"""HTTP/1.1 and HTTP/2: the protocols of Hypercorn, restricted to what policyd supports.

There is no WebSocket, and no change of protocol on an open connection: HTTP/2 is used only where
TLS negotiated it (``--http2``). Bytes and timeouts belong to the connection (``tcp.py``).
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import h11
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    PingAckReceived,
    PingReceived,
    PriorityUpdated,
    RemoteSettingsChanged,
    RequestReceived,
    SettingsAcknowledged,
    StreamReset,
    UnknownFrameReceived,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from h2.stream import StreamState
from hypercorn.events import Closed, RawData
from hypercorn.events import Event as ConnectionEvent
from hypercorn.protocol.events import Body, EndBody, Request, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream

from policyd.http.endpoints import ARRIVED

# Key of the connection's state: called with the status and address of each malformed request.
MALFORMED = "policyd.malformed"
VERSIONS = (b"1.1", b"1.0")
# A client may reset this many streams of a connection more than were answered: an API server resets
# a stream when a request of its own client ends early. Each reset costs the server more than the
# client (CVE-2023-44487).
RESETS = 200
# Bodies arrive in pieces: chunks of HTTP/1.1, frames of HTTP/2. A piece of one byte costs 10 us to
# process and 6 bytes to send, so that a slow stream of them would delay every other request. After
# the first pieces of a connection, their average size must be at least this; API servers send KiB
# at a time.
FREE_PIECES = 1000
PIECE_BYTES = 64

# HTTP/2 frames without data cost 50 us each and have 9 bytes. A connection may send this many, and
# more for each response and each KiB of it, because clients acknowledge what they read.
FREE_FRAMES = 1000
FRAMES_PER_ANSWER = 10
FRAMES_PER_KIB = 1
# Bytes parsed at a time, so that a flood is detected before all of it is parsed.
SLICE_BYTES = 16 * 1024
CONTROL = (
    PingReceived,
    PingAckReceived,
    PriorityUpdated,
    RemoteSettingsChanged,
    SettingsAcknowledged,
    UnknownFrameReceived,
    WindowUpdated,
)


@dataclass(frozen=True)
class Flooded(Closed):
    """The end of a connection whose client floods it with resets, tiny pieces or empty frames."""


class BodyPieces:
    """Counts the pieces in which the bodies on one connection arrive."""

    __slots__ = ("_bytes", "_pieces")

    def __init__(self) -> None:
        self._bytes = self._pieces = 0

    def are_too_small(self, size: int) -> bool:
        """Count a piece of ``size`` bytes; whether the pieces so far are too small on average."""
        self._pieces += 1
        self._bytes += size
        return self._pieces > FREE_PIECES and self._bytes < self._pieces * PIECE_BYTES


class _Stream(HTTPStream):
    """A request of HTTP/1.1, which ends its connection if its body arrives in tiny pieces."""

    def __init__(
        self, *arguments: Any, pieces: BodyPieces, end: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(*arguments)
        self._pieces = pieces
        self._end = end

    async def handle(self, event: StreamEvent) -> None:
        if isinstance(event, Body) and self._pieces.are_too_small(len(event.data)):
            await self._end()
        else:
            await super().handle(event)


class Http1(H11Protocol):
    """HTTP/1.0 and 1.1; ``Upgrade`` is ignored, as RFC 9110 (7.8) allows."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pieces = BodyPieces()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Do nothing: Hypercorn would change to HTTP/2 here."""

    async def _create_stream(self, request: h11.Request) -> None:
        if request.http_version not in VERSIONS:
            await self._send_error_response(505)
            await self.send(Closed())
            return
        self.connection_state[ARRIVED] = perf_counter_ns()
        self.stream = _Stream(
            self.app,
            self.config,
            self.context,
            self.task_group,
            self.ssl,
            self.client,
            self.server,
            self.stream_send,
            STREAM_ID,
            pieces=self._pieces,
            end=self._end,
        )
        await self.stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=list(request.headers),
                http_version=request.http_version.decode(),
                method=request.method.decode("ascii").upper(),
                raw_path=request.target,
                state=self.connection_state,
            )
        )

    async def _send_error_response(self, status_code: int) -> None:
        self.connection_state[MALFORMED](status_code, self.client[0] if self.client else "")
        await super()._send_error_response(status_code)

    async def _end(self) -> None:
        """Close the connection: its pieces are too small. Without a stream the rest of them is
        ignored.
        """
        await self.send(Flooded())
        await self._close_stream()


class Http2(H2Protocol):
    """HTTP/2, where each stream is a request with timeouts of its own."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connection.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: self.config.h2_max_concurrent_streams,
                SettingCodes.MAX_HEADER_LIST_SIZE: self.config.h2_max_header_list_size,
            },
        )
        self._resets_left = RESETS
        self._frames_left = FREE_FRAMES
        self._flooded = False
        self._pieces = BodyPieces()
        # Since when each stream waits for its client to read the response; the oldest first.
        self._answering: dict[int, float] = {}

    async def handle(self, event: ConnectionEvent) -> None:
        """Handle bytes from the client, or the end of the connection."""
        if isinstance(event, RawData):
            for start in range(0, len(event.data), SLICE_BYTES):
                if not self._flooded:
                    await super().handle(RawData(event.data[start : start + SLICE_BYTES]))
            return
        await super().handle(event)
        if isinstance(event, Closed):
            # The client is gone: release the tasks that wait for it to read the rest.
            for buffer in self.stream_buffers.values():
                await buffer.close()

    async def stream_send(self, event: StreamEvent) -> None:
        """Handle an event of the app: a part of a response, or its end."""
        if not isinstance(event, Body | EndBody):
            await super().stream_send(event)
            if isinstance(event, StreamClosed):
                self._resets_left += 1
                self._frames_left += FRAMES_PER_ANSWER
                await self._stop_sending(event.stream_id)
            return
        if isinstance(event, Body):
            self._frames_left += len(event.data) // 1024 * FRAMES_PER_KIB
        self._answering.setdefault(event.stream_id, self.context.time())
        try:
            await super().stream_send(event)
        finally:
            if isinstance(event, EndBody):
                self._answering.pop(event.stream_id, None)

    def untaken(self, before: float) -> Iterator[int]:
        """Streams whose responses have waited for the client since before a time of the loop."""
        for stream_id, since in tuple(self._answering.items()):
            if since >= before:
                return
            yield stream_id

    async def give_up(self, stream_id: int) -> None:
        """Reset a stream whose client does not read the response."""
        self._answering.pop(stream_id, None)
        with suppress(ProtocolError):  # it may be closed already
            self.connection.reset_stream(stream_id, ErrorCodes.CANCEL)
        buffer = self.stream_buffers.get(stream_id)
        if buffer is not None:
            await buffer.close()
        await self._flush()

    async def _stop_sending(self, stream_id: int) -> None:
        """Ask the client not to send the rest of a request that was answered early."""
        stream = self.connection.streams.get(stream_id)
        if stream is None or stream.state_machine.state is not StreamState.HALF_CLOSED_LOCAL:
            return
        self.connection.reset_stream(stream_id, ErrorCodes.NO_ERROR)
        await self._flush()

    async def _handle_events(self, events: list[Event]) -> None:
        """Handle events one at a time: an event may end the stream of the next one."""
        for event in events:
            flood = isinstance(event, StreamReset) and not self._may_reset()
            if isinstance(event, DataReceived):
                flood = self._pieces.are_too_small(len(event.data or b""))
            elif isinstance(event, CONTROL):
                self._frames_left -= 1
                flood = self._frames_left < 0
            if flood:
                self._flooded = True
                self.connection.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
                await self._flush()
                await self.send(Flooded())
                return
            if isinstance(event, DataReceived) and event.stream_id not in self.streams:
                # The data belongs to a request that was answered before it was complete. Its bytes
                # count against the window that all streams share.
                self.connection.acknowledge_received_data(
                    event.flow_controlled_length or 0, event.stream_id
                )
            else:
                await super()._handle_events([event])
        await self._flush()

    def _may_reset(self) -> bool:
        self._resets_left -= 1
        return self._resets_left >= 0

    async def _create_stream(self, request: RequestReceived) -> None:
        head = dict(request.headers or ())
        if head.get(b":method") == b"CONNECT" or not head.get(b":path", b"").isascii():
            self.connection.reset_stream(request.stream_id, ErrorCodes.PROTOCOL_ERROR)
            return
        self.connection_state[ARRIVED] = perf_counter_ns()
        await super()._create_stream(request)
