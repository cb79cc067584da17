"""Prints JSON like Go's ``encoding/json``: members sorted by name, strings escaped for HTML."""

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
        parts.append(printing.number(value, -6, 21, 1))
    else:
        parts.append(dumps(value))
    return 0


cdef str string(str value):
    # Go replaces bytes that are not UTF-8; here they are halves of surrogate pairs.
    value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return dumps(value, ensure_ascii=False).translate(ESCAPES)
