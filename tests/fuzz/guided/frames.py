"""Frames of HTTP/2 for its fuzz target: taken apart, changed and put together again. Knows no rules of
HTTP/2 but the form of a frame.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from random import Random
from typing import NamedTuple

from tests.fuzz.guided import mutating

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = 9
# Only in inputs: sends the frame before it this many times more.
REPEAT = 0xFE
MOST_REPEATS = 1500


class Kind(IntEnum):
    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9
    ALTSVC = 10


END_STREAM, END_HEADERS, PADDED, PRIORITIZED = 1, 4, 8, 32


class Frame(NamedTuple):
    """One frame."""

    kind: int
    flags: int
    stream: int
    payload: bytes = b""

    def encoded(self) -> bytes:
        head = len(self.payload).to_bytes(3, "big") + bytes((self.kind & 255, self.flags & 255))
        return head + (self.stream & 0xFFFF_FFFF).to_bytes(4, "big") + self.payload


def split(data: bytes) -> Iterator[Frame]:
    """Yield the whole frames of bytes; what is left at the end is dropped."""
    at = 0
    while at + HEAD <= len(data):
        end = at + HEAD + int.from_bytes(data[at : at + 3], "big")
        if end > len(data):
            return
        stream = int.from_bytes(data[at + 5 : at + 9], "big")
        yield Frame(data[at + 3], data[at + 4], stream, data[at + HEAD : end])
        at = end


def sent(data: bytes) -> list[bytes]:
    """Return what an input sends: the preface and its frames, repeated as it says, and the rest."""
    pieces = [PREFACE]
    frames = [*split(data)]
    left = MOST_REPEATS
    for frame in frames:
        if frame.kind != REPEAT:
            pieces.append(frame.encoded())
        elif len(pieces) > 1:
            times = min(int.from_bytes(frame.payload[:2], "big"), left)
            left -= times
            pieces += [pieces[-1]] * times
    pieces.append(data[sum(HEAD + len(each.payload) for each in frames) :])
    return pieces


def repeat(times: int) -> Frame:
    return Frame(REPEAT, 0, 0, times.to_bytes(2, "big"))


def joined(frames: Iterable[Frame]) -> bytes:
    return b"".join(each.encoded() for each in frames)


def block(*fields: tuple[str, str]) -> bytes:
    """Return header fields as HPACK literals, which need no table."""
    return b"".join(b"\x00" + _string(name) + _string(value) for name, value in fields)


def _string(text: str) -> bytes:
    assert len(text) < 127
    return bytes((len(text),)) + text.encode("latin-1")


def mutated(data: bytes, chance: Random, words: tuple[Frame, ...]) -> bytes:
    """Return the frames with one to four changes; at times bytes are changed, whatever they mean."""
    if chance.random() < 0.1:
        return mutating.octets(data, chance)
    frames = [*split(data)]
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randint(0, len(frames))
        way = chance.randrange(7)
        if way == 0 or not frames:
            frames.insert(at, chance.choice(words))
        elif way == 1:
            del frames[at % len(frames)]
        elif way == 2:
            frames.insert(at, chance.choice(frames))
        elif way == 3:
            frames.insert(at, repeat(chance.choice((1, 5, 250, 1100))))
        else:
            frames[at % len(frames)] = _changed(frames[at % len(frames)], chance)
    return joined(frames)[: mutating.MOST]


def _changed(frame: Frame, chance: Random) -> Frame:
    way = chance.randrange(5)
    if way == 0:
        return frame._replace(kind=chance.choice((*Kind, 77)))
    if way == 1:
        return frame._replace(flags=frame.flags ^ chance.choice((1, 4, 8, 32)))
    if way == 2:
        return frame._replace(stream=chance.choice((0, 1, 2, 3, 5, 7, 2**31 - 1, 2**31 + 1)))
    if way == 3 and frame.kind == Kind.HEADERS:
        return frame._replace(payload=_other_field(frame.payload, chance))
    return frame._replace(payload=mutating.octets(frame.payload, chance)[:16_000])


def _other_field(payload: bytes, chance: Random) -> bytes:
    """Replace a field by another one, of the same name if there is one, or add it."""
    new = chance.choice(FIELDS)
    for old in (*POST, *FIELDS):
        if old[0] == new[0] and block(old) in payload:
            return payload.replace(block(old), block(new))
    return payload + block(new)


POST = ((":method", "POST"), (":path", "/a"), (":scheme", "https"), (":authority", "x"))
FIELDS = (
    *((":method", each) for each in ("GET", "HEAD", "CONNECT", "connect", "\xff", "")),
    *((":path", each) for each in ("/", "/early", "/large", "/\xe9", "*", "", "/a?b=c")),
    *((":scheme", "https"), (":authority", "x"), (":protocol", "websocket"), ("host", "y")),
    *(("content-length", each) for each in ("5", "0", "99", "-1", "x")),
    *(("transfer-encoding", "chunked"), ("te", "trailers"), ("cookie", "a=b"), ("X", "y")),
)
