"""Times as Go's ``time.Parse`` reads Kubernetes' two layouts, and their printed form.

Go accepts more than RFC 3339: one-digit hours, a comma before the fraction, offsets up to 24:60.
Its error messages are the API server's.
"""

from datetime import UTC, datetime, timedelta

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"
# The parts of SECONDS; a fraction, which only MICROSECONDS has, needs exactly its digits.
_PARTS = (
    "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000", "Z07:00",
)  # fmt: skip
_FRACTION = ".000000"
_RANGES = {
    "01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)
}  # fmt: skip
_DIGITS = frozenset("0123456789")
# The calendar repeats after 400 years: years shift by 400 towards the middle of Python's range, 1
# to 9999, so that offsets work at both ends.
_CYCLE = 400
_MIDDLE = 5000


class _BadError(ValueError):
    """A part does not match the layout."""


def seconds_text(value: str) -> str | None:
    """Print ``metav1.Time`` again: in UTC, without fractions; None for Go's zero time."""
    return _printed(value, SECONDS)


def micros_text(value: str) -> str | None:
    """Print ``metav1.MicroTime`` again: exactly six fractional digits of the second."""
    return _printed(value, MICROSECONDS)


def _printed(value: str, layout: str) -> str | None:
    numbers, nanos, offset = _parsed(value, layout)
    year, month, day, hour, minute, second = numbers
    shift = -_CYCLE if year >= _MIDDLE else _CYCLE
    try:
        when = datetime(year + shift, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise ValueError(f"parsing time {_quoted(value)}: day out of range") from None
    when -= timedelta(seconds=offset)
    year = when.year - shift
    if not nanos and (year, *when.timetuple()[1:6]) == (1, 1, 1, 0, 0, 0):
        return None
    fraction = f".{nanos // 1000:06d}" if layout == MICROSECONDS else ""
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{when:%m-%dT%H:%M:%S}{fraction}Z"


def _parsed(value: str, layout: str) -> tuple[tuple[int, ...], int, int]:
    """Return year to second as a tuple; nanoseconds; the offset from UTC in seconds."""
    rest, numbers, nanos, offset = value, list[int](), 0, 0
    for part in _PARTS:
        if part == _FRACTION and layout == SECONDS:
            nanos, rest = _any_fraction(rest)
            continue
        before = rest
        try:
            if part == _FRACTION:
                nanos, rest = _exact_fraction(value, rest)
            elif part == "Z07:00":
                offset, rest = _offset(value, rest)
            elif part in ("-", "T", ":"):
                rest = _after(rest, part)
            else:
                number, rest = _year(rest) if part == "2006" else _number(rest, part != "15")
                _check(value, part, number)
                numbers.append(number)
        except _BadError:
            raise ValueError(
                f"parsing time {_quoted(value)} as {_quoted(layout)}: "
                f"cannot parse {_quoted(before)} as {_quoted(part)}"
            ) from None
    if rest:
        raise ValueError(f"parsing time {_quoted(value)}: extra text: {_quoted(rest)}")
    return tuple(numbers), nanos, offset


def _after(rest: str, separator: str) -> str:
    if not rest.startswith(separator):
        raise _BadError
    return rest[1:]


def _year(rest: str) -> tuple[int, str]:
    if len(rest.encode(errors="replace")) < len("2006") or not _DIGITS.issuperset(rest[:4]):
        raise _BadError
    return int(rest[:4]), rest[4:]


def _number(rest: str, two: bool) -> tuple[int, str]:
    """Read a number of two digits, or of one where Go accepts it."""
    if not rest or rest[0] not in _DIGITS:
        raise _BadError
    if len(rest) > 1 and rest[1] in _DIGITS:
        return int(rest[:2]), rest[2:]
    if two:
        raise _BadError
    return int(rest[0]), rest[1:]


def _check(value: str, part: str, number: int) -> None:
    name, low, high = _RANGES.get(part, ("", number, number))
    if not low <= number <= high:
        raise ValueError(f"parsing time {_quoted(value)}: {name} out of range")


def _any_fraction(rest: str) -> tuple[int, str]:
    """Read a fraction of any length after the seconds, which the layout does not mention."""
    if rest[:1] not in (".", ",") or rest[1:2] not in _DIGITS:
        return 0, rest
    after = rest[1:].lstrip("0123456789")
    digits = rest[1 : len(rest) - len(after)]
    return int(digits[:9].ljust(9, "0")), after


def _exact_fraction(value: str, rest: str) -> tuple[int, str]:
    """Read the six digits; Go accepts a sign in place of the first one."""
    size = len(_FRACTION)
    digits = rest[1:size]
    if len(rest.encode(errors="replace")) < size or rest[0] not in ".,":
        raise _BadError
    plain = digits[1:] if digits[0] in "+-" else digits
    if not plain or not _DIGITS.issuperset(plain):
        raise _BadError
    micros = int(digits)
    if micros < 0:
        raise ValueError(f"parsing time {_quoted(value)}: fractional second out of range")
    return micros * 1000, rest[size:]


def _offset(value: str, rest: str) -> tuple[int, str]:
    """Read ``Z``, or hours and minutes. Like Go, report values out of range first."""
    if rest.startswith("Z"):
        return 0, rest[1:]
    if len(rest.encode(errors="replace")) < len("+07:00") or rest[3:4] != ":":
        raise _BadError
    hours = _two(rest[1:3])
    minutes = None if hours is None else _two(rest[4:6])
    for name, number, most in (("minute", minutes, 60), ("hour", hours, 24)):
        if number is not None and number > most:
            raise ValueError(f"parsing time {_quoted(value)}: time zone offset {name} out of range")
    if hours is None or minutes is None or rest[0] not in "+-":
        raise _BadError
    seconds = (hours * 60 + minutes) * 60
    return -seconds if rest[0] == "-" else seconds, rest[6:]


def _two(text: str) -> int | None:
    return int(text) if len(text) == 2 and _DIGITS.issuperset(text) else None


def _quoted(text: str) -> str:
    """Quote like Go's package ``time``: bytes that are not printable ASCII in hexadecimal."""
    shown = []
    for character in text:
        if character < " " or character >= "\x80":
            shown += [f"\\x{byte:02x}" for byte in character.encode(errors="replace")]
        else:
            shown.append(f"\\{character}" if character in '"\\' else character)
    return f'"{"".join(shown)}"'
