"""Numbers and strings as Go's strconv and fmt print them, where Python differs; and cel-go's
similarity of names.
"""

from libc.math cimport isinf, isnan

cdef str WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + (
    "\u2028\u2029\u202f\u205f\u3000"
)
cdef enum:
    MAX_SHOWN = 10_000  # characters of a string in an error message
    FAR = 1 << 30
    DIVERGENT = 16      # characters from which names of different length are not compared
    MOST_CELLS = 64 * 64
    # Compared names are shorter, because their lengths are similar and have a limited product.
    MOST_COLUMNS = 128
ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


cdef str print_fixed(double value, Py_ssize_t precision):
    """fmt's %.*f, without grouping."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return format(value, f".{precision}f")


cpdef str quote(str text):
    #: (str) -> str
    """strconv.Quote: "…" with Go's escapes for characters that are not printable."""
    cdef list parts
    cdef Py_UCS4 char
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    parts = ['"']
    for char in text:
        if u" " <= char <= u"~" and char != u'"' and char != u"\\":
            parts.append(char)
        elif char in ESCAPES:
            parts.append(ESCAPES[char])
        elif char.isprintable():
            parts.append(char)
        elif char < 0x80:
            parts.append(f"\\x{<int> char:02x}")
        elif char < 0x10000:
            parts.append(f"\\u{<int> char:04x}")
        else:
            parts.append(f"\\U{<int> char:08x}")
    parts.append('"')
    return "".join(parts)


cdef str shown(str text):
    """The same for an error message, with long strings cut."""
    if len(text) <= MAX_SHOWN:
        return quote(text)
    return quote(text[:MAX_SHOWN]) + "..."


cdef str trim_space(str text):
    """strings.TrimSpace: Unicode White_Space, which does not include U+001C to U+001F, unlike
    Python's strip().
    """
    return text.strip(WHITE_SPACE)


cdef str parse_int(str text, long long* out):
    """strconv.Atoi: the error message, or None with the value in `out`."""
    cdef str digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or not digits.isascii() or not digits.isdigit():
        return f"strconv.Atoi: parsing {shown(text)}: invalid syntax"
    # int() of many digits takes quadratic time.
    cdef object value = int(text) if len(digits.lstrip("0")) < 20 else None
    if value is None or not -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return f"strconv.Atoi: parsing {shown(text)}: value out of range"
    out[0] = value
    return None


def closest(str name not None, list known not None, int most):
    #: (str, list[str], int) -> list[str]
    """The known names with the least edit distance from ``name``, if that is at most ``most``."""
    cdef list found = []
    cdef int distance, least = most
    cdef str each
    for each in known:
        if abs(len(each) - len(name)) > least:
            continue  # at least this many insertions or deletions
        distance = distance_of(name, each)
        if distance < least:
            found, least = [each], distance
        elif distance == least:
            found.append(each)
    return found


cdef int distance_of(str a, str b) except -1:
    """The number of insertions, deletions, replacements and swaps of neighbours that turn ``a``
    into ``b``; a huge number for names with little in common (cel-go 0.33 common/env/catalog.go:
    EditDistance).
    """
    cdef Py_ssize_t rows = len(a), columns = len(b), i, j
    cdef int[MOST_COLUMNS] one, two, three
    cdef int* before = one
    cdef int* above = two
    cdef int* row = three
    cdef int least, lowest
    if rows == 0 or columns == 0:
        return <int> (rows + columns)
    if rows >= DIVERGENT and rows * 2 >= columns * 3:
        return <int> (rows - columns)
    if columns >= DIVERGENT and columns * 2 >= rows * 3:
        return <int> (columns - rows)
    if rows * columns > MOST_CELLS:
        return FAR
    for j in range(columns + 1):
        above[j] = <int> j
    for i in range(1, rows + 1):
        lowest = row[0] = <int> i
        for j in range(1, columns + 1):
            least = min(above[j], row[j - 1], above[j - 1] - (a[i - 1] == b[j - 1])) + 1
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                least = min(least, before[j - 2] + 1)
            row[j] = least
            lowest = min(lowest, least)
        if lowest > max(rows, columns) // 3:
            return FAR
        before, above, row = above, row, before
    return above[columns]
