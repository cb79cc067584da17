"""The grammar of Kubernetes quantities, parsed in one pass.

Source: ``parseQuantityString`` in apimachinery's ``pkg/api/resource/quantity.go``: a sign, digits
with a point, then a suffix of letters, a sign and digits. Parsing never backtracks, so it takes
linear time.
"""

cdef object MAX_INT64 = 9223372036854775807


cdef inline Py_ssize_t after_digits(str text, Py_ssize_t at, Py_ssize_t end) except -1:
    while at < end and u"0" <= text[at] <= u"9":
        at += 1
    return at


cdef bint read(str text, Written* out) except -1:
    """Whether the string fits the grammar; sets `out` to the positions of its parts."""
    cdef Py_ssize_t at = 0, start, end = len(text)
    if end == 0:
        return False
    out.negative = text[0] == u"-"
    if text[0] == u"-" or text[0] == u"+":
        at = 1
    start = at
    while at < end and text[at] == u"0":
        at += 1
    out.whole = at
    at = out.whole_end = after_digits(text, at, end)
    out.empty = at == start
    out.fraction = out.fraction_end = at
    if at < end and text[at] == u".":
        out.fraction = at + 1
        at = out.fraction_end = after_digits(text, at + 1, end)
        out.empty = out.empty and at == out.fraction
    out.suffix = at
    while at < end and text[at] in u"eEinumkKMGTP":
        at += 1
    if at < end and (text[at] == u"-" or text[at] == u"+"):
        at += 1
    return after_digits(text, at, end) == end


cdef object exponent_of(str suffix):
    """``e3``, ``E-3``: the exponent, None for anything else. Go truncates it to 32 bits."""
    if len(suffix) < 2 or suffix[0] not in "eE":
        return None
    cdef str digits = suffix[1:].lstrip("+-")
    if not digits.isdigit():  # the string is ASCII here
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19:
        return None
    exponent = -int(digits) if suffix[1] == "-" else int(digits)
    if not -MAX_INT64 - 1 <= exponent <= MAX_INT64:
        return None
    return (exponent + 2147483648) % 4294967296 - 2147483648
