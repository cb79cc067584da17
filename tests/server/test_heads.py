"""Heads are read once: what is remembered of one must never decide about another."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.server.network.heads import (
    KNOWN_BYTES,
    LENGTH_DIGITS,
    Head,
    RefusedRequest,
    _read,
    head_of,
)
from tools.bench.server import request

LINES = (
    b"Host: policyd.policyd.svc:443",
    b"User-Agent: kube-apiserver-admission",
    b"Content-Length: 5",
    b"Content-Length: 12345",
    b"content-length: 5",
    b"Content-Length: 0",
    b"Content-Length: 05",
    b"Content-Length: +5",
    b"Content-Length: 5 ",
    b"Content-Length:  5",
    b"Content-Length:\t5",
    b"Content-Length: 5, 5",
    b"Content-Length: 0x5",
    b"Content-Length: ",
    b"Content-Length: \xd9\xa5",
    b"Content-Length: " + b"9" * LENGTH_DIGITS,
    b"Content-Length: 1" + b"0" * LENGTH_DIGITS,
    b" Content-Length: 7",
    b"X: a\n Content-Length: 7",
    b"Transfer-Encoding: chunked",
    b"Expect: 100-continue",
    b"Connection: close",
    b"Upgrade: h2c",
    b"X-Content-Length: 9",
    b"X: " + b"x" * KNOWN_BYTES,
)
STARTS = (
    b"POST /validate?timeout=10s HTTP/1.1",
    b"POST /validate HTTP/1.0",
    b"GET /a%20b HTTP/1.1",
    b"CONNECT a:1 HTTP/1.1",
)

_Said = tuple[Head, int, list[tuple[bytes, bytes]]] | int


def head(start: bytes, *lines: bytes) -> bytes:
    return b"\r\n".join((start, *lines)) + b"\r\n\r\n"


def said(data: bytes) -> _Said:
    """What is said of a head, with the Head's own Content-Length left out, or the refusal."""
    try:
        known, length, headers = head_of(data)
    except RefusedRequest as refused:
        return int(refused.args[0])
    return known._replace(headers=(), length=0), length, headers


def read_anew(data: bytes) -> _Said:
    try:
        known = _read(data)
    except RefusedRequest as refused:
        return int(refused.args[0])
    return known._replace(headers=(), length=0), known.length, list(known.headers)


@pytest.mark.parametrize("start", STARTS)
def test_every_pair_of_fields_is_read_like_one_that_was_never_seen(start: bytes) -> None:
    for first, second in product(LINES, repeat=2):
        data = head(start, LINES[0], first, second)
        assert said(data) == read_anew(data), data
        assert said(data) == read_anew(data), data


@given(st.sampled_from(STARTS), st.lists(st.sampled_from(LINES), max_size=6))
def test_any_fields_are_read_like_those_that_were_never_seen(
    start: bytes, lines: list[bytes]
) -> None:
    data = head(start, *lines)
    assert said(data) == read_anew(data)


@given(st.lists(st.integers(1, 10**LENGTH_DIGITS - 1), min_size=2, max_size=5))
def test_each_request_has_its_own_length(lengths: list[int]) -> None:
    template = request(b"")
    for length in lengths:
        data = template.replace(b"Content-Length: 0", b"Content-Length: %d" % length)
        _, found, headers = head_of(data)
        assert found == length
        assert dict(headers)[b"content-length"] == b"%d" % length


def test_headers_are_not_shared() -> None:
    data = head(STARTS[0], LINES[0], LINES[2])
    _, _, headers = head_of(data)
    headers.clear()
    assert len(head_of(data)[2]) == 2
