"""Parses the head of an HTTP/1.0 or 1.1 request: how its body is delimited, and which heads are
refused. Reads no bodies.

llhttp (in httptools, Node's parser) parses the head; policyd refuses whatever RFC 9112 leaves to
the server. An API server sends the same head repeatedly, with another Content-Length, so it is
parsed once.
"""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from policyd.http.messages import Header

# Bytes and fields of the head of a request. An API server sends some 300 bytes in 7 fields.
HEAD_BYTES = 16 * 1024
HEAD_FIELDS = 128
# Digits of Content-Length: far beyond any body, and far below what a C library would overflow at.
LENGTH_DIGITS = 15
VERSIONS = ("1.1", "1.0")
# How many heads are cached, and the largest size of each: half a megabyte in all.
KNOWN_HEADS = 256
KNOWN_BYTES = 2 * 1024
# As Go's HTTP client writes it. Heads with other spellings are parsed each time.
_LENGTH = b"\r\nContent-Length: "
# Replaces any Content-Length above zero while a head is parsed.
_ANY_LENGTH = b"1"
_FRAMING = frozenset(
    (b"content-length", b"host", b"connection", b"transfer-encoding", b"expect"),
)


class RefusedRequest(Exception):
    """The request is not acceptable; ``args[0]`` is the status of the response."""


class Head(NamedTuple):
    """An accepted head. ``length_field`` is the index of Content-Length in ``headers``, -1 without
    it; ``length`` is its value. ``expects``: the client waits for status 100.
    """

    method: str
    version: str
    path: str
    raw_path: bytes
    query: bytes
    headers: tuple[Header, ...]
    length_field: int
    length: int
    chunked: bool
    keep_alive: bool
    expects: bool


def head_of(data: bytes) -> tuple[Head, int, list[Header]]:
    """Return the parsed head, the length of the body (0 if it is chunked), and the headers;
    ``data`` ends with the empty line. The headers of the Head may have another Content-Length.
    Raises RefusedRequest.
    """
    start = data.find(_LENGTH) + len(_LENGTH)
    end = data.find(b"\r", start)
    digits = data[start:end]
    if start < len(_LENGTH) or len(data) > KNOWN_BYTES or not _is_length(digits):
        head = _read(data)
        return head, head.length, list(head.headers)
    head = _known(data[:start] + _ANY_LENGTH + data[end:])
    headers = list(head.headers)
    headers[head.length_field] = (b"content-length", digits)
    return head, int(digits), headers


def parse(parser: HttpRequestParser, data: bytes | memoryview) -> None:
    """Pass bytes of a request to llhttp. Raises RefusedRequest."""
    try:
        parser.feed_data(data)
    except HttpParserUpgrade:
        pass  # at the end of a request, which is the last one
    except HttpParserError as error:
        # The preface of HTTP/2, which is not served here, and versions that llhttp does not know.
        wrong = str(error) in ("Pause on PRI/Upgrade", "Invalid HTTP version")
        raise RefusedRequest(505 if wrong else 400) from None


def _is_length(digits: bytes) -> bool:
    """Whether it is a Content-Length above zero, which may be replaced in a cached head."""
    return digits.isdigit() and len(digits) <= LENGTH_DIGITS and digits[:1] != b"0"


class _Parsed:
    """The parts of a head that llhttp reads; the methods are its callbacks."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[Header] = []
        self.head_ended = self.ended = False

    def on_message_begin(self) -> None:
        """A request begins."""
        if self.ended:  # a second request in the same head
            raise RefusedRequest(400)

    def on_url(self, url: bytes) -> None:
        """The target of the request, or a part of it."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One field."""
        self.headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        """The head ends."""
        self.head_ended = True

    def on_message_complete(self) -> None:
        """The request ends."""
        self.ended = True


def _read(data: bytes) -> Head:
    parsed = _Parsed()
    parser = HttpRequestParser(parsed)
    parse(parser, data)
    version = parser.get_http_version()
    if version not in VERSIONS:
        raise RefusedRequest(505)
    method = parser.get_method()
    # llhttp accepts extra spaces, other protocols (RTSP) and no protocol (HTTP/0.9).
    if not data.startswith(b"%b %b HTTP/%b\r\n" % (method, parsed.url, version.encode())):
        raise RefusedRequest(400)
    raw_path, _, query = parsed.url.partition(b"?")
    path = raw_path.decode("ascii")
    head = Head(
        method.decode("ascii"),
        version,
        unquote(path) if "%" in path else path,
        raw_path,
        query,
        tuple(parsed.headers),
        *_framing(parsed, version),
    )
    # llhttp expects another protocol after Upgrade and CONNECT.
    return head._replace(keep_alive=False) if parser.should_upgrade() else head


def _framing(parsed: _Parsed, version: str) -> tuple[int, int, bool, bool, bool]:
    """Return the last fields of a Head: how the body is delimited, whether another request may
    follow, and whether the client waits for status 100.

    Refused although some servers accept it: Transfer-Encoding beside Content-Length, repeated,
    in HTTP/1.0 or with any other coding than chunked; repeated Content-Length or Host.
    """
    if not parsed.head_ended or len(parsed.headers) > HEAD_FIELDS:
        raise RefusedRequest(431 if parsed.head_ended else 400)
    at, length = -1, 0
    hosts = codings = 0
    keep_alive, expects = version == "1.1", False
    for index, (name, value) in enumerate(parsed.headers):
        if name not in _FRAMING:
            continue
        if name == b"content-length":
            if at >= 0 or not value.isdigit() or len(value) > LENGTH_DIGITS:
                raise RefusedRequest(400)
            at, length = index, int(value)
        elif name == b"host":
            hosts += 1
        elif name == b"connection":
            if b"close" in (each.strip(b" \t") for each in value.lower().split(b",")):
                keep_alive = False
        elif name == b"transfer-encoding":
            codings += 1
            if value.lower() != b"chunked":
                raise RefusedRequest(501)
        else:
            expects = version == "1.1" and b"100-continue" in value.lower()
    if hosts != 1 and (hosts or version == "1.1"):
        raise RefusedRequest(400)
    if codings and (codings > 1 or at >= 0 or version != "1.1"):
        raise RefusedRequest(400)
    # llhttp takes the body of a request with Upgrade or CONNECT for another protocol.
    if parsed.ended == bool(codings or length):
        raise RefusedRequest(400)
    # Only llhttp knows where a chunked body ended: bytes after it are not interpreted.
    return at, length, codings == 1, keep_alive and not codings, expects


# A pure function of the bytes of a head, so that all connections share its cache.
_known = lru_cache(maxsize=KNOWN_HEADS)(_read)
