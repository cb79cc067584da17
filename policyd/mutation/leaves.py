"""Values that Go decodes by methods of their own: quantities, times, int-or-string, bytes.

Each function takes a JSON value (null too) and returns it as Go would print it again. It raises
``ValueError`` with the words of Go's decoder, or ``TypeError`` where Go's general words for a wrong
type apply; its argument is the Go type that was to be read, if that is not the field's.
"""

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import ROUND_UP, Decimal, localcontext

Leaf = Callable[[object], object]

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
QUANTITY = re.compile(r"[+-]?(0*)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)\Z", re.ASCII)
EXPONENT = re.compile(r"[eE]([-+]?\d+)\Z", re.ASCII)
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
LARGEST = Decimal(2**63 - 1)
NANO = Decimal("1e-9")
EXACT_DIGITS = 18  # what surely fits in an int64


def quantity(value: object) -> object:
    """``resource.Quantity``: the canonical text, as the API server has it (``1024Mi``: ``1Gi``)."""
    if value is None:
        return "0"
    text = value if isinstance(value, str) else json_text(value)
    found = QUANTITY.match(text.strip()) if text else None
    if not found:
        raise ValueError(WRONG_FORMAT)
    text = text.strip()
    zeros, digits, fraction, suffix = found[1], found[2], found[3] or "", found[4]
    exponent = EXPONENT.match(suffix)
    if suffix not in DECIMAL and suffix not in BINARY and not exponent:
        raise ValueError("unable to parse quantity's suffix")
    power = int(exponent[1]) if exponent else DECIMAL.get(suffix, 0)
    if kept_as_written(digits or "0", fraction, suffix, power) and (digits or zeros):
        return text
    with localcontext() as context:
        context.prec = 1000
        number = Decimal(f"{digits or '0'}.{fraction or '0'}")
        number = number * 2 ** BINARY[suffix] if suffix in BINARY else number.scaleb(power)
        number = number.quantize(NANO, rounding=ROUND_UP)
        if suffix in BINARY:
            number = min(number, LARGEST)
        sign = "-" if text.startswith("-") and number else ""
        return sign + canonical(number, binary=suffix in BINARY, scientific=bool(exponent))


def kept_as_written(digits: str, fraction: str, suffix: str, power: int) -> bool:
    """Whether Go reuses the text: a shape that it takes for canonical without looking further."""
    figures = digits + fraction
    if suffix in BINARY:
        room = 15 - len(digits) - BINARY[suffix] * 3 // 10 - 1
        return not fraction and room >= 0 and int(digits) % 8 != 0
    scale = power - len(fraction)
    return (
        len(figures) <= EXACT_DIGITS
        and scale >= -9
        and scale % 3 == 0
        and not figures.endswith("000")
        and not figures.startswith("0")
    )


def canonical(number: Decimal, *, binary: bool, scientific: bool) -> str:
    """Digits without trailing zeros and a suffix whose exponent is a multiple of three (or ten)."""
    if not number:
        return "0"
    whole = number == number.to_integral_value()
    if binary and whole and number >= 1024:
        mantissa, step = int(number), 0
        while mantissa % 1024 == 0:
            mantissa, step = mantissa // 1024, step + 10
        suffixes = {power: name for name, power in BINARY.items()}
        return f"{mantissa}{suffixes.get(step, '')}"
    _, figures, exponent = number.normalize().as_tuple()
    assert isinstance(exponent, int)  # finite by construction
    mantissa = int("".join(map(str, figures)))
    while exponent % 3:
        mantissa, exponent = mantissa * 10, exponent - 1
    if scientific:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    names = {power: name for name, power in DECIMAL.items()}
    if exponent > 18:
        mantissa, exponent = mantissa * 10 ** (exponent - 18), 18
    return f"{mantissa}{names[exponent]}"


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
