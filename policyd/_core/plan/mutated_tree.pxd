"""The object of a request while mutations change it: decodes and measures each change, and finds
its operations.
"""

from policyd._core.schema.merge cimport Edit
from policyd._core.schema.types cimport Field

cdef class MutatedTree:
    cdef readonly object original
    cdef readonly object current
    cdef readonly Py_ssize_t changes
    cdef readonly list operations
    cdef Field root             # the type of the object; None: unknown
    cdef object keys            # the fields that identify list items, as for ``diff``
    cdef Py_ssize_t written     # bytes of all patches; the final patch has at most as many
    # The last result of ``decoded``, and the operations that lead to it from the tree at that time.
    cdef object latest
    cdef object latest_from
    cdef list found

    cdef object decoded(self, Edit edit, dict old, dict new, Field root, bint convert)
    cdef list operations_to(self, object changed)
    cpdef str accept(self, object changed)
    cdef bint too_large(self, Py_ssize_t size, object changed) except -1


cdef class ChangeLog:
    cdef readonly list changes
    cdef readonly bint only_adds    # whether all changes only added

    # Whether a change may conflict with earlier changes and must be compared with them.
    cpdef bint suspects(self, list operations) except -1
    cpdef int add(self, object policy, list operations, object before, object after) except -1
