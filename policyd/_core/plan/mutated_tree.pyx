"""The object of a request while mutations change it one after the other. The original is never
changed.
"""

cimport cython

from policyd._core.json.encoded_size cimport operation_bytes
from policyd._core.json.sendable cimport problem_in
from policyd._core.patch.diff cimport operations_between
from policyd._core.plan.plan cimport Subject

from policyd._core.json import encoded_size


@cython.final
@cython.auto_pickle(False)
cdef class MutatedTree:

    def __init__(self, object original, keys):
        self.original = self.current = original
        self.keys = keys
        self.operations = []

    def seen_by(self, Subject subject not None):
        if self.base is not subject:
            self.base, self.view = subject, subject.seeing(self.current)
        return self.view

    def accept(self, object changed):
        cdef Py_ssize_t limit = encoded_size.MAX_PATCH_BYTES, size
        cdef list operations = operations_between(self.current, changed, self.keys)
        size = operation_bytes(operations, limit)
        self.written += size
        if self.written > limit and self.too_large(size, changed):
            return encoded_size.TOO_LARGE
        problem = problem_in(operations)
        if problem is None and operations:
            self.changes += 1
            self.operations = operations
            self.restore(changed)
        return problem

    cdef bint too_large(self, Py_ssize_t size, object changed) except -1:
        """Whether the patch of one change, or of the whole request, is too large."""
        cdef Py_ssize_t limit = encoded_size.MAX_PATCH_BYTES
        if size <= limit:
            # Later mutations may have undone earlier ones.
            size = operation_bytes(operations_between(self.original, changed, self.keys), limit)
            self.written = size
        return size > limit

    def restore(self, object tree):
        self.current = tree
        self.base = self.view = None

    def patch(self, before=None):
        before = self.original if before is None else before
        return operations_between(before, self.current, self.keys)
