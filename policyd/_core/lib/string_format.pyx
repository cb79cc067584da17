"""``"%s is %d".format([name, 3])``: the first formatter of cel-go's strings library, which
Kubernetes uses.

``%s``: any value; ``%d``: int, uint; ``%f`` and ``%e``: double (or ``"NaN"``, ``"Infinity"``,
``"-Infinity"``); ``%b``: int, uint, bool; ``%o``: int, uint; ``%x`` and ``%X``: int, uint, string,
bytes; ``%.3f`` has three decimals. ``%f`` and ``%e`` are formatted by golang.org/x/text for en_US:
``1,234.500000``, ``1.234500×10⁰³``, ``∞``. In ``%.9e`` the number is the width, padded with spaces,
not the precision.

Cost: a tenth of the length of the format.
"""

from libc.math cimport isinf, isnan
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, take, work
from policyd._core.values.errors cimport NO_OVERLOAD, CelError, error
from policyd._core.go.strings cimport parse_int, print_fixed, quote
from policyd._core.eval.functions cimport binary, first_tenths
from policyd._core.values.printing cimport string_of
from policyd._core.regex.search cimport take_like
from policyd._core.values.types cimport (
    Duration,
    Timestamp,
    TypeValue,
    UInt,
    key_value,
    type_name,
)

from decimal import Decimal

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library

cdef enum:
    DEFAULT_PRECISION = 6
    LEAST_DIGITS = 255
    MOST_DIGITS = 32768
    MOST_WIDTH = 65535  # the width has 16 bits
    MAX_PRECISION = 10000009  # where Go's fmt stops parsing digits
    MAX_DEPTH = 1000
    FLOAT = 400  # digits of a large number, and units of work for them
    QUOTED_AT_ONCE = 1 << 15  # characters
    CLAUSE = 20  # units of work per clause
    PIECE = 64   # bytes of a string beside its characters

cdef str VERBS = "sdfebxXo"
cdef frozenset SPECIAL_DOUBLES = frozenset(("NaN", "Infinity", "-Infinity"))
cdef frozenset SCALARS = frozenset((int, UInt, float, bool, Timestamp, Duration, TypeValue))
cdef dict SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


cdef struct Clause:
    Py_UCS4 verb
    int64_t precision
    Py_ssize_t end   # the position after the clause


cdef object string_format(Activation act, object text, object values):
    if type(text) is not str or type(values) is not list:
        return NO_OVERLOAD
    cdef str pattern = <str> text
    cdef list arguments = <list> values, parts = []
    cdef Py_ssize_t at = 0, start, used = 0
    cdef Clause clause
    while True:
        start = at
        at = pattern.find("%", at)
        if at < 0:
            parts.append(pattern[start:])
            take_like(act, len(pattern), pattern)
            return "".join(parts)
        parts.append(pattern[start:at])
        if pattern.startswith("%%", at):
            work(act, CLAUSE)
            take(act, PIECE)
            parts.append("%")
            at += 2
            continue
        if used >= len(arguments):
            return error(f"index {used} out of range")
        if at + 1 >= len(pattern):
            return error("unexpected end of string")
        problem = parse_clause(pattern, at, &clause)
        if problem is not None:
            return error(problem)
        part = format_value(act, &clause, arguments[used])
        if type(part) is CelError:
            return error(f"error during formatting: {part.message}")
        work(act, CLAUSE + len(<str> part) // 8)
        take_like(act, PIECE + len(<str> part), <str> part)
        parts.append(part)
        used += 1
        at = clause.end


cdef str parse_clause(str pattern, Py_ssize_t at, Clause* clause):
    """Parse ``%.3f`` at ``at``; the error message, or None."""
    cdef str problem = None
    cdef Py_ssize_t start
    cdef long long precision = DEFAULT_PRECISION
    at += 1
    if pattern[at] == ".":
        at += 1
        start = at
        while at < len(pattern) and c"0" <= pattern[at] <= c"9":
            at += 1
        if at >= len(pattern):
            problem = "could not find end of precision specifier"
        else:
            problem = parse_int(pattern[start:at], &precision)
            if problem is not None:
                problem = f"error while converting precision to integer: {problem}"
        if problem is not None:
            return f"could not parse formatting clause: error while parsing precision: {problem}"
    if pattern[at] not in VERBS:
        # Go reads bytes, not characters.
        verb = chr(pattern[at].encode("utf-8", "surrogatepass")[0])
        return f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
    clause.verb = pattern[at]
    clause.precision = precision
    clause.end = at + 1
    return None


def clause_at(str pattern not None, Py_ssize_t at):
    #: (str, int) -> tuple[str, int]
    """The letter of the clause at ``at``, and the position after it.

    Raises ValueError with cel-go's message.
    """
    cdef Clause clause
    cdef str problem = parse_clause(pattern, at, &clause)
    if problem is not None:
        raise ValueError(problem)
    return chr(clause.verb), clause.end


cdef object format_value(Activation act, Clause* clause, object value):
    """The formatted argument, or the CelError for a wrong type."""
    if clause.verb == c"s":
        return format_string(act, value)
    if clause.verb == c"d":
        if type(value) is int or type(value) is UInt:
            return string_of(value)
        return wrong_type("decimal clause can only be used on integers", value)
    if clause.verb == c"f" or clause.verb == c"e":
        return format_double(act, clause, value)
    return format_radix(act, clause, value)


cdef CelError wrong_type(str wants, object value):
    return error(f"{wants}, was given {type_name(value)}")


cdef object format_string(Activation act, object value):
    kind = type(value)
    if kind is str:
        return value
    if kind is list or kind is dict:
        return format_literal(act, value, 0)
    if kind is bytes:
        return format_bytes(<bytes> value)
    if value is None:
        return "null"
    if kind in SCALARS:
        return string_of(value)
    return wrong_type(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
        value,
    )


cdef object format_bytes(bytes value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        return error(
            'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" '
            "to string"
        )


cdef object format_literal(Activation act, object value, int depth):
    """A value inside a list or map: as a CEL literal, doubles with six decimals.

    The work is counted per value, because a list may contain the same list many times.
    """
    kind = type(value)
    work(act, CLAUSE)
    take(act, PIECE)
    if depth > MAX_DEPTH:
        return error("value nests too deeply to be formatted")
    if kind is str:
        return quoted(act, <str> value)
    if kind is int or kind is UInt:
        return string_of(value)
    if kind is list:
        return format_list(act, <list> value, depth)
    if kind is dict:
        return format_map(act, <dict> value, depth)
    if kind is float:
        number = print_fixed(value, DEFAULT_PRECISION)
        return quote(number) if isnan(value) or isinf(value) else number
    if kind is Timestamp:
        return f'timestamp("{string_of(value)}")'
    if kind is Duration:
        return f'duration("{string_of(value)}")'
    if kind is bytes:
        take(act, 2 * len(<bytes> value))
        work(act, len(<bytes> value))
        text = format_bytes(<bytes> value)
        return text if type(text) is CelError else "b" + quote(<str> text)
    if value is None or kind is bool or kind is TypeValue:
        return format_string(act, value)
    return error(f"no formatting function for {type_name(value)}")


cdef str quoted(Activation act, str text):
    """Quotes in pieces, and reads the clock between them."""
    cdef list parts = []
    cdef Py_ssize_t at
    take_like(act, 2 * len(text), text)
    if len(text) <= QUOTED_AT_ONCE:
        return quote(text)
    for at in range(0, len(text), QUOTED_AT_ONCE):
        work(act, QUOTED_AT_ONCE * 4)
        parts.append(quote(text[at:at + QUOTED_AT_ONCE])[1:-1])
    return f'"{"".join(parts)}"'


cdef object format_list(Activation act, list items, int depth):
    cdef list parts = []
    for item in items:
        text = format_literal(act, item, depth + 1)
        if type(text) is CelError:
            return text
        parts.append(text)
    text = f"[{', '.join(parts)}]"
    take_like(act, len(<str> text), <str> text)
    return text


cdef object format_map(Activation act, dict fields, int depth):
    """Entries are sorted by the formatted keys."""
    cdef list parts = []
    for held, value in fields.items():
        key = key_value(held)
        kind = type(key)
        if kind is not str and kind is not bool and kind is not int and kind is not UInt:
            return error(f"no formatting function for map key of type {type_name(key)}")
        text = format_literal(act, value, depth + 1)
        if type(text) is CelError:
            return text
        parts.append((format_literal(act, key, depth + 1), text))
    parts.sort(key=_first_of)
    text = "{" + ", ".join([f"{name}:{text}" for name, text in parts]) + "}"
    take_like(act, 2 * len(<str> text), <str> text)
    return text


def _first_of(tuple pair not None):
    """The sort key of a map entry."""
    return pair[0]


cdef object format_double(Activation act, Clause* clause, object value):
    cdef bint fixed = clause.verb == c"f"
    if type(value) is str and value in SPECIAL_DOUBLES:
        value = float(value)
    if type(value) is not float:
        return wrong_type(
            f"{'fixed-point' if fixed else 'scientific'} clause can only be used on doubles", value
        )
    cdef double number = value
    cdef str text, mantissa, exponent
    if clause.precision > MAX_PRECISION:
        return "%!(NOVERB)"
    take(act, FLOAT + min(clause.precision, <int64_t> MOST_DIGITS))
    work(act, FLOAT + min(clause.precision, <int64_t> MOST_DIGITS))
    if number == 0:
        number = 0.0  # x/text has no negative zero
    if isnan(number):
        text = "NaN"
    elif isinf(number):
        text = "∞" if number > 0 else "-∞"
    elif fixed:
        text = fixed_digits(number, clause.precision)
        if clause.precision > LEAST_DIGITS:
            mantissa, _, exponent = text.partition(".")
            # x/text stores the minimum number of digits in a byte: it omits further zeros
            least = clause.precision & LEAST_DIGITS
            exponent = exponent.rstrip("0").ljust(least, "0")
            text = f"{mantissa}.{exponent}" if exponent else mantissa
    else:
        mantissa, _, exponent = format(number, ".6e").partition("e")
        text = f"{mantissa}×10{exponent.lstrip('+').translate(SUPERSCRIPTS)}"
    return text if fixed else text.rjust(clause.precision & MOST_WIDTH)


cdef str fixed_digits(double number, long long precision):
    """x/text stores the maximum number of digits in a signed 16-bit integer; if that is negative,
    it prints the fewest digits that identify the number.
    """
    cdef long long most = ((precision + MOST_DIGITS) & MOST_WIDTH) - MOST_DIGITS
    return format(Decimal(repr(number)), ",f") if most < 0 else format(number, f",.{most}f")


cdef object format_radix(Activation act, Clause* clause, object value):
    cdef Py_UCS4 verb = clause.verb
    kind = type(value)
    if kind is UInt:
        return format((<UInt> value).value, chr(verb))
    if kind is int:
        return format(value, chr(verb))
    if verb == c"b":
        if kind is bool:
            return "1" if value else "0"
        return wrong_type("only integers and bools can be formatted as binary", value)
    if verb == c"o":
        return wrong_type("octal clause can only be used on integers", value)
    if kind is str or kind is bytes:
        work(act, len(value))
        take(act, 4 * len(value))
    if kind is str:
        value = (<str> value).encode()
    elif kind is not bytes:
        return wrong_type("only integers, byte buffers, and strings can be formatted as hex", value)
    text = (<bytes> value).hex()
    return text.upper() if verb == c"X" else text


LIBRARY = Library("string_format", (
    binary(
        "format", "string.format(list(dyn)) -> string", "string_format", string_format,
        "'%s has %d, %.1f of them'.format(['x', 3, 0.5]) // 'x has 3, 0.5 of them'",
    ).costs_when_known(first_tenths, estimates.first_tenths),
), kinds=None)
