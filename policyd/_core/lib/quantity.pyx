"""Kubernetes quantities: ``quantity("1.5Gi")``, ``isQuantity("100m")``.

``sign(q)`` (a function, not a method), ``q.isGreaterThan(p)``, ``q.isLessThan(p)``,
``q.compareTo(p)``, ``q.add(p)``, ``q.add(1)``, ``q.sub(p)``, ``q.sub(1)``, ``q.isInteger()``,
``q.asInteger()``, ``q.asApproximateFloat()``.

Cost: a tenth of the length of the string to parse it, 1 unit for everything else.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, take, work
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD, error
from policyd._core.go.numbers cimport power_of_ten, to_double
from policyd._core.eval.functions cimport binary, first_tenths, ternary, unary
from policyd._core.lib.quantity_grammar cimport MAX_INT64, Written, exponent_of, read
from policyd._core.values.types cimport Opaque

from policyd._core.eval import estimates
from policyd._core.lib import quantity_format
from policyd._core.eval.functions import Library

#: LIBRARY: Library

cdef dict DECIMAL_SUFFIXES = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}
cdef dict BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

cdef str WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
cdef str WRONG_NUMBER = "unable to parse numeric part of quantity"
cdef str WRONG_SUFFIX = "unable to parse quantity's suffix"

cdef enum:
    NANO = -9
    MAX_DIGITS = 18  # Kubernetes stores these in an int64; more become an arbitrary decimal
    # Since 1.38 those with a decimal and a binary suffix keep this many significant digits.
    MOST_SIGNIFICANT = 29
    MOST_SIGNIFICANT_BINARY = 70
    # Kubernetes would compute larger numbers until it runs out of memory.
    MAX_EXPONENT = 100000
    # Parsing digits takes quadratic time; Python rejects more than 4,300.
    MAX_WRITTEN = 4000
    MAX_INT64_DIGITS = 19

cdef str DECIMAL = quantity_format.DECIMAL
cdef str BINARY = quantity_format.BINARY
cdef str EXPONENT = quantity_format.EXPONENT


cdef class Quantity(Opaque):
    """``number * 10**scale``, as Kubernetes represents it: the notation affects its behaviour."""

    cdef str type_name(self):
        return "kubernetes.Quantity"

    cdef object equals(self, object other):
        if type(other) is not Quantity or (<Quantity> other).computed:
            return NO_SUCH_OVERLOAD
        return order(self, <Quantity> other) == 0

    cdef str go_name(self):
        return "*cel.Quantity" if self.computed else "cel.Quantity"

    def __str__(self):
        return self.written or quantity_format.canonical(self.number, self.scale, self.notation)


cdef Quantity made(object number, object scale, bint decimal, str notation=DECIMAL):
    cdef Quantity quantity = Quantity.__new__(Quantity)
    quantity.number = number
    quantity.scale = scale
    quantity.decimal = decimal
    quantity.notation = notation
    return quantity


# Parsing


cdef object parse(str text, bint since_1_38=False):
    """The Quantity, or Kubernetes' error message."""
    cdef Quantity short
    cdef Written parts
    if not read(text, &parts):
        return WRONG_FORMAT
    cdef Py_ssize_t places = parts.fraction_end - parts.fraction
    cdef Py_ssize_t digits = max(parts.whole_end - parts.whole, 1) + places
    cdef str suffix = text[parts.suffix:]
    power = BINARY_SUFFIXES.get(suffix)
    notation = DECIMAL
    exponent = DECIMAL_SUFFIXES.get(suffix)
    if power is None and exponent is None:
        exponent, notation = exponent_of(suffix), EXPONENT
        if exponent is None or abs(exponent) > MAX_EXPONENT:
            return WRONG_SUFFIX
    if digits > MAX_WRITTEN:
        return WRONG_SUFFIX
    cdef str whole = text[parts.whole:parts.whole_end] or "0"
    cdef str figures = whole + text[parts.fraction:parts.fraction_end]
    if power is not None:
        return parse_binary(text, whole, figures, power, &parts, since_1_38)
    scale = exponent - places
    number = int(figures)
    cdef bint fits = digits <= MAX_DIGITS
    if since_1_38 and digits == MAX_INT64_DIGITS:
        fits = number <= MAX_INT64 + parts.negative
    if fits and scale >= NANO:
        short = made(-number if parts.negative else number, scale, False, notation)
        fits = digits <= MAX_DIGITS and scale % 3 == 0  # as it is written
        if fits and not figures.endswith("000") and figures[0] != "0":
            short.written = text
        return short
    if parts.empty:
        return WRONG_NUMBER
    if since_1_38:
        number, scale = significant(figures, scale, MOST_SIGNIFICANT)
    return rounded(number, scale, parts.negative, notation)


cdef tuple significant(str figures, object scale, Py_ssize_t most):
    """The number with its most significant digits, rounded away from zero; and its scale."""
    cdef str digits = figures.lstrip("0")
    cdef Py_ssize_t extra = max(len(digits) - most, 0)
    number = int(digits[:len(digits) - extra] or "0")
    return number + (digits[len(digits) - extra:].strip("0") != ""), scale + extra


cdef object parse_binary(
    str text, str whole, str figures, object power, Written* parts, bint since_1_38
):
    cdef Quantity short
    cdef bint negative = parts.negative
    number = int(figures) * 2 ** power
    # Kubernetes' estimate of whether the number fits in an int64, with its rounding.
    if len(figures) == len(whole) and 15 - len(whole) - power * 3 // 10 - 1 >= 0:
        if number <= MAX_INT64:
            short = made(-number if negative else number, 0, False, BINARY)
            if int(whole) & 7:
                short.written = text
            return short
    if parts.empty:
        return WRONG_NUMBER
    scale = len(whole) - len(figures)
    if since_1_38:
        number, scale = significant(figures, scale, MOST_SIGNIFICANT_BINARY)
        number *= 2 ** power
    return rounded(number, scale, negative, BINARY)


cdef Quantity rounded(object number, object scale, bint negative, str notation):
    """An arbitrary decimal: rounded up to whole nanos; at most the largest int64 for binary
    suffixes."""
    if number:
        if scale >= NANO:
            number *= 10 ** (scale - NANO)
        elif NANO - scale > digits_of(number):
            number = 1
        else:
            number = -(-number // 10 ** (NANO - scale))
        scale = NANO
        if notation == BINARY and number > MAX_INT64 * 10 ** 9:
            number, scale = MAX_INT64, 0
    if notation == BINARY and number < 10 ** -scale:
        notation = DECIMAL
    return made(-number if negative else number, scale, True, notation)


cdef Quantity counted(Activation act, Quantity quantity):
    """Count the memory and work of a quantity, because a short string can represent a long number.
    """
    cdef int64_t bits = quantity.number.bit_length()
    work(act, computing(bits))
    take(act, bits // 8)
    return quantity


cdef inline int64_t computing(int64_t bits) noexcept:
    """Units of work (10 ns) for a number of this many bits: a little less than quadratic."""
    return (bits >> 8) * (bits >> 8) // 2


cdef object to_quantity(Activation act, object text):
    work(act, len(<str> text) // 8)
    found = parse(<str> text, act.since_1_38)
    return error(<str> found) if type(found) is str else counted(act, <Quantity> found)


def canonical_quantity(str text not None):
    #: (str) -> str
    """A quantity in the canonical form of Kubernetes; ValueError with its parser's message."""
    found = parse(text)
    if type(found) is str:
        raise ValueError(found)
    return str(found)


cdef object is_quantity(Activation act, object text):
    work(act, len(<str> text) // 8)
    found = parse(<str> text, act.since_1_38)
    if type(found) is not Quantity:
        return False
    counted(act, <Quantity> found)
    return True


# Order


cdef int order(Quantity left, Quantity right) except -2:
    """-1, 0 or 1."""
    cdef int sides = sign_of(left) - sign_of(right)
    if sides:
        return 1 if sides > 0 else -1
    if left.scale == right.scale or not left.number:
        return (left.number > right.number) - (left.number < right.number)
    # Compare magnitudes first, to avoid large powers of ten
    reach = digits_of(left.number) + left.scale - digits_of(right.number) - right.scale
    if abs(reach) > 2:
        return sign_of(left) if reach > 0 else -sign_of(left)
    shift = min(left.scale, right.scale)
    a = left.number * 10 ** (left.scale - shift)
    b = right.number * 10 ** (right.scale - shift)
    return (a > b) - (a < b)


cdef object digits_of(object number):
    """The number of decimal digits, or one more, found without printing the number."""
    return number.bit_length() * 30103 // 100000 + 1


cdef int sign_of(Quantity quantity) except -2:
    return (quantity.number > 0) - (quantity.number < 0)


cdef object sign(Activation act, object quantity):
    return sign_of(<Quantity> quantity)


cdef object is_greater(Activation act, object left, object right):
    weigh(act, <Quantity> left, <Quantity> right)
    return order(<Quantity> left, <Quantity> right) > 0


cdef object is_less(Activation act, object left, object right):
    return is_greater(act, right, left)


cdef object compare_to(Activation act, object left, object right):
    weigh(act, <Quantity> left, <Quantity> right)
    return order(<Quantity> left, <Quantity> right)


cdef int weigh(Activation act, Quantity left, Quantity right) except -1:
    """Count the work of a comparison."""
    return work(act, computing(left.number.bit_length() + right.number.bit_length()))


# Numbers


cdef object integer_of(Quantity quantity):
    """The int64, or None for an arbitrary decimal or a number written with a fraction."""
    if quantity.decimal or quantity.scale < 0 or (quantity.scale > 18 and quantity.number):
        return None
    value = quantity.number * 10 ** quantity.scale if quantity.number else 0
    return value if -MAX_INT64 - 1 <= value <= MAX_INT64 else None


cdef object is_integer(Activation act, object quantity):
    return integer_of(<Quantity> quantity) is not None


cdef object as_integer(Activation act, object quantity):
    value = integer_of(<Quantity> quantity)
    return error("cannot convert value to integer") if value is None else value


cdef object as_float(Activation act, object quantity):
    number, scale = (<Quantity> quantity).number, (<Quantity> quantity).scale
    cdef double base = to_double(number)
    return base * power_of_ten(scale) if scale else base


# Sums


cdef object plus(Activation act, object one, object other, object sign):
    """The sum of quantities (``sign``: 1), or the difference (-1); ``other`` may be an int."""
    cdef Quantity left = <Quantity> one, total = None
    cdef Quantity right = made(other, 0, False, EXPONENT) if type(other) is int else other
    if not left.decimal and not right.decimal:
        total = short_sum(left, right, sign)
    if total is None:
        if abs(left.scale - right.scale) > MAX_EXPONENT:
            return error("quantities are too far apart to be added")
        work(act, computing(4 * <int64_t> abs(left.scale - right.scale)))
        scale = min(left.scale, right.scale)
        number = left.number * 10 ** (left.scale - scale)
        number += sign * right.number * 10 ** (right.scale - scale)
        total = counted(act, made(number, scale, True))
    total.computed = True
    total.notation = left.notation if left.number else right.notation
    return total


cdef Quantity short_sum(Quantity left, Quantity right, int sign):
    """The sum as an int64, which Kubernetes tries first; None: it becomes a decimal.

    It also becomes one if the sum fits but a summand, scaled, does not.
    """
    change = right.number
    if sign < 0 and change != -MAX_INT64 - 1:  # its negative overflows to itself in Go
        change = -change
    if not change:
        return made(left.number, left.scale, False)
    if not left.number:
        return made(change, right.scale, False)
    if abs(left.scale - right.scale) > MAX_INT64_DIGITS:
        return None
    scale = min(left.scale, right.scale)
    base = left.number * 10 ** (left.scale - scale)
    change *= 10 ** (right.scale - scale)
    for number in (base, change, base + change):
        if not -MAX_INT64 - 1 <= number <= MAX_INT64:
            return None
    return made(base + change, scale, False)


LIBRARY = Library("quantity", (
    unary(
        "quantity", "quantity(string) -> kubernetes.Quantity", "string_to_quantity", to_quantity,
        "quantity('1Ki') == quantity('1024') // true",
    ).costs(first_tenths, estimates.first_tenths),
    unary(
        "isQuantity", "isQuantity(string) -> bool", "is_quantity_string", is_quantity,
        "isQuantity('1.3Gi') // true",
    ).costs(first_tenths, estimates.first_tenths),
    unary(
        "sign", "sign(kubernetes.Quantity) -> int", "quantity_sign", sign,
        "sign(quantity('-100m')) // -1",
    ),
    binary(
        "isGreaterThan", "kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool",
        "quantity_is_greater_than", is_greater,
        "quantity('200M').isGreaterThan(quantity('0.1G')) // true",
    ),
    binary(
        "isLessThan", "kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool",
        "quantity_is_less_than", is_less, "quantity('50M').isLessThan(quantity('50Mi')) // true",
    ),
    binary(
        "compareTo", "kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int",
        "quantity_compare_to", compare_to, "quantity('50k').compareTo(quantity('0.05M')) // 0",
    ),
    unary(
        "asApproximateFloat", "kubernetes.Quantity.asApproximateFloat() -> double",
        "quantity_get_float", as_float, "quantity('500m').asApproximateFloat() // 0.5",
    ),
    unary(
        "asInteger", "kubernetes.Quantity.asInteger() -> int", "quantity_get_int", as_integer,
        "quantity('50M').asInteger() // 50000000",
    ),
    unary(
        "isInteger", "kubernetes.Quantity.isInteger() -> bool", "quantity_is_integer", is_integer,
        "quantity('1500m').isInteger() // false",
    ),
    ternary(
        "add", "kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity",
        "quantity_add", plus, "quantity('50k').add(quantity('20k')) == quantity('70k') // true",
    ).given(1),
    ternary(
        "add", "kubernetes.Quantity.add(int) -> kubernetes.Quantity", "quantity_add_int", plus,
        "quantity('50k').add(20) == quantity('50020') // true",
    ).given(1),
    ternary(
        "sub", "kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity",
        "quantity_sub", plus, "quantity('50k').sub(quantity('20k')) == quantity('30k') // true",
    ).given(-1),
    ternary(
        "sub", "kubernetes.Quantity.sub(int) -> kubernetes.Quantity", "quantity_sub_int",
        plus, "quantity('50k').sub(20000) == quantity('30k') // true",
    ).given(-1),
), kinds={"kubernetes.Quantity": Quantity})
