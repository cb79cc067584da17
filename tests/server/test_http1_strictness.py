"""Hostile requests of HTTP/1.1: policyd refuses all that h11 refuses, and more where that is safer.

A request that policyd accepts is the same request for h11, to the last byte of its body: no part of
it can be taken for another one (request smuggling).
"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from policyd.server.network.heads import HEAD_BYTES, HEAD_FIELDS
from policyd.server.network.http1 import CHUNK_BYTES
from tests.sampling import examples
from tests.server.http1 import comparable, read, read_by_h11

HOST = b"Host: x\r\n"
POST = b"POST /validate HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CODING = b"Transfer-Encoding: chunked\r\n"
NEXT = b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n"


def sized(*lines: bytes, body: bytes = b"abc") -> bytes:
    """A request with a body of three bytes and further lines."""
    return POST + b"".join(lines) + b"Content-Length: 3\r\n\r\n" + body


# What both accept: how many requests the app sees.
ACCEPTED = [
    ("plain", sized(), 1),
    ("two requests", sized() + NEXT, 2),
    ("no body", POST + b"\r\n" + NEXT, 2),
    ("white space around a value", sized(b"A: \t b \t \r\n"), 1),
    ("empty value", sized(b"A:\r\n"), 1),
    ("bytes beyond ASCII in a value", sized(b"A: \xff\xfe\r\n"), 1),
    ("absolute form", sized().replace(b"/validate", b"http://x/validate"), 1),
    ("asterisk form", NEXT.replace(b"GET /next", b"OPTIONS *"), 1),
    ("chunks", CHUNKED + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 1),
    ("chunk sizes with zeros and letters", CHUNKED + b"00A\r\n0123456789\r\n000\r\n\r\n", 1),
    ("chunk extension", CHUNKED + b"3;a=b\r\nabc\r\n0\r\n\r\n", 1),
    ("trailer", CHUNKED + b"3\r\nabc\r\n0\r\nA: b\r\n\r\n", 1),
    ("coding in capitals", CHUNKED.replace(b"chunked", b"ChunKed") + b"0\r\n\r\n", 1),
    ("Connection: close", sized(b"Connection: close\r\n") + NEXT, 1),
    ("Connection: Close in a list", sized(b"Connection: a,\tClose ,b\r\n") + NEXT, 1),
    ("Connection: close in a second field", sized(b"Connection: a\r\nconnection: close\r\n") + NEXT, 1),
    ("Connection: closed", sized(b"Connection: closed\r\n") + NEXT, 2),
    ("HTTP/1.0", b"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc" + NEXT, 1),
    ("HTTP/1.0 keep-alive", b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + NEXT, 1),
    ("HEAD", b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + NEXT, 2),
    ("Upgrade to HTTP/2", POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 1),
    ("Expect", sized(b"Expect: 100-continue\r\n"), 1),
    ("incomplete head", POST, 0),
    ("incomplete body", sized(body=b"ab"), 0),
    ("incomplete chunk", CHUNKED + b"3\r\nab", 0),
    ("largest head", POST + b"A: " + b"a" * (HEAD_BYTES - len(POST) - 7) + b"\r\n\r\n", 1),
]  # fmt: skip

# What both refuse: the status of policyd. A status of h11 of its own is the last item.
REFUSED: list[tuple[Any, ...]] = [
    ("HTTP/0.9", b"GET /\r\n\r\n", 505),
    ("not HTTP", b"\x00\x01\x02 nonsense\r\n\r\n", 400),
    ("TLS in TLS", b"\x16\x03\x01\x02\x00\x01\x00", 400),
    ("empty line first", b"\r\n" + sized(), 400),
    ("two spaces in the request line", sized().replace(b"POST /", b"POST  /"), 400),
    ("two spaces before the version", sized().replace(b" HTTP", b"  HTTP"), 400),
    ("tab in the request line", sized().replace(b"POST /", b"POST\t/"), 400),
    ("space after the version", sized().replace(b"1.1\r", b"1.1 \r"), 400),
    ("space in the target", sized().replace(b"/validate", b"/vali date"), 400),
    ("bytes beyond ASCII in the target", sized().replace(b"/validate", b"/\xc3\xa9"), 400),
    ("NUL in the target", sized().replace(b"/validate", b"/\0"), 400),
    ("no target", b"GET HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("other protocol", sized().replace(b"HTTP/1.1", b"RTSP/1.0"), 400),
    ("PLAY of RTSP", b"PLAY rtsp://x RTSP/1.0\r\nHost: x\r\n\r\n", 400),
    ("version in small letters", sized().replace(b"HTTP/1.1", b"http/1.1"), 400),
    ("no Host", b"GET / HTTP/1.1\r\n\r\n", 400),
    ("two Hosts", sized(HOST), 400),
    ("space before the colon", sized(b"A : b\r\n"), 400),
    ("space before the name", POST.replace(b"Host", b" Host") + b"\r\n", 400),
    ("no colon", sized(b"A\r\n"), 400),
    ("no name", sized(b": b\r\n"), 400),
    ("parenthesis in a name", sized(b"A(: b\r\n"), 400),
    ("NUL in a value", sized(b"A: b\0c\r\n"), 400),
    ("NUL in a name", sized(b"A\0: b\r\n"), 400),
    ("carriage return in a value", sized(b"A: b\rc\r\n"), 400),
    ("vertical tab before chunked", POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("two lengths", sized(b"Content-Length: 4\r\n"), 400),
    ("two lengths in one", sized().replace(b": 3", b": 3, 4"), 400),
    ("length with a plus", sized().replace(b": 3", b": +3"), 400),
    ("length with a minus", sized().replace(b": 3", b": -3"), 400),
    ("length in hexadecimal", sized().replace(b": 3", b": 0x3"), 400),
    ("length with a space", sized().replace(b": 3", b": 3 0"), 400),
    ("empty length", sized().replace(b": 3", b":"), 400),
    ("length beyond 64 bits", sized().replace(b": 3", b": 99999999999999999999999"), 400),
    ("gzip, chunked", CHUNKED.replace(b"chunked", b"gzip, chunked") + b"0\r\n\r\n", 501),
    ("identity", CHUNKED.replace(b"chunked", b"identity"), 501, 400),
    ("chunked, gzip", CHUNKED.replace(b"chunked", b"chunked, gzip"), 501, 400),
    ("chunked twice", POST + CODING + CODING + b"\r\n0\r\n\r\n", 501, 400),
    ("xchunked", CHUNKED.replace(b"chunked", b"xchunked") + b"0\r\n\r\n", 501, 400),
    ("chunk size with a minus", CHUNKED + b"-1\r\na\r\n0\r\n\r\n", 400),
    ("chunk size with a plus", CHUNKED + b"+1\r\na\r\n0\r\n\r\n", 400),
    ("chunk size with 0x", CHUNKED + b"0x1\r\na\r\n0\r\n\r\n", 400),
    ("chunk size beyond 80 bits", CHUNKED + b"F" * 21 + b"\r\n", 400),
    ("no chunk size", CHUNKED + b"\r\nabc\r\n0\r\n\r\n", 400),
    ("space before a chunk size", CHUNKED + b" 1\r\na\r\n0\r\n\r\n", 400),
    ("chunk longer than its size", CHUNKED + b"1\r\nab\r\n0\r\n\r\n", 400),
    ("chunk line without carriage return", CHUNKED + b"1\na\r\n0\r\n\r\n", 400),
    ("trailer without a colon", CHUNKED + b"0\r\nA b\r\n\r\n", 400),
    ("head without an end", POST + b"A: " + b"a" * HEAD_BYTES, 431),
    ("one long line", b"GET /" + b"a" * HEAD_BYTES, 431),
]  # fmt: skip

# What h11 accepts and policyd refuses, and why.
STRICTER = [
    ("length and chunks", sized(CODING, body=b"0\r\n\r\n"), 400, "a proxy may use the other one"),
    ("chunks and length", POST + b"Content-Length: 5\r\n" + CODING + b"\r\n0\r\n\r\n", 400, "the same"),
    ("length twice", sized(b"Content-Length: 3\r\n"), 400, "no client sends it"),
    ("length twice in one", sized().replace(b": 3", b": 3, 3"), 400, "no client sends it"),
    ("chunks in HTTP/1.0", b"POST / HTTP/1.0\r\n" + CODING + b"\r\n0\r\n\r\n", 400, "RFC 9112, 6.1"),
    ("folded line", sized(b"A: b\r\n c\r\n"), 400, "RFC 9112, 5.2"),
    ("lines without carriage return", sized().replace(b"\r\n", b"\n"), 400, "proxies differ"),
    ("one line without it", sized(b"A: b\n"), 400, "proxies differ"),
    ("control character in a value", sized(b"A: \x01\r\n"), 400, "RFC 9110, 5.5"),
    ("space after a chunk size", CHUNKED + b"1 \r\na\r\n0\r\n\r\n", 400, "no client sends it"),
    ("return within an extension", CHUNKED + b"1;a\rb\r\na\r\n0\r\n\r\n", 400, "RFC 9112, 2.2"),
    ("chunk size of 68 bits", CHUNKED + b"F" * 17 + b"\r\na", 400, "nothing is that large"),
    ("length of 16 digits", sized().replace(b": 3", b": 0000000000000003"), 400, "no client sends it"),
    ("length among trailers", CHUNKED + b"0\r\nContent-Length: 3\r\n\r\nabc", 400, "a proxy may merge it"),
    ("extensions without bound", CHUNKED + b"1;" + b"a" * 15_000 + b"\r\na\r\n1;" + b"a" * 15_000 + b"\r\na\r\n0\r\n\r\n", 400, "costs much, carries nothing"),
    ("trailers without bound", CHUNKED + b"0\r\n" + b"A: b\r\n" * 3000 + b"\r\n", 400, "costs much, carries nothing"),
    ("many fields", POST + b"A: b\r\n" * HEAD_FIELDS + b"\r\n", 431, "each costs time"),
    ("unknown method", NEXT.replace(b"GET", b"BREW"), 400, "llhttp knows those that exist"),
    ("method in small letters", NEXT.replace(b"GET", b"get"), 400, "methods are case-sensitive"),
    ("CONNECT with a body", sized().replace(b"POST /validate", b"CONNECT x:1"), 400, "RFC 9110, 9.3.6"),
    ("Upgrade with a body", sized(b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), 400, "llhttp takes the body for the other protocol"),
    ("Upgrade with chunks", CHUNKED.replace(HOST, HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n") + b"0\r\n\r\n", 400, "the same"),
    ("version 0.9", b"GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505, "h11 leaves versions to servers"),
    ("preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "h11 leaves versions to servers"),
    ("HTTP/2.0", b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, "h11 leaves versions to servers"),
    ("HTTP/1.2", b"GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505, "h11 leaves versions to servers"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "count"), [row[1:] for row in ACCEPTED], ids=[r[0] for r in ACCEPTED]
)
def test_both_accept_the_same(data: bytes, count: int) -> None:
    ours, (theirs, _) = read([data]), read_by_h11(data)
    assert [comparable(each) for each in ours.heard] == theirs
    assert (len(theirs), ours.malformed) == (count, [])
    assert ours.statuses[-1:] == [200] * bool(count)


@pytest.mark.parametrize("row", REFUSED, ids=[row[0] for row in REFUSED])
def test_both_refuse(row: tuple[Any, ...]) -> None:
    _, data, *statuses = row
    ours, (theirs, status) = read([data + NEXT]), read_by_h11(data + NEXT)
    assert (ours.heard, theirs) == ([], [])
    assert ours.malformed == ours.statuses
    assert ours.malformed[0] in statuses
    assert status >= 400
    assert ours.ended == "answered"


@pytest.mark.parametrize("row", STRICTER, ids=[row[0] for row in STRICTER])
def test_policyd_is_stricter(row: tuple[str, bytes, int, str]) -> None:
    _, data, status, why = row
    ours, (theirs, refused) = read([data + NEXT]), read_by_h11(data + NEXT)
    assert (ours.heard, ours.malformed, ours.statuses) == ([], [status], [status])
    assert ours.ended == "answered"
    assert theirs or not refused, f"h11 refuses it, too: not stricter because {why}"


LINES = (
    HOST, b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", CODING, b"Content-Length: 3, 3\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n",
    b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b"A: b\r\n", b" folded\r\n", b"A : b\r\n", b"\n", b"\r",
    b"content-length:3\r\n", b"transfer-encoding:\tchunked \r\n", b"A: \0\r\n", b"\x0b", b":", b" ",
)  # fmt: skip
STARTS = (
    b"POST / HTTP/1.1\r\n", b"GET /a?b#c HTTP/1.1\r\n", b"POST / HTTP/1.0\r\n", b"HEAD / HTTP/1.1\r\n",
    b"GET  / HTTP/1.1\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"GET / HTTP/2.0\r\n", b"GET /\r\n", b"\r\n",
)  # fmt: skip
BODIES = (
    b"", b"abc", b"0\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n", b"1;x=y\r\na\r\n0\r\nA: b\r\n\r\n", b"0\r\n",
    b"1\r\na\n0\r\n\r\n", b"-1\r\n", b"00000000000000001\r\na\r\n0\r\n\r\n", NEXT, b"\r\n", b"1 \r\na\r\n",
)  # fmt: skip
MESSAGES = st.builds(
    lambda start, lines, body: start + b"".join(lines) + b"\r\n" + body,
    st.sampled_from(STARTS),
    st.lists(st.sampled_from(LINES), max_size=4).map(lambda lines: [HOST, *lines]),
    st.sampled_from(BODIES),
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Some requests, with a few bytes changed."""
    data = b"".join(draw(st.lists(MESSAGES, min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(data)))
        inserted = draw(
            st.sampled_from((b"", b"\r", b"\n", b" ", b"\t", b"\0", b",", b"\xff", b"0"))
        )
        data = data[:at] + inserted + data[at + draw(st.integers(0, 2)) :]
    return data


@settings(max_examples=examples(400), deadline=None)
@given(streams())
@example(sized(CODING, body=b"0\r\n\r\n") + NEXT)
def test_whatever_is_accepted_is_the_same_request_for_h11(data: bytes) -> None:
    ours, (theirs, _) = read([data]), read_by_h11(data)
    assert [comparable(each) for each in ours.heard] == theirs[: len(ours.heard)]
    # One response for each request, and one for what is refused.
    final = [status for status in ours.statuses if status >= 200]
    assert final == [200] * len(ours.heard) + ours.malformed


@settings(max_examples=examples(300), deadline=None)
@given(streams(), st.data())
def test_any_split_gives_the_same(data: bytes, splits: st.DataObject) -> None:
    """How the bytes arrive is up to the network, and to whoever sends them."""
    whole = read([data])
    places = splits.draw(st.lists(st.integers(0, len(data)), max_size=8).map(sorted))
    edges = [0, *places, len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert read([piece for piece in pieces if piece]) == whole


TABLE: list[bytes] = [row[1] for row in (*ACCEPTED, *REFUSED, *STRICTER)]


@pytest.mark.parametrize("data", [data for data in TABLE if len(data) < 500])
def test_single_bytes_give_the_same(data: bytes) -> None:
    assert read([data[at : at + 1] for at in range(len(data))]) == read([data])


def test_chunked_body_has_room_for_what_clients_send() -> None:
    """Chunks of a KiB with their sizes, far beyond the bytes that are free."""
    chunks = b"".join(b"400\r\n%b\r\n" % (b"a" * 1024) for _ in range(CHUNK_BYTES))
    (heard,) = read([CHUNKED + chunks + b"0\r\n\r\n"]).heard
    assert len(heard.body) == 1024 * CHUNK_BYTES
