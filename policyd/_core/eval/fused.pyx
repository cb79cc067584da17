"""Nodes that replace several nodes. Rare cases and errors are left to the general nodes they hold.

Each node handles the usual case, in which all values have the expected types, and evaluates the
general nodes in all other cases. The charges are the same.
"""

cimport cython
from libc.stdint cimport int64_t
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Contains, PyUnicode_Tailmatch
from libc.string cimport memcmp

from policyd._core.eval.nodes cimport Node
from policyd._core.eval.calls cimport Call2
from policyd._core.eval.access cimport (
    PathNode, PyDict_CheckExact, PyDict_GetItemWithError, PyTuple_GET_ITEM, walk_maps,
)
from policyd._core.values.activation cimport Activation, charge
from policyd._core.eval.functions cimport tenths
from policyd._core.eval.logic cimport all_of

#: from policyd._core.eval.access import PathNode
#: from policyd._core.eval.calls import Call2
#: from policyd._core.eval.nodes import Node

cdef enum StringRelation:
    STARTS
    ENDS
    CONTAINS

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(PyObject* value)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    Py_ssize_t PY_SSIZE_T_MAX

cdef dict RELATIONS = {"startsWith": STARTS, "endsWith": ENDS, "contains": CONTAINS}


@cython.final
cdef class PathTests(Node):
    """``has(a.b) && has(a.b.c) && 'd' in a.b.c``: one walk from a variable for all terms.

    Each term is a lookup, as is each field that is read on the way to it.
    """
    cdef readonly Py_ssize_t slot
    cdef readonly tuple fields   # before the first term
    cdef readonly tuple terms
    cdef readonly tuple keys     # of the lookups
    # Per lookup: twice the cost of its term (0: it belongs to no term), plus 1 if it continues from
    # the value that the lookup before it found.
    cdef bytes codes
    #: fields: tuple[str, ...]
    #: terms: tuple[Node, ...]
    #: keys: tuple[str, ...]

    def __init__(self, slot, tuple fields not None, tuple terms not None, tuple keys not None,
                 bytes codes not None):
        #: (int, tuple[str, ...], tuple[Node, ...], tuple[str, ...], bytes) -> None
        if len(codes) != len(keys):
            raise ValueError("one code for each key")
        self.slot = slot
        self.fields = fields
        self.terms = terms
        self.keys = keys
        self.codes = codes

    cdef object eval(self, Activation act):
        cdef Py_ssize_t i, missing
        cdef PyObject* place = walk_maps(
            act, self.slot, self.fields, len(self.fields), &missing)
        cdef PyObject* found = NULL
        cdef const unsigned char* codes = self.codes
        if place is NULL:
            return self.eval_terms(act, 0)
        for i in range(len(self.keys)):
            if codes[i] & 1:
                place = found
            if not PyDict_CheckExact(place):
                return self.eval_terms(act, i)
            if codes[i] > 1:
                charge(act, codes[i] >> 1)
            found = PyDict_GetItemWithError(place, PyTuple_GET_ITEM(<PyObject*>self.keys, i))
            if found is NULL:
                return False if codes[i] > 1 else self.eval_terms(act, i)
        return True

    cdef object eval_terms(self, Activation act, Py_ssize_t lookup):
        """Evaluate the terms one by one. The terms before ``lookup`` were true."""
        cdef const unsigned char* codes = self.codes
        cdef Py_ssize_t i, done = 0
        for i in range(lookup):
            done += codes[i] > 1
        return all_of(act, self.terms, done)


@cython.final
cdef class StringTest(Node):
    """``charges``: by the lengths of both strings, otherwise 1 unit; ``by_part``: by the part's
    length.
    """
    cdef Call2 call
    cdef PathNode path
    cdef str part
    cdef StringRelation relation
    cdef int64_t part_tenths   # factor of the cost: for contains a tenth of part's length, else 1
    cdef int64_t fixed         # the cost if it does not depend on the string, otherwise -1

    def __init__(self, Call2 call not None, PathNode path not None, str part not None, charges,
                 by_part=False):
        #: (Call2, PathNode, str, bool, bool) -> None
        self.call = call
        self.path = path
        self.part = part
        self.relation = RELATIONS[call.name]
        self.part_tenths = tenths(len(part)) if self.relation == CONTAINS else 1
        self.fixed = -1 if charges else 1
        if by_part:
            self.fixed = tenths(len(part))

    cdef object eval(self, Activation act):
        cdef PathNode path = self.path
        cdef Py_ssize_t missing, size = len(path.fields)
        cdef PyObject* found = walk_maps(act, path.slot, path.fields, size, &missing)
        if found is NULL or not PyUnicode_CheckExact(found):
            return self.call.eval(act)
        charge(act, path.units + size)
        if self.fixed >= 0:
            charge(act, self.fixed)
        else:
            charge(act, tenths(PyUnicode_GET_LENGTH(<object>found)) * self.part_tenths)
        if self.relation == CONTAINS:
            return PyUnicode_Contains(<object>found, self.part) == 1
        return matches_end(<object>found, self.part, self.relation == ENDS)


cdef inline bint matches_end(object text, str part, bint at_end) except -1:
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), length = PyUnicode_GET_LENGTH(part)
    cdef const char* data = <const char*>PyUnicode_DATA(text)
    if PyUnicode_KIND(text) != PyUnicode_KIND(part):
        return PyUnicode_Tailmatch(text, part, 0, PY_SSIZE_T_MAX, 1 if at_end else -1) == 1
    if length > size:
        return False
    if at_end:
        data += (size - length) * PyUnicode_KIND(text)
    return memcmp(data, PyUnicode_DATA(part), length * PyUnicode_KIND(text)) == 0
