"""HTTP/2: the protocol of Hypercorn, restricted to what policyd supports.

There is no WebSocket, and HTTP/2 is used only where TLS negotiated it (``--http2``).
``http2_session.py`` runs it on a connection.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

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
from hypercorn.protocol.events import Body, EndBody, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import H2Protocol

from policyd.http.endpoints import ARRIVED
from policyd.server.network.pieces import BodyPieces

# A client may reset this many streams of a connection more than were answered: an API server resets
# a stream when a request of its own client ends early. Each reset costs the server more than the
# client (CVE-2023-44487).
RESETS = 200
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
