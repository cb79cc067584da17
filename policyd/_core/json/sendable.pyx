"""Checks that a JSON Patch contains only JSON that the API server decodes without a change."""

from libc.math cimport isfinite

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text) noexcept

cdef int MAX_DEPTH = 250
cdef object INT64_MIN = -(2**63)
cdef object INT64_MAX = 2**63 - 1


cpdef str unsendable(list operations):
    #: (list[dict[str, Any]]) -> str | None
    """The first value of the operations that JSON or the API server cannot represent, or None."""
    cdef dict operation
    for operation in operations:
        problem = string_problem(operation["path"]) or problem_of(operation.get("value"), 0)
        if problem is not None:
            return problem
    return None


cdef str problem_of(object value, int depth):
    cdef object kind = type(value)
    cdef str problem
    if depth > MAX_DEPTH:
        return f"a value nested deeper than {MAX_DEPTH} levels"
    if kind is str:
        return string_problem(<str>value)
    if kind is dict:
        for name, item in (<dict>value).items():
            problem = string_problem(<str>name) or problem_of(item, depth + 1)
            if problem is not None:
                return problem
    elif kind is list:
        for item in <list>value:
            problem = problem_of(item, depth + 1)
            if problem is not None:
                return problem
    elif kind is float and not isfinite(<double>value):
        return f"the number {value}, which JSON cannot carry"
    elif kind is int and not INT64_MIN <= value <= INT64_MAX:
        return f"the number {value}, which is outside int64"
    return None


cdef str string_problem(str text):
    return "a string with half of a surrogate pair" if has_surrogate(text) else None


cdef bint has_surrogate(str text) except -1:
    cdef Py_UCS4 c
    if not PyUnicode_IS_ASCII(text):
        for c in text:
            if 0xD800 <= c <= 0xDFFF:
                return True
    return False
