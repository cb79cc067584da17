"""Numbers as Go parses and computes them, in one pass over the string, however long it is.

Python converts the result, which is short: digits that cannot change a double are cut, and an
integer with more than 64 bits is invalid.
"""

from libc.math cimport INFINITY

cdef enum:
    # Go's limit for the digits of a decimal; further digits only show that it is inexact.
    SIGNIFICANT = 800
    LONGEST = 400       # characters of an integer
    LONGEST_HEX = 400   # characters of a hexadecimal float


cdef inline bint is_digit(Py_UCS4 char) noexcept:
    return u"0" <= char <= u"9"


cdef inline bint is_hex(Py_UCS4 char) noexcept:
    return is_digit(char) or u"a" <= char <= u"f" or u"A" <= char <= u"F"


cdef inline Py_ssize_t after_sign(str text) except -1:
    return 1 if text and (text[0] == u"+" or text[0] == u"-") else 0


cdef inline Py_ssize_t after_digits(str text, Py_ssize_t at) except -1:
    cdef Py_ssize_t end = len(text)
    while at < end and is_digit(text[at]):
        at += 1
    return at


cdef inline Py_ssize_t after_hex(str text, Py_ssize_t at) except -1:
    cdef Py_ssize_t end = len(text)
    while at < end and is_hex(text[at]):
        at += 1
    return at


cdef object parse_integer(str text, bint signed):
    """ParseInt or ParseUint with base 10: an int of any size up to LONGEST digits; None if the
    string is not an integer.
    """
    cdef Py_ssize_t start = after_sign(text) if signed else 0
    if start == len(text) or len(text) > LONGEST or after_digits(text, start) != len(text):
        return None
    return int(text)


cdef object parse_double(str text):
    """ParseFloat: the double; None if the string is not a number or out of range."""
    if "_" in text:
        text = without_separators(text)
    cdef Py_ssize_t start = after_sign(text)
    if start == len(text):
        return None
    if text[start] == u"0" and start + 1 < len(text) and text[start + 1] in u"xX":
        return hexadecimal(text, start + 2)
    if is_digit(text[start]) or text[start] == u".":
        return decimal(text, start)
    return special(text, start)


cdef str without_separators(str text):
    """Remove each ``_`` between two digits. Any ``_`` that is left makes the number invalid."""
    cdef list parts = text.split("_"), joined = [parts[0]]
    cdef bint hexadecimal = "0x" in text[:3].lower()
    cdef str before, after
    cdef Py_ssize_t i
    for i in range(1, len(parts)):
        before, after = parts[i - 1], parts[i]
        if not before or not after or not joins(before[len(before) - 1], after[0], hexadecimal):
            joined.append("_")
        joined.append(after)
    return "".join(joined)


cdef bint joins(Py_UCS4 before, Py_UCS4 after, bint hexadecimal) noexcept:
    if hexadecimal:
        return (is_hex(before) or before in u"xX") and is_hex(after)
    return is_digit(before) and is_digit(after)


cdef object decimal(str text, Py_ssize_t start):
    """``1.5e3``; a number out of range is an error in Go."""
    cdef Py_ssize_t whole_end = after_digits(text, start), end = whole_end, exponent
    if end < len(text) and text[end] == u".":
        end = after_digits(text, end + 1)
        if end - start == 1:
            return None
    exponent = end
    if end < len(text) and text[end] in u"eE":
        end += 1
        if end < len(text) and text[end] in u"+-":
            end += 1
        if end == len(text) or after_digits(text, end) != len(text):
            return None
    elif end < len(text):
        return None
    if len(text) > SIGNIFICANT:
        text = shortened(text, start, whole_end, exponent)
    number = float(text)
    return None if number - number != 0 else number


cdef str shortened(str text, Py_ssize_t start, Py_ssize_t whole_end, Py_ssize_t exponent):
    """Shortens to SIGNIFICANT digits for the same double: one more digit represents all others."""
    cdef str sign = text[:start], digits = text[start:whole_end] + text[whole_end + 1:exponent]
    cdef str kept = digits.lstrip("0"), power = text[exponent + 1:].lstrip("+")
    cdef bint negative = power.startswith("-")
    power = power.lstrip("-").lstrip("0")
    if len(power) > 18:  # no string has enough digits to compensate for such an exponent
        power = "9" * 18
    shift = (-int(power or "0") if negative else int(power or "0")) - (exponent - whole_end)
    if exponent > whole_end:
        shift += 1  # the point
    if len(kept) > SIGNIFICANT:
        shift += len(kept) - SIGNIFICANT
        kept = kept[:SIGNIFICANT] + ("1" if kept[SIGNIFICANT:].rstrip("0") else "0")
        shift -= 1
    return f"{sign}{kept or '0'}e{shift}"


cdef object hexadecimal(str text, Py_ssize_t start):
    """``0x1.8p3``: Go requires the exponent."""
    cdef Py_ssize_t end = after_hex(text, start), power
    if end < len(text) and text[end] == u".":
        end = after_hex(text, end + 1)
        if end - start == 1:
            return None
    if end == start or end == len(text) or text[end] not in u"pP":
        return None
    power = end + 1
    if power < len(text) and text[power] in u"+-":
        power += 1
    if power == len(text) or after_digits(text, power) != len(text) or len(text) >= LONGEST_HEX:
        return None
    try:
        return float.fromhex(text)
    except OverflowError:
        return None


cdef object special(str text, Py_ssize_t start):
    """Infinity with or without a sign, and NaN without one."""
    cdef str name = text[start:].lower() if len(text) < 10 else ""
    if name == "inf" or name == "infinity":
        return float(text)
    return float(text) if name == "nan" and not start else None


cdef double to_double(object number) except? -1:
    """The number as a double, infinity if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return INFINITY if number > 0 else -INFINITY


cdef double power_of_ten(object exponent) except? -1:
    """Go's math.Pow10: a product of two table entries with the same rounding; 0 or infinity out of
    range."""
    if exponent < -323 or exponent > 308:
        return 0 if exponent < 0 else float("inf")
    high, low = divmod(abs(exponent), 32)
    if exponent < 0:
        return float(f"1e-{high * 32}") / float(f"1e{low}")
    return float(f"1e{high * 32}") * float(f"1e{low}")
