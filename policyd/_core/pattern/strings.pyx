"""Wildcards and amounts of patterns. Here, a value that cannot be compared is not an error."""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, activation, work
from policyd._core.lib.quantity cimport Quantity, order, parse
from policyd._core.regex.engine cimport Regex, compile_regex
from policyd._core.regex.search cimport find as find_string
from policyd._core.values.time_strings cimport parse_duration

#: QUANTITY: str
#: DURATION: str

cdef enum:
    MAX_AMOUNT_CHARACTERS = 100   # Kubernetes never prints longer ones
    MAX_AMOUNT_BITS = 4096
    CHARACTERS_A_UNIT = 8   # characters searched in one unit of work (10 ns)

cdef int64_t MAX_SHORT = 9_000_000_000_000  # times 1000 fits in an int64

# Exported CEL tests these too before it reads a string as an amount (policyd/export/patterns). So
# they allow nothing that quantity() or duration() rejects for its size: exponents have at most
# three digits, and the units of a duration stand in order, each once, with so few digits that the
# sum fits in an int64 of nanoseconds.
QUANTITY = r"^[-+.0-9][0-9.]*([A-Za-z]*|[eE][-+]?[0-9]{1,3})$"
DURATION = "^[-+]?(0|%s)$" % "".join(
    rf"(([0-9]{{1,{digits}}}(\.[0-9]*)?|\.[0-9]+){unit})?"
    for digits, unit in ((6, "h"), (7, "m"), (9, "s"), (12, "ms"), (15, "[uµμ]s"), (18, "ns"))
)
cdef Regex QUANTITY_FORM = compile_regex(QUANTITY)
cdef Regex DURATION_FORM = compile_regex(DURATION)


# Wildcards


@cython.final
cdef class Wildcard:
    """A string in which ``*`` matches any characters and ``?`` matches one."""

    def __init__(self, str text not None):
        #: (str) -> None
        self.text = text
        self.parts = tuple(text.split("*"))
        self.least = len(text) - text.count("*")
        self.starred = "*" in text
        self.literal = text.strip("*")
        self.kind = GENERAL
        if "?" in text or "*" in self.literal:
            return
        if not self.starred:
            self.kind = EQUALS
        elif not text.startswith("*"):
            self.kind = PREFIX
        elif not text.endswith("*"):
            self.kind = SUFFIX
        else:
            self.kind = CONTAINS

    def matches(self, str text not None):
        #: (str) -> bool
        """Whether the string matches."""
        return self.fits(text, activation(0, 0, 0))

    cdef bint fits(self, str text, Activation act) except -1:
        if self.kind == EQUALS:
            return text == self.literal
        if self.kind == PREFIX:
            return text.startswith(self.literal)
        if self.kind == SUFFIX:
            return text.endswith(self.literal)
        if self.kind == CONTAINS:
            return find_string(act, text, self.literal, 0, len(text)) >= 0
        return self.fits_parts(text, act)

    cdef bint fits_parts(self, str text, Activation act) except -1:
        """The first part must be at the start, the last at the end, the others as early as
        possible.
        """
        cdef Py_ssize_t last = len(self.parts) - 1
        cdef Py_ssize_t at, end, number
        cdef str part = <str>self.parts[0]
        if len(text) < self.least or (not self.starred and len(text) != self.least):
            return False
        if not same_at(part, text, 0):
            return False
        if not self.starred:
            return True
        at = len(part)
        part = <str>self.parts[last]
        end = len(text) - len(part)
        if not same_at(part, text, end):
            return False
        for number in range(1, last):
            part = <str>self.parts[number]
            if part:
                at = find(act, part, text, at, end)
                if at < 0:
                    return False
                at += len(part)
        return True


cdef bint same_at(str part, str text, Py_ssize_t at) except -1:
    """Whether ``part``, in which ``?`` is any character, is at a position of the string."""
    cdef Py_ssize_t i
    cdef Py_UCS4 wanted
    for i in range(len(part)):
        wanted = part[i]
        if wanted != u"?" and wanted != text[at + i]:
            return False
    return True


cdef Py_ssize_t find(
    Activation act, str part, str text, Py_ssize_t start, Py_ssize_t end
) except -2:
    """The first position of ``part`` between two positions of the string; -1: none."""
    cdef Py_ssize_t at
    if "?" not in part:
        return find_string(act, text, part, start, end)
    for at in range(start, end - len(part) + 1):
        work(act, 1 + len(part) // CHARACTERS_A_UNIT)
        if same_at(part, text, at):
            return at
    return -1


# Amounts


@cython.final
cdef class Amount:
    """A quantity or a duration, or a string that is both (``5m``, ``0``)."""

    cdef bint compare(self, object value, int* out) except -1:
        """Sets `out` to -1, 0 or 1 for a value below, equal to or above this; False: not
        comparable.
        """
        kind = type(value)
        if kind is str:
            return self.compare_string(<str>value, out)
        if kind is int:
            if self.short and -MAX_SHORT < value < MAX_SHORT:
                out[0] = compare_milli(<int64_t>value * 1000, self.milli)
                return True
        if kind is int or kind is float:
            return self.compare_string(scalar_string(value), out)
        return False

    cdef bint compare_string(self, str text, int* out) except -1:
        cdef int64_t value
        cdef Quantity other
        if self.quantity is not None:
            if self.short and read_milli(text, &value):
                out[0] = compare_milli(value, self.milli)
                return True
            other = quantity_of(text)
            if other is not None:
                out[0] = order(other, self.quantity)
                return True
        if self.timed and read_duration(text, &value):
            out[0] = compare_milli(value, self.nanos)
            return True
        return False

    @property
    def is_quantity(self):
        #: () -> bool
        """Whether it is a quantity; ``5m`` is both a quantity and a duration."""
        return self.quantity is not None

    def order(self, value):
        #: (object) -> int | None
        """-1, 0 or 1 for a value below, equal to or above this; None: not comparable."""
        cdef int found = 0
        return found if self.compare(value, &found) else None


cpdef Amount amount_of(str text):
    #: (str) -> Amount | None
    """The Amount of a string, or None."""
    cdef Amount made = Amount.__new__(Amount)
    made.text = text
    made.quantity = quantity_of(text)
    made.timed = read_duration(text, &made.nanos)
    made.short = made.quantity is not None and read_milli(text, &made.milli)
    return made if made.timed or made.quantity is not None else None


cdef inline int compare_milli(int64_t one, int64_t other) noexcept:
    return (one > other) - (one < other)


cdef Quantity quantity_of(str text):
    """The quantity; None if the string is not one, or if it is absurdly large."""
    if not text or len(text) > MAX_AMOUNT_CHARACTERS or text[0] not in "+-.0123456789":
        return None
    found = parse(text)
    if type(found) is not Quantity or not has_form(text, QUANTITY_FORM):
        return None
    return <Quantity>found


cdef bint read_duration(str text, int64_t* out) except -1:
    """Nanoseconds of a duration; False if the string is not one, or if it is absurdly long."""
    if len(text) > MAX_AMOUNT_CHARACTERS or not parse_duration(text, out):
        return False
    return has_form(text, DURATION_FORM)


cdef bint has_form(str text, Regex form) except -1:
    """Whether a short string matches; it needs no budget."""
    return form.search(activation(0, 0, 0), text)


cdef bint read_milli(str text, int64_t* out) except -1:
    """Thousandths of a quantity that is a whole number with an optional usual suffix."""
    cdef Py_ssize_t at = 0, length = len(text)
    cdef int64_t number = 0, factor = 1000
    cdef bint negative = False
    cdef Py_UCS4 char
    if length and text[0] == u"-":
        negative = True
        at = 1
    if at == length or not (u"0" <= text[at] <= u"9"):
        return False
    while at < length and u"0" <= text[at] <= u"9":
        number = number * 10 + (<int64_t>text[at] - 48)
        if number > MAX_SHORT:
            return False
        at += 1
    if at < length:
        char = text[at]
        at += 1
        if at < length:
            if text[at] != u"i" or at + 1 != length:
                return False
            factor = binary_factor(char)
        else:
            factor = decimal_factor(char)
        if factor == 0 or number > MAX_SHORT * 1000 // factor:
            return False
    out[0] = -number * factor if negative else number * factor
    return True


cdef int64_t binary_factor(Py_UCS4 suffix) noexcept:
    """Thousandths in ``Ki``, ``Mi`` …; 0: another suffix."""
    if suffix == u"K":
        return <int64_t>1000 << 10
    if suffix == u"M":
        return <int64_t>1000 << 20
    if suffix == u"G":
        return <int64_t>1000 << 30
    return <int64_t>1000 << 40 if suffix == u"T" else 0


cdef int64_t decimal_factor(Py_UCS4 suffix) noexcept:
    """Thousandths in ``m``, ``k``, ``M`` …; 0: another suffix."""
    if suffix == u"m":
        return 1
    if suffix == u"k":
        return 1_000_000
    if suffix == u"M":
        return 1_000_000_000
    if suffix == u"G":
        return 1_000_000_000_000
    return 1_000_000_000_000_000 if suffix == u"T" else 0


# Scalars


cdef str scalar_string(object value):
    """A scalar as a string as JSON prints it; None for null, maps and lists."""
    kind = type(value)
    if kind is str:
        return <str>value
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        # Python rejects conversions of thousands of digits; no decoder returns such numbers.
        return str(value) if value.bit_length() <= MAX_AMOUNT_BITS else "a huge number"
    return repr(value) if kind is float else None
