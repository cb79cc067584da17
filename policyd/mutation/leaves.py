"""Values that Go decodes by methods of their own: quantities, times, int-or-string, bytes.

Each function takes a JSON value (null too) and returns it as Go would print it again. It raises
``ValueError`` with the words of Go's decoder, or ``TypeError`` where Go's general words for a wrong
type apply; its argument is the Go type that was to be read, if that is not the field's.
"""

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

from policyd._core.lib.quantity import canonical_text

Leaf = Callable[[object], object]


def quantity(value: object) -> object:
    """``resource.Quantity``: the canonical text, as the API server has it (``1024Mi``: ``1Gi``)."""
    if value is None:
        return "0"
    text = value if isinstance(value, str) else json_text(value)
    return canonical_text(text.strip())


def json_text(value: object) -> str:
    """A value that is no text, as it stands in JSON; only numbers can go on from here."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "?"
    return repr(value)


def int_or_string(value: object) -> object:
    """``intstr.IntOrString``: a text, or an integer of 32 bits."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
        return value
    raise TypeError("int32")


def octets(value: object) -> object:
    """``[]byte``: base64; the error counts the bytes up to the group that cannot be read."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError
    plain = value.replace("\n", "").replace("\r", "")
    bad = re.search(r"[^A-Za-z0-9+/]", plain.rstrip("=") if len(plain) % 4 == 0 else plain)
    if bad is None and len(plain) % 4 == 0:
        try:
            return base64.b64encode(base64.b64decode(plain, validate=True)).decode()
        except ValueError:
            pass  # padding that covers more than it may
    at = bad.start() if bad else len(plain) - len(plain) % 4
    raise ValueError(f"illegal base64 data at input byte {at}")


LAYOUT = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d(?:[.,]\d+)?"),
    ("Z07:00", r"Z|[+-]\d\d:\d\d"),
)
RANGES = (("month", 2, 1, 12), ("hour", 6, 0, 23), ("minute", 8, 0, 59), ("second", 10, 0, 59))
SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"


def time(value: object) -> object:
    """``metav1.Time``: RFC 3339, printed in UTC without fractions of a second."""
    if value is None:
        return None
    return moment(value, SECONDS).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(value: object) -> object:
    """``metav1.MicroTime``: the same with microseconds."""
    if value is None:
        return None
    return moment(value, MICROSECONDS).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(value: object, layout: str) -> datetime:
    if not isinstance(value, str):
        raise TypeError("string")
    parts: list[str] = []
    rest = value
    for element, pattern in LAYOUT:
        found = re.match(pattern, rest, re.ASCII)
        if not found:
            raise ValueError(
                f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{element}"'
            )
        parts.append(found[0])
        rest = rest[found.end() :]
    if rest:
        raise ValueError(f'parsing time "{value}": extra text: "{rest}"')
    for name, index, low, high in RANGES:
        if not low <= int(parts[index][:2]) <= high:
            raise ValueError(f'parsing time "{value}": {name} out of range')
    return assembled(value, parts)


def assembled(value: str, parts: list[str]) -> datetime:
    seconds, _, fraction = parts[10].replace(",", ".").partition(".")
    zone = UTC
    if parts[11] != "Z":
        offset = timedelta(hours=int(parts[11][1:3]), minutes=int(parts[11][4:6]))
        zone = timezone(-offset if parts[11][0] == "-" else offset)
    year, month, day, hour, minute = (int(parts[index]) for index in (0, 2, 4, 6, 8))
    micros = int(fraction[:6].ljust(6, "0") or 0)
    try:
        found = datetime(year, month, day, hour, minute, int(seconds), micros, zone)
        return found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f'parsing time "{value}": day out of range') from error


# By the Go type. Types that are not here and decode themselves accept any JSON.
LEAVES: dict[str, Leaf] = {
    "resource.Quantity": quantity,
    "intstr.IntOrString": int_or_string,
    "[]uint8": octets,
    "v1.Time": time,
    "v1.MicroTime": micro_time,
}
