"""HTTP/2: the protocol of Hypercorn, restricted to what policyd supports.

There is no WebSocket, and HTTP/2 is used only where TLS negotiated it (``--http2``).
``http2_session.py`` runs it on a connection.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    PriorityUpdated,
    RemoteSettingsChanged,
    RequestReceived,
    StreamReset,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from h2.stream import StreamState
from hpack import Decoder, HeaderTuple, OversizedHeaderListError
from hypercorn.events import Closed, RawData, Updated
from hypercorn.events import Event as ConnectionEvent
from hypercorn.protocol.events import Body, EndBody, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import H2Protocol

from policyd.http.endpoints import ARRIVED
from policyd.server.network.http2_frames import DATA, FrameHeads
from policyd.server.network.pieces import BodyPieces

# A client may reset this many streams of a connection more than were answered: an API server resets
# a stream when a request of its own client ends early. Each reset costs the server more than the
# client (CVE-2023-44487).
RESETS = 200
# HTTP/2 frames without data cost 50 us each and have 9 bytes, also those that are ignored. A
# connection may send this many, and more for each response and each KiB of it, because clients
# acknowledge what they read.
FREE_FRAMES = 1000
FRAMES_PER_ANSWER = 10
FRAMES_PER_KIB = 1
# Bytes parsed at a time, so that a flood is detected before all of it is parsed, and other
# connections have their turn meanwhile.
SLICE_BYTES = 4 * 1024
# Header fields of a request. One that is in HPACK's table costs 9 us to check and a byte to send.
MAX_FIELDS = 100
# Bytes of the table of header fields that were sent. A client may ask for any size, but the table
# is searched from end to end for each response. Every client has this size (RFC 9113, 6.5).
TABLE_BYTES = 4096


@dataclass(frozen=True)
class Flooded(Closed):
    """The end of a connection whose client floods it with resets, tiny pieces or empty frames."""


class _FewFields(Decoder):
    """A decoder of HPACK that also limits the number of header fields."""

    def decode(self, data: bytes, raw: bool = False) -> Iterable[HeaderTuple]:
        """Decode a head. An OversizedHeaderListError ends the connection."""
        found = list(super().decode(data, raw))
        if len(found) > MAX_FIELDS:
            raise OversizedHeaderListError(f"more than {MAX_FIELDS} header fields")
        return found


class _Connection(H2Connection):
    """h2's part of a connection."""

    # Numbers of streams that ended are kept for frames that come late.
    MAX_CLOSED_STREAMS = 1000

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.decoder = _FewFields(self.decoder.max_header_list_size)
        self.decoder.max_allowed_table_size = self.local_settings.header_table_size


class Http2(H2Protocol):
    """HTTP/2, where each stream is a request with timeouts of its own."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        replaced = self.connection
        self.connection = _Connection(replaced.config)
        vars(replaced).clear()  # a reference cycle
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
        self._heads = FrameHeads()
        self._pieces = BodyPieces()
        # Since when each stream waits for its client to read the response; the oldest first.
        self._answering: dict[int, float] = {}

    async def handle(self, event: ConnectionEvent) -> None:
        """Handle bytes from the client, or the end of the connection."""
        if isinstance(event, RawData):
            for start in range(0, len(event.data), SLICE_BYTES):
                if start:
                    await asyncio.sleep(0)
                if not self._flooded:
                    await self._handle_slice(event.data[start : start + SLICE_BYTES])
            return
        await super().handle(event)
        if isinstance(event, Closed):
            # The client is gone: release the tasks that wait for it to read the rest.
            for buffer in self.stream_buffers.values():
                await buffer.close()

    async def _handle_slice(self, data: bytes) -> None:
        if any(self._is_flood(*head) for head in self._heads.read(data)):
            await self._end_flood()
        else:
            await super().handle(RawData(data))

    def _is_flood(self, kind: int, length: int) -> bool:
        """Count a frame; whether there are too many without data, or with too little."""
        if kind == DATA:
            return self._pieces.are_too_small(length)
        self._frames_left -= 1
        return self._frames_left < 0

    async def _end_flood(self) -> None:
        self._flooded = True
        self.connection.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
        await self._flush()
        await self.send(Flooded())

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
        with suppress(ProtocolError):  # the connection may be closed already
            self.connection.reset_stream(stream_id, ErrorCodes.NO_ERROR)
        await self._flush()

    async def _handle_events(self, events: list[Event]) -> None:
        """Handle events one at a time: an event may end the stream of the next one."""
        for event in events:
            if isinstance(event, StreamReset) and not self._may_reset():
                return await self._end_flood()
            if isinstance(event, DataReceived) and event.stream_id not in self.streams:
                # The data belongs to a request that was answered before it was complete. Its bytes
                # count against the window that all streams share.
                self.connection.acknowledge_received_data(
                    event.flow_controlled_length or 0, event.stream_id
                )
                continue
            if isinstance(event, RequestReceived) and not is_supported(event):
                with suppress(ProtocolError):  # the client may have reset it
                    self.connection.reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
                continue
            await super()._handle_events([event])
            if isinstance(event, StreamReset) and not self.streams:
                await self.send(Updated(idle=True))
            elif isinstance(event, RemoteSettingsChanged):
                self._limit_table()
        await self._flush()

    def _limit_table(self) -> None:
        encoder = self.connection.encoder
        if encoder.header_table_size <= TABLE_BYTES:
            return  # set again, a change that the client has to be told of would be forgotten
        encoder.header_table_size = TABLE_BYTES

    async def _priority_updated(self, event: PriorityUpdated) -> None:
        """Ignore priorities, as RFC 9113 allows (5.3): a client could build a tree of them that is
        deep or wide, and the whole tree is searched for each part of a response.
        """

    def _may_reset(self) -> bool:
        self._resets_left -= 1
        return self._resets_left >= 0

    async def _create_stream(self, request: RequestReceived) -> None:
        self.connection_state[ARRIVED] = perf_counter_ns()
        await super()._create_stream(request)


def is_supported(request: RequestReceived) -> bool:
    """Return whether Hypercorn makes an HTTP request of it: no WebSocket, and no error."""
    head = dict(request.headers or ())
    method, path = head.get(b":method", b""), head.get(b":path", b"")
    return method.upper() != b"CONNECT" and method.isascii() and path.isascii()
