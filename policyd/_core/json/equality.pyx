"""Equality of JSON values. Unlike Python's ``==``, 1, 1.0 and True differ."""

from policyd.errors import PatchError

#: MAX_DEPTH: int

# The maximum depth of an object in a request. The recursion uses the C stack.
cdef int DEPTH = 1000
MAX_DEPTH = DEPTH


def equal(object one, object other):
    #: (Any, Any) -> bool
    """Whether two JSON values are equal. 1, 1.0 and true are different.

    Raises PatchError if they are nested deeper than ``MAX_DEPTH`` levels.
    """
    return same(one, other, True, 0)


cdef int check_depth(int depth) except -1:
    if depth >= DEPTH:
        raise PatchError(f"the document is nested deeper than {DEPTH} levels")
    return 0


cdef inline bint is_number(object kind):
    return kind is int or kind is float


cdef bint same(object one, object other, bint strict, int depth) except -1:
    """Deep equality; unless ``strict``, numbers are compared by value (RFC 6902, 4.6)."""
    cdef Py_ssize_t i, at = 0, place = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef PyObject* found
    cdef object kind = type(one)
    if one is other:
        return True
    if kind is str:
        return type(other) is str and <str>one == <str>other
    if kind is not type(other):
        return not strict and is_number(kind) and is_number(type(other)) and one == other
    if kind is dict:
        if len(<dict>one) != len(<dict>other):
            return False
        check_depth(depth)
        while PyDict_Next(<PyObject*>one, &at, &key, &value):
            found = counterpart(<PyObject*>other, key, &place)
            if found == value:
                continue
            if found is NULL or not same(<object>value, <object>found, strict, depth + 1):
                return False
        return True
    if kind is list:
        if len(<list>one) != len(<list>other):
            return False
        check_depth(depth)
        for i in range(len(<list>one)):
            if not same((<list>one)[i], (<list>other)[i], strict, depth + 1):
                return False
        return True
    return one == other


cdef bint alike(object one, object other) except -1:
    """A cheap check whether two items are equal: containers only if they are the same object."""
    cdef object kind = type(one)
    if one is other:
        return True
    if kind is not type(other) or kind is dict or kind is list:
        return False
    if kind is str:
        return <str>one == <str>other
    return one == other
