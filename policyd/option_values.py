"""Parsers for the strings that people write for durations, sizes, addresses and switches.

Every parser raises ValueError with the words that follow "expected"; its caller adds the place.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_DURATION_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+", re.ASCII)
_DURATION_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d*+)?|\.\d++)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SIZE_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d+)\s*([kmg]i?)?b?", re.ASCII | re.IGNORECASE)
_LARGEST_PORT = 65535
_CONFIG_MAP = "configmap/"
_NAMESPACES = re.compile(r"[a-z0-9*?-]{1,63}")
_DOMAIN = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*+(?<=[a-z0-9]))?(?:\.[a-z0-9](?:[-a-z0-9]*+(?<=[a-z0-9]))?)*+"
)
_LONGEST_CONFIG_MAP = 253
# One requirement of a label selector, and the comma or the end after it.
_TERM = re.compile(
    r"[ ]*+(?P<not>!)?[ ]*+(?P<key>[-._/A-Za-z0-9]++)[ ]*+"
    r"(?:(?P<equal>==|=|!=)[ ]*+(?P<value>[-._A-Za-z0-9]*+)"
    r"|(?P<set>notin|in)[ ]*+\((?P<values>[^()]*+)\))?[ ]*+(?=,|\Z)",
    re.ASCII,
)
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*+(?<=[a-z0-9]))?", re.ASCII)
_LONGEST_NAME = 253
# Seconds that a certificate must live: its dates have whole seconds.
SHORTEST_LIFE = 6.0


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
    return Address(bare or "0.0.0.0", int(port))  # noqa: S104 - what ":8443" means


@dataclass(frozen=True, slots=True)
class ConfigMapName:
    """The name of a ConfigMap in policyd's namespace."""

    name: str

    def __str__(self) -> str:
        return f"{_CONFIG_MAP}{self.name}"


def file_or_config_map(string: str) -> Path | ConfigMapName:
    """Parse ``configmap/NAME``, or else the path of a file, which need not exist."""
    if not string.startswith(_CONFIG_MAP):
        return Path(string)
    name = string.removeprefix(_CONFIG_MAP)
    if len(name) > _LONGEST_CONFIG_MAP or not _DOMAIN.fullmatch(name):
        raise ValueError("a file, or configmap/NAME with a name of lower case letters and digits")
    return ConfigMapName(name)


def label_selector(string: str) -> str:
    """A nonempty label selector in the syntax of ``kubectl -l``."""
    selector_terms(string)
    return string


def namespace_pattern(string: str) -> str:
    """The name of a namespace, with the wildcards ``*`` and ``?``."""
    if not _NAMESPACES.fullmatch(string):
        raise ValueError("a namespace or a pattern like team-*")
    return string


def selector_terms(string: str) -> dict[str, Any]:
    """The LabelSelector of a selector such as ``a=b,c!=d,e in (f,g),!h``. Does not check its keys
    and values.
    """
    found: list[dict[str, Any]] = []
    at = 0
    while at <= len(string):
        term = _TERM.match(string, at)
        operator = term and (term["equal"] or term["set"])
        if term is None or (term["not"] and operator):
            raise ValueError("a label selector like policyd.dev/policies=true or team in (a,b)")
        one: dict[str, Any] = {"key": term["key"]}
        if operator:
            one["operator"] = "NotIn" if operator in ("!=", "notin") else "In"
            values = [term["value"]] if term["equal"] else term["values"].split(",")
            one["values"] = [each.strip() for each in values]
        else:
            one["operator"] = "DoesNotExist" if term["not"] else "Exists"
        found.append(one)
        at = term.end() + 1
    return {"matchExpressions": found}


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A Service and its port."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}:{self.port}"


def service_port(string: str) -> ServicePort:
    """Parse ``NAME`` or ``NAME:PORT``; the port defaults to 443."""
    name, _, port = string.partition(":")
    port = port or "443"
    digits = port.isascii() and port.isdigit()
    if not _LABEL.fullmatch(name) or not digits or not 0 < int(port) <= _LARGEST_PORT:
        raise ValueError("NAME or NAME:PORT of a Service, like policyd:443")
    return ServicePort(name, int(port))


def object_name(string: str) -> str:
    """The name of an object of Kubernetes."""
    if len(string) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, string.split("."))):
        raise ValueError("a name of lower case letters, digits, - and .")
    return string


def name_and_uid(string: str) -> str:
    """The name of an object, or NAME/UID for exactly one object."""
    name, slash, uid = string.partition("/")
    if slash and not (uid and uid.isascii() and uid.isprintable()):
        raise ValueError("a name, or NAME/UID")
    object_name(name)
    return string


def https_url(string: str) -> str:
    """A URL that an API server accepts for a webhook, without a trailing slash."""
    return _url(string, {"https"}, "a URL like https://policyd.example:8443")


def http_url(string: str) -> str:
    """An HTTP or HTTPS URL without credentials and without a trailing slash."""
    return _url(string, {"http", "https"}, "a URL like http://collector:4318")


def _url(string: str, schemes: set[str], expected: str) -> str:
    url = urlsplit(string)  # ValueError for brackets without an IPv6 address
    bare = not (url.username or url.password or url.query or url.fragment)
    if url.scheme not in schemes or not url.hostname or not bare:
        raise ValueError(expected)
    return string.rstrip("/")


def trace_sample(string: str) -> float | str:
    """``parent``, or a number from 0 to 1, which YAML and Helm may write as 1e-05."""
    if string == "parent":
        return string
    if not re.fullmatch(r"(\d|\d?\.\d+)(e-?\d{1,3})?", string, re.ASCII) or float(string) > 1:
        raise ValueError("a number from 0 to 1 like 0.01, or parent")
    return float(string)


def lifetime(string: str) -> float:
    """A duration of at least ``SHORTEST_LIFE`` seconds."""
    seconds = duration(string)
    if seconds < SHORTEST_LIFE:
        raise ValueError(f"a duration of at least {SHORTEST_LIFE:.0f}s like 2160h")
    return seconds


def _choice(*words: str) -> Callable[[str], str]:
    """Return a parser that accepts only these words."""

    def read(string: str) -> str:
        if string not in words:
            raise ValueError(f"{', '.join(words[:-1])} or {words[-1]}")
        return string

    return read


placement_mode = _choice("auto", "never", "only")
http_server = _choice("policyd", "hypercorn")
log_format = _choice("json", "text")
