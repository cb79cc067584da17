"""URLs as Go's net/url parses and prints them, with its error messages."""

from urllib.parse import quote_from_bytes

from policyd._core.go.strings cimport shown
from policyd._core.net.address cimport IP, parse_address

cdef frozenset HEX = frozenset(b"0123456789abcdefABCDEF")
cdef frozenset UNRESERVED = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
)
# The bytes that quote_from_bytes leaves unescaped in each part.
cdef frozenset IN_PATH = UNRESERVED | frozenset(b"$&+,/:;=@")
cdef frozenset IN_HOST = UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
cdef frozenset IN_USER = UNRESERVED | frozenset(b"$&+,;=")
cdef frozenset IN_FRAGMENT = UNRESERVED | frozenset(b"$&+,/:;=?@!()*")
# The bytes of a path that is kept as written.
cdef frozenset VALID_PATH = IN_PATH | frozenset(b"!'()*[]%")
cdef frozenset USER_INFO = UNRESERVED | frozenset(b":!$&'()*+,;=%@")

cdef enum:
    MAX_PARAMETERS = 10000


class _Invalid(Exception):
    """The URL is invalid; the message says why."""


cdef class ParsedURL:
    """A URL as Go's net/url parses it."""
    #: def __init__(self, *args: object, **kwargs: object) -> None: ...
    #: user: str | None
    def __init__(self):
        raise TypeError("use parse_url")

    cdef str escaped_path(self):
        if self.raw_path and VALID_PATH.issuperset(self.raw_path.encode()):
            return self.raw_path
        return "*" if self.path == b"*" else quote_from_bytes(self.path, IN_PATH)

    cdef str string(self):
        cdef list parts = []
        cdef str path
        if self.scheme:
            parts.append(self.scheme + ":")
        if self.opaque:
            parts.append(self.opaque)
        else:
            if self.scheme or self.host or self.user is not None:
                parts.append(self.authority())
            path = self.escaped_path()
            if path and path[0] != "/" and self.host:
                parts.append("/")
            if not "".join(parts) and ":" in path.partition("/")[0]:
                parts.append("./")
            parts.append(path)
        if self.force_query or self.raw_query:
            parts.append("?" + self.raw_query)
        if self.fragment:
            parts.append("#" + self.fragment)
        return "".join(parts)

    def authority(self):
        #: () -> str
        """``//user@host``, or ""."""
        if self.omit_host and not self.host and self.user is None:
            return ""
        start = "//" if self.host or self.path or self.user is not None else ""
        user = "" if self.user is None else self.user + "@"
        host = self.host.encode("utf-8", "surrogateescape")
        return start + user + quote_from_bytes(host, IN_HOST)

    cdef dict query(self):
        cdef dict found = {}
        cdef list pairs = self.raw_query.split("&")
        if len(pairs) > MAX_PARAMETERS:
            return found
        for pair in pairs:
            if not pair or ";" in pair:
                continue
            key, _, value = pair.partition("=")
            try:
                key = to_string(unescape(key.replace("+", " ")))
                value = to_string(unescape(value.replace("+", " ")))
            except _Invalid:
                continue
            found.setdefault(key, []).append(value)
        return found


cdef str to_string(bytes data):
    return data.decode("utf-8", "replace")


cdef str shown_bytes(bytes data):
    """Quote bytes that need not be UTF-8."""
    cdef str text = shown(data.decode("utf-8", "surrogateescape"))
    for byte in data:
        if byte >= 0x80:
            text = text.replace(f"\\udc{byte:02x}", f"\\x{byte:02x}")
    return text


cdef bytes unescape(str text):
    """Decode percent escapes. urllib's unquote_to_bytes makes an object of each."""
    cdef bytes data = text.encode()
    cdef bytearray out = bytearray()
    cdef Py_ssize_t i = 0
    if b"%" not in data:
        return data
    while i < len(data):
        if data[i] != c"%":
            out.append(data[i])
            i += 1
            continue
        if i + 2 >= len(data) or data[i + 1] not in HEX or data[i + 2] not in HEX:
            raise _Invalid(f"invalid URL escape {shown_bytes(data[i:i + 3])}")
        out.append(int(data[i + 1:i + 3], 16))
        i += 3
    return bytes(out)


cdef str unescape_host(str text, bint zone=False):
    """Decode the escapes of a host: only non-ASCII bytes and %25; in a zone, host characters too.
    """
    cdef bytes data = text.encode()
    cdef Py_ssize_t i = 0
    while i < len(data):
        if data[i] == c"%":
            code = data[i:i + 3]
            if len(code) < 3 or code[1] not in HEX or code[2] not in HEX:
                raise _Invalid(f"invalid URL escape {shown_bytes(code)}")
            value = int(code[1:], 16)
            allowed = code == b"%25" or (
                (value == 0x20 or value in IN_HOST) if zone else value >= 0x80
            )
            if not allowed:
                raise _Invalid(f"invalid URL escape {shown_bytes(code)}")
            i += 3
            continue
        if data[i] < 0x80 and data[i] not in IN_HOST:
            raise _Invalid(f"invalid character {shown(chr(data[i]))} in host name")
        i += 1
    return unescape(text).decode("utf-8", "surrogateescape")


cdef object parse_request_uri(str text):
    """The ParsedURL, or Go's error message ('parse "…": …')."""
    try:
        return parse(text, True)
    except _Invalid as invalid:
        return f"parse {shown(text)}: {invalid}"


cpdef object parse_url(str text):
    #: (str) -> ParsedURL | str
    """Go's url.Parse: the ParsedURL, or the error message."""
    before, _, fragment = text.partition("#")
    try:
        url = parse(before, False)
    except _Invalid as invalid:
        return f"parse {shown(before)}: {invalid}"
    try:
        escaped = quote_from_bytes(unescape(fragment), IN_FRAGMENT)
    except _Invalid as invalid:
        return f"parse {shown(text)}: {invalid}"
    valid = (IN_FRAGMENT | VALID_PATH).issuperset(fragment.encode())
    (<ParsedURL> url).fragment = fragment if valid else escaped
    return url


cdef ParsedURL empty_url():
    cdef ParsedURL url = ParsedURL.__new__(ParsedURL)
    url.scheme = url.host = url.raw_query = url.opaque = url.raw_path = url.fragment = ""
    url.path = b""
    return url


cdef ParsedURL parse(str text, bint via_request):
    cdef ParsedURL url = empty_url()
    cdef str rest, authority
    cdef Py_UCS4 char
    for char in text:
        if char < u" " or char == u"\x7f":
            raise _Invalid("net/url: invalid control character in URL")
    if not text and via_request:
        raise _Invalid("empty url")
    if text == "*":
        url.path = b"*"
        return url
    url.scheme, rest = split_scheme(text)
    if rest.endswith("?") and rest.count("?") == 1:
        url.force_query = True
        rest = rest[:-1]
    else:
        rest, _, url.raw_query = rest.partition("?")
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        if via_request:
            raise _Invalid("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _Invalid("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (url.scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        parse_authority(url, authority)
    elif url.scheme and rest.startswith("/"):
        url.omit_host = True
    url.path = unescape(rest)
    url.raw_path = "" if quote_from_bytes(url.path, IN_PATH) == rest else rest
    return url


cdef tuple split_scheme(str text):
    cdef Py_ssize_t i
    for i in range(len(text)):
        char = text[i]
        if char == ":":
            if i == 0:
                raise _Invalid("missing protocol scheme")
            return text[:i].lower(), text[i + 1:]
        later = i > 0 and (char.isdigit() or char in "+-.")
        if not char.isascii() or not (char.isalpha() or later):
            break
    return "", text


cdef int parse_authority(ParsedURL url, str authority) except -1:
    cdef str user, at, host
    user, at, host = authority.rpartition("@")
    url.host = parse_host(url.scheme, host)
    if not at:
        return 0
    if not USER_INFO.issuperset(user.encode()):
        raise _Invalid("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    url.user = quote_from_bytes(unescape(name), IN_USER)
    if colon:
        url.user += ":" + quote_from_bytes(unescape(password), IN_USER)
    return 0


cdef str parse_host(str scheme, str host):
    if "[" in host:
        return parse_literal(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        # Go is strict about colons in hosts for these two schemes only.
        port = host[first if scheme in ("http", "https") else last:]
        if not is_port(port):
            raise _Invalid(f"invalid port {shown(port)} after host")
    return unescape_host(host)


cdef str parse_literal(str host):
    """``[fe80::1%25en0]:80``"""
    if host.rfind("[") > 0:
        raise _Invalid("invalid IP-literal")
    end = host.rfind("]")
    if end < 0:
        raise _Invalid("missing ']' in host")
    port = host[end + 1:]
    if not is_port(port):
        raise _Invalid(f"invalid port {shown(port)} after host")
    name = host[1:end]
    zone = name.find("%25")
    if zone >= 0:
        name = unescape_host(name[:zone]) + unescape_host(name[zone:], zone=True)
    else:
        name = unescape_host(name)
    address = parse_address(name)
    if type(address) is str:
        raise _Invalid(f"invalid host: {address}")
    if (<IP> address).bits == 32:
        raise _Invalid("invalid IP-literal")
    return f"[{name}]{unescape_host(port)}"


cdef bint is_port(str port):
    if not port:
        return True
    return port[0] == ":" and all([char in "0123456789" for char in port[1:]])


cdef tuple split_host_port(str host):
    """The host name without brackets, and the port."""
    cdef str port = ""
    colon = host.rfind(":")
    if colon >= 0 and is_port(host[colon:]):
        host, port = host[:colon], host[colon + 1:]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port
