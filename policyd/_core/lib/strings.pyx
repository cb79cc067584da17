"""Functions that create new strings (cel-go's extension library "strings", version 2). Positions
count code points.

``"tacocat".charAt(3)``, ``indexOf(string[, int])``, ``lastIndexOf(string[, int])``,
``lowerAscii()``, ``upperAscii()``, ``replace(string, string[, int])``, ``split(string[, int])``,
``substring(int[, int])``, ``trim()``, ``["a", "b"].join([string])``, ``strings.quote("a")``.
``format`` is in ``string_format``, ``contains`` and similar tests are in ``string_tests``.

Cost: a tenth of the receiver's length, a fifth for ``replace`` and ``split``, a fifth of the result
for ``join``; 1 unit for ``charAt``; for ``indexOf`` and ``lastIndexOf`` a tenth of the bytes,
rounded down.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, take, work
from policyd._core.values.errors cimport NO_OVERLOAD, error
from policyd._core.go.strings cimport ESCAPES, trim_space
from policyd._core.eval.functions cimport (
    binary,
    first_fifths,
    first_tenths,
    ternary,
    traversal,
    unary,
    variadic,
)
from policyd._core.values.printing cimport printed
from policyd._core.regex.search cimport (
    PyUnicode_KIND,
    find,
    find_last,
    replace as replace_in,
    split as split_at,
    take_like,
)

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library

cdef enum:
    CHARACTER = 80  # bytes of a string of one character
    ITEM = 8  # bytes of a list for each of its items
    AT_ONCE = 1 << 15  # characters between two reads of the clock

cdef dict TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
cdef dict TO_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
cdef dict QUOTED = str.maketrans(ESCAPES)


cdef object out_of_range(int64_t index):
    return error(f"index out of range: {index}")


cdef object char_at(Activation act, object text, object index):
    cdef str s = <str> text
    cdef int64_t i = index
    if i < 0 or i > len(s):
        return out_of_range(i)
    return s[i:i + 1]


cdef object index_of_from(Activation act, object text, object part, object offset):
    cdef str s = <str> text
    cdef int64_t at = offset
    if at < 0:
        return out_of_range(at)
    if not <str> part:
        return min(at, len(s))
    return -1 if at >= len(s) else find(act, s, <str> part, at, len(s))


cdef object index_of_from_anywhere(Activation act, object text, object part, object offset):
    if not <str> part:
        return offset  # before 1.37 cel-go did not check the range here
    return index_of_from(act, text, part, offset)


cdef object last_index_of(Activation act, object text, object part):
    return find_last(act, <str> text, <str> part, 0, len(<str> text))


cdef object last_index_of_from(Activation act, object text, object part, object offset):
    cdef str s = <str> text
    cdef str wanted = <str> part
    cdef int64_t at = offset
    if at < 0:
        return out_of_range(at)
    if not wanted:
        return min(at, len(s))
    return -1 if at >= len(s) else find_last(act, s, wanted, 0, min(at, len(s)) + len(wanted))


cdef object last_index_of_from_anywhere(Activation act, object text, object part, object offset):
    if not <str> part:
        return offset
    return last_index_of_from(act, text, part, offset)


cdef str translated(Activation act, str text, dict table):
    """Translates in pieces, and reads the clock between them."""
    cdef list parts = []
    cdef Py_ssize_t at
    for at in range(0, len(text), AT_ONCE):
        work(act, min(len(text) - at, <Py_ssize_t> AT_ONCE) * 4)
        parts.append(text[at:at + AT_ONCE].translate(table))
    return "".join(parts)


cdef object lower_ascii(Activation act, object text):
    cdef str s = <str> text
    take_like(act, len(s), s)
    work(act, len(s) // 8)
    return s.lower() if s.isascii() else translated(act, s, TO_LOWER)


cdef object upper_ascii(Activation act, object text):
    cdef str s = <str> text
    take_like(act, len(s), s)
    work(act, len(s) // 8)
    return s.upper() if s.isascii() else translated(act, s, TO_UPPER)


cdef object replace(Activation act, object text, object old, object new):
    return replace_in(act, <str> text, <str> old, <str> new, -1)


cdef object replace_n(Activation act, tuple arguments):
    if len(arguments) != 4:
        return NO_OVERLOAD
    text, old, new, limit = arguments
    if type(text) is not str or type(old) is not str:
        return NO_OVERLOAD
    if type(new) is not str or type(limit) is not int:
        return NO_OVERLOAD
    cdef int64_t n = limit
    return replace_in(act, <str> text, <str> old, <str> new, -1 if n < 0 else n)


cdef object split(Activation act, object text, object separator, object limit):
    cdef str s = <str> text
    cdef str sep = <str> separator
    cdef int64_t n = limit
    if n == 0:
        return []
    if sep:
        return split_at(act, s, sep, n - 1 if n > 0 else -1)
    if n < 0 or n > len(s):
        n = len(s)
    # Characters beyond Latin-1 are separate objects.
    take(act, n * (ITEM if PyUnicode_KIND(s) == 1 else ITEM + CHARACTER))
    work(act, n)
    return [*s[:n - 1], s[n - 1:]] if n > 0 else []


cdef object substring(Activation act, object text, object start):
    cdef str s = <str> text
    cdef int64_t first = start
    if first < 0 or first > len(s):
        return out_of_range(first)
    take_like(act, len(s) - first, s)
    return s[first:]


cdef object substring_range(Activation act, object text, object start, object end):
    cdef str s = <str> text
    cdef int64_t first = start, last = end
    if first > last:
        return error(f"invalid substring range. start: {first}, end: {last}")
    if first < 0 or first > len(s):
        return out_of_range(first)
    if last > len(s):
        return out_of_range(last)
    take_like(act, last - first, s)
    return s[first:last]


cdef object trim(Activation act, object text):
    take_like(act, len(<str> text), <str> text)
    return trim_space(<str> text)


cdef object join(Activation act, object items, object separator):
    if <list> items and type((<list> items)[0]) is not str:
        return NO_OVERLOAD
    cdef Py_ssize_t size = 0, width = PyUnicode_KIND(separator)
    # The first item selected the overload.
    for item in <list> items:
        if type(item) is not str:
            return error(f"join: invalid input: {printed(item)}")
        work(act, 1)
        size += len(<str> item) + len(<str> separator)
        width = max(width, PyUnicode_KIND(item))
    take(act, size * width)
    work(act, size // 8)
    return (<str> separator).join(<list> items)


cdef object quote(Activation act, object text):
    take_like(act, 2 * len(<str> text), <str> text)
    return f'"{translated(act, <str> text, QUOTED)}"'


cdef int64_t join_cost(Activation act, object items, object separator, object result) except -1:
    return first_fifths(act, result, None, None)


def _join_estimate(operands):
    items = operands[0]
    size = estimates.ZERO if items.part is None else items.size.times(items.part.size)
    if len(operands) > 1:
        separators = estimates.Range(max(items.size.min - 1, 0), max(items.size.max - 1, 0))
        size = size.plus(operands[1].size.times(separators))
    return estimates.Charge(size.scaled(0.1), size)


def _replace_estimate(operands):
    """The result is largest (smallest) if the longest (shortest) string replaces the shortest
    (longest), or if nothing is replaced. The empty string occurs around every character.
    """
    text, old, new = (operand.size for operand in operands[:3])
    largest = text.max
    if old.min == 0:
        largest = (text.max + 1) * new.max + text.max
    elif new.max > old.min:
        largest = -(-text.max // old.min) * new.max
    smallest = text.min
    if old.max == 0:
        smallest = (text.min + 1) * new.min + text.min
    elif old.max > new.min:
        smallest = -(-text.min // old.max) * new.min
    size = estimates.Range(min(smallest, estimates.MOST), min(largest, estimates.MOST))
    return estimates.Charge(text.scaled(0.2), size)


def _split_estimate(operands):
    """An empty separator makes each character an item."""
    size = operands[0].size
    limit = operands[2].number if len(operands) > 2 else None
    most = size.max if limit is None else limit % (estimates.MOST + 1)
    return estimates.Charge(size.scaled(0.2), estimates.Range(0, most))


def _quote_estimate(operands):
    """Two quotes, and at most one backslash per character."""
    size = operands[0].size
    longest = min(size.max * 2 + 2, estimates.MOST)
    return estimates.Charge(size.scaled(0.1), estimates.Range(size.min + 2, longest))


LIBRARY = Library("strings", (
    binary(
        "charAt", "string.charAt(int) -> string", "string_char_at_int", char_at,
        "'añb'.charAt(1) // 'ñ'",
    ),
    ternary(
        "indexOf", "string.indexOf(string) -> int", "string_index_of_string", index_of_from,
        "'hello mellow'.indexOf('ello') // 1",
    ).given(0).costs(traversal, estimates.traversal),
    ternary(
        "indexOf", "string.indexOf(string, int) -> int", "string_index_of_string_int",
        index_of_from_anywhere,
    ).costs(traversal, estimates.traversal).until(37),
    ternary(
        "indexOf", "string.indexOf(string, int) -> int", "string_index_of_string_int",
        index_of_from,
        "'hello mellow'.indexOf('ello', 2) // 7",
    ).costs(traversal, estimates.traversal).since(37),
    binary(
        "lastIndexOf", "string.lastIndexOf(string) -> int", "string_last_index_of_string",
        last_index_of,
        "'hello mellow'.lastIndexOf('ello') // 7",
    ).costs(traversal, estimates.traversal),
    ternary(
        "lastIndexOf", "string.lastIndexOf(string, int) -> int", "string_last_index_of_string_int",
        last_index_of_from_anywhere,
    ).costs(traversal, estimates.traversal).until(37),
    ternary(
        "lastIndexOf", "string.lastIndexOf(string, int) -> int", "string_last_index_of_string_int",
        last_index_of_from,
        "'hello mellow'.lastIndexOf('ello', 6) // 1",
    ).costs(traversal, estimates.traversal).since(37),
    unary(
        "lowerAscii", "string.lowerAscii() -> string", "string_lower_ascii", lower_ascii,
        "'TacoCÆt'.lowerAscii() // 'tacocÆt'",
    ).costs(first_tenths, estimates.same_length),
    unary(
        "upperAscii", "string.upperAscii() -> string", "string_upper_ascii", upper_ascii,
        "'TacoCæt'.upperAscii() // 'TACOCæT'",
    ).costs(first_tenths, estimates.same_length),
    ternary(
        "replace", "string.replace(string, string) -> string", "string_replace_string_string",
        replace,
        "'hello hello'.replace('he', 'we') // 'wello wello'",
    ).costs(first_fifths, _replace_estimate),
    variadic(
        "replace", "string.replace(string, string, int) -> string",
        "string_replace_string_string_int", replace_n,
        "'hello hello'.replace('he', 'we', 1) // 'wello hello'",
    ).costs(first_fifths, _replace_estimate),
    ternary(
        "split", "string.split(string) -> list(string)", "string_split_string", split,
        "'a,b,c'.split(',') // ['a', 'b', 'c']",
    ).given(-1).costs(first_fifths, _split_estimate),
    ternary(
        "split", "string.split(string, int) -> list(string)", "string_split_string_int", split,
        "'a,b,c'.split(',', 2) // ['a', 'b,c']",
    ).costs(first_fifths, _split_estimate),
    binary(
        "substring", "string.substring(int) -> string", "string_substring_int", substring,
        "'tacocat'.substring(4) // 'cat'",
    ).costs(first_tenths, estimates.same_length),
    ternary(
        "substring", "string.substring(int, int) -> string", "string_substring_int_int",
        substring_range,
        "'tacocat'.substring(0, 4) // 'taco'",
    ).costs(first_tenths, estimates.same_length),
    unary(
        "trim", "string.trim() -> string", "string_trim", trim,
        "'  a b\\n'.trim() // 'a b'",
    ).costs(first_tenths, estimates.same_length),
    binary(
        "join", "list(string).join() -> string", "list_join", join,
        "['a', 'b'].join() // 'ab'",
    ).given("").costs(join_cost, _join_estimate),
    binary(
        "join", "list(string).join(string) -> string", "list_join_string", join,
        "['a', 'b'].join(', ') // 'a, b'",
    ).costs(join_cost, _join_estimate),
    unary(
        "strings.quote", "strings.quote(string) -> string", "strings_quote", quote,
        "strings.quote('a\"b') // '\"a\\\\\"b\"'",
    ).costs_when_known(first_tenths, _quote_estimate),
))
