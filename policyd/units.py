"""Parsers for the strings that people write for durations, sizes, addresses and switches.

Every parser raises ValueError with the words that follow "expected"; its caller adds the place.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_DURATION_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+", re.ASCII)
_DURATION_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d*+)?|\.\d++)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SIZE_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d+)\s*([kmg]i?)?b?", re.ASCII | re.IGNORECASE)
_LARGEST_PORT = 65535


def duration(string: str) -> float:
    """Seconds of a Go duration (``10s``, ``1m30s``, ``500ms``); a plain number is seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", string, re.ASCII):
        return float(string)
    if not _DURATION.fullmatch(string):
        raise ValueError("a duration like 10s, 1m30s or 500ms")
    parts = _DURATION_PART.findall(string)
    return sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)


def positive_duration(string: str) -> float:
    """A duration above zero, in seconds."""
    seconds = duration(string)
    if seconds <= 0:
        raise ValueError("a duration above zero like 10s")
    return seconds


def size(string: str) -> int:
    """Bytes of ``16MiB``, ``16Mi``, ``16M`` or a plain number; above zero."""
    match = _SIZE.fullmatch(string.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError("a size like 16MiB or 1048576")
    return int(match[1]) * _SIZE_UNITS[(match[2] or "").lower()]


def count(string: str) -> int:
    """A whole number above zero."""
    if not string.isascii() or not string.isdigit() or int(string) == 0:
        raise ValueError("a whole number above zero")
    return int(string)


def switch(string: str) -> bool:
    """True or False from true/false, yes/no, on/off or 1/0."""
    if string.lower() in {"1", "true", "yes", "on"}:
        return True
    if string.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("true or false")


def file(string: str) -> Path:
    """The path of a file, which need not exist."""
    return Path(string)


def directory(string: str) -> Path:
    """The path of a directory, which need not exist."""
    return Path(string)


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on; port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(string: str) -> Address:
    """Parse ``HOST:PORT``, ``[::1]:PORT`` or ``:PORT`` (all interfaces)."""
    host, colon, port = string.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or (":" in bare and bare == host) or not (port.isascii() and port.isdigit()):
        raise ValueError("HOST:PORT like 0.0.0.0:8443 or [::]:8443")
    if int(port) > _LARGEST_PORT:
        raise ValueError(f"a port of at most {_LARGEST_PORT}")
    return Address(bare or "0.0.0.0", int(port))


def log_format(string: str) -> str:
    """``json`` or ``text``."""
    if string not in {"json", "text"}:
        raise ValueError("json or text")
    return string
