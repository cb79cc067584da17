"""Prints values like Go's fmt, for error messages: the verbs %v, %#v, %T and %q.

Values are JSON values and ``Foreign``: CEL values that are not JSON in Go.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import isfinite, isnan

from policyd._core.go.strings import quote

# Characters that encoding/json escapes although JSON does not require it.
JSON_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# An empty list in Object{...}, which is a nil slice in Go. It is compared by identity: Kubernetes
# replaces it by null if no Go type makes it a list.
EMPTY: list[object] = []

LEVELS = 100  # deeper ones are cut: messages are for people
CUT = "…"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A value that is not JSON, as Go prints it: ``plain`` %v, ``syntax`` %#v, ``type`` %T."""

    plain: str
    syntax: str
    type: str


def number(value: float, least: int = -4, most: int = 6, digits: int = 2) -> str:
    """%v of a float64: the fewest digits, with an exponent of two ``digits`` below 10**``least``
    and from 10**``most`` on.
    """
    if not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    shown = Decimal(repr(value)).normalize()
    power = shown.adjusted()
    if least <= power < most:
        return f"{shown:f}"
    return f"{shown:e}".partition("e")[0] + f"e{'-' if power < 0 else '+'}{abs(power):0{digits}d}"


def plain(value: object, levels: int = LEVELS) -> str:
    """%v."""
    if isinstance(value, Foreign):
        return value.plain
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | dict) and not levels:
        return CUT
    if isinstance(value, list):
        return f"[{' '.join([plain(item, levels - 1) for item in value])}]"
    if isinstance(value, dict):
        members = [f"{key}:{plain(value[key], levels - 1)}" for key in sorted(value)]
        return f"map[{' '.join(members)}]"
    return str(value)


def syntax(value: object, levels: int = LEVELS) -> str:
    """%#v."""
    if isinstance(value, Foreign):
        return value.syntax
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quote(value)
    if value is EMPTY:
        return "[]interface {}(nil)"
    if isinstance(value, list | dict) and not levels:
        return CUT
    if isinstance(value, list):
        items = ", ".join([syntax(item, levels - 1) for item in value])
        return f"[]interface {{}}{{{items}}}"
    if isinstance(value, dict):
        pairs = [f"{quote(key)}:{syntax(value[key], levels - 1)}" for key in sorted(value)]
        return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
    return plain(value)


def type_name(value: object) -> str:
    """%T."""
    if isinstance(value, Foreign):
        return value.type
    names = {
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "string",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return names.get(type(value), "<nil>")


def span(nanos: int) -> str:
    """%v of a time.Duration: ``1h0m0s``, ``1.5s``, ``2ms``."""
    sign, rest = ("-" if nanos < 0 else ""), abs(nanos)
    if rest < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if rest >= size:
                return f"{sign}{decimal(rest, size)}{unit}"
        return "0s"
    minutes, rest = divmod(rest, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{decimal(rest, 1_000_000_000)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def decimal(count: int, size: int) -> str:
    """``count / size`` with the fewest digits; ``size`` is a power of ten."""
    whole, rest = divmod(count, size)
    digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def moment(seconds: int, nanos: int) -> tuple[str, str]:
    """%v and %#v of a time.Time in UTC."""
    when = EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    parts = f"{when.day}, {when.hour}, {when.minute}, {when.second}, {nanos}"
    return (
        f"{when:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC",
        f"time.Date({when.year}, time.{MONTHS[when.month - 1]}, {parts}, time.UTC)",
    )
