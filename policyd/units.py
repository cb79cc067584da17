"""Texts that people write for durations, sizes, addresses and switches, read into values.

Every reader raises ValueError with the words for "expected ..."; who calls it says where.
"""

import re
from dataclasses import dataclass

_DURATION_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+", re.ASCII)
_DURATION_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d*+)?|\.\d++)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SIZE_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d+)\s*([kmg]i?)?b?", re.ASCII | re.IGNORECASE)
_LARGEST_PORT = 65535


def duration(text: str) -> float:
    """Seconds of a Go duration (``10s``, ``1m30s``, ``500ms``); a bare number is seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return float(text)
    if not _DURATION.fullmatch(text):
        raise ValueError("a duration like 10s, 1m30s or 500ms")
    parts = _DURATION_PART.findall(text)
    return sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)


def positive_duration(text: str) -> float:
    """A duration that is not zero."""
    seconds = duration(text)
    if seconds <= 0:
        raise ValueError("a duration above zero like 10s")
    return seconds


def size(text: str) -> int:
    """Bytes of ``16MiB``, ``16Mi``, ``16M`` or a plain number; above zero."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError("a size like 16MiB or 1048576")
    return int(match[1]) * _SIZE_UNITS[(match[2] or "").lower()]


def count(text: str) -> int:
    """A whole number above zero."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError("a whole number above zero")
    return int(text)


def switch(text: str) -> bool:
    """On or off, in the words people use."""
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("true or false")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str) -> Address:
    """``HOST:PORT``, ``[::1]:PORT`` or ``:PORT`` (every interface)."""
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or (":" in bare and bare == host) or not (port.isascii() and port.isdigit()):
        raise ValueError("HOST:PORT like 0.0.0.0:8443 or [::]:8443")
    if int(port) > _LARGEST_PORT:
        raise ValueError(f"a port of at most {_LARGEST_PORT}")
    return Address(bare or "0.0.0.0", int(port))


def log_format(text: str) -> str:
    """``json`` or ``text``."""
    if text not in {"json", "text"}:
        raise ValueError("json or text")
    return text
