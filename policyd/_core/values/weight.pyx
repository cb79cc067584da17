"""How many values a CEL value consists of, without recursion."""

from policyd._core.values.types cimport Optional, StructValue

cdef enum:
    CHARACTERS_A_VALUE = 32  # of a string that counts as several values


cdef bint has_more_values(object value, Py_ssize_t most) except -1:
    """Whether it has more values than that, each occurrence counted: a list may contain the object
    many times. All characters of strings together have at most 32 times that.
    """
    cdef Py_ssize_t left = most
    cdef list waiting = [value]
    while waiting:
        node = waiting.pop()
        left -= 1
        if type(node) is Optional:
            node = (<Optional>node).held
        kind = type(node)
        if kind is str:
            left -= len(<str>node) // CHARACTERS_A_VALUE
        elif kind is list:
            waiting.extend(<list>node)
        elif kind is dict:
            waiting.extend((<dict>node).values())
        elif kind is StructValue:
            waiting.extend((<StructValue>node).fields.values())
        elif kind is Optional:
            waiting.append(node)
        if left < len(waiting):
            return True
    return False
