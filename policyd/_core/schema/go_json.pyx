"""Prints JSON like Go's ``encoding/json``: members sorted by name, strings escaped for HTML."""

from decimal import Decimal
from json import dumps

from policyd._core.schema.types cimport kind_of
from policyd._core.system.c_stack cimport descend

from policyd._core.go import printing

cdef dict ESCAPES = printing.JSON_ESCAPES


def go_json(value):
    #: (object) -> str
    cdef list parts = []
    write(value, parts)
    return "".join(parts)


cdef int write(object value, list parts) except -1:
    cdef object kind = kind_of(value)
    cdef str before
    if kind is dict or kind is list:
        descend()
    if kind is dict:
        before = "{"
        for name in sorted(value):
            parts.append(before)
            parts.append(string(name))
            parts.append(":")
            write((<dict>value)[name], parts)
            before = ","
        parts.append("}" if value else "{}")
    elif kind is list:
        before = "["
        for item in <list>value:
            parts.append(before)
            write(item, parts)
            before = ","
        parts.append("]" if value else "[]")
    elif kind is str:
        parts.append(string(value))
    elif kind is float:
        parts.append(number(value))
    else:
        parts.append(dumps(value))
    return 0


cdef str string(str value):
    # Go replaces bytes that are not UTF-8; here they are halves of surrogate pairs.
    value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return dumps(value, ensure_ascii=False).translate(ESCAPES)


cdef str number(double value):
    """The fewest digits, with an exponent below 1e-6 and from 1e21 on."""
    cdef str printed = repr(value), digits, power
    if not 1e-6 <= abs(value) < 1e21 and value != 0:
        digits, _, power = printed.partition("e")
        return f"{digits.removesuffix('.0')}e{int(power):+d}"
    if "e" in printed:
        return f"{Decimal(printed):f}"
    return printed.removesuffix(".0")
