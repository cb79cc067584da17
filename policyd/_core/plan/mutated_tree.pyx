"""The object of a request while mutations change it one after the other. The original is never
changed.
"""

cimport cython

from policyd._core.json.encoded_size cimport operation_bytes
from policyd._core.json.sendable cimport problem_in
from policyd._core.patch.diff cimport operations_between
from policyd._core.plan.edited cimport decoded_edit
from policyd._core.schema.decode cimport decoded_or_none

from policyd._core.json import encoded_size

#: from policyd._core.schema.types import Field


@cython.final
cdef class MutatedTree:
    """The tree so far. ``changes`` and ``operations`` are the number of accepted changes since it
    was set to 0, and the operations of the last one.
    """
    #: operations: list[dict[str, Any]]

    def __init__(self, object original, Field root):
        #: (Any, Field | None) -> None
        self.original = self.current = original
        self.root = root
        self.keys = None if root is None else root.list_keys
        self.operations = []

    def accept(self, object changed):
        #: (Any) -> str | None
        """Replace the tree by ``changed``. If the change cannot be sent as a patch, return what is
        wrong with it and keep the tree.
        """
        return self.accepted(changed)

    cdef str accepted(self, object changed):
        """The same as ``accept``."""
        cdef Py_ssize_t limit = encoded_size.MAX_PATCH_BYTES, size
        cdef list operations = self.operations_to(changed)
        size = operation_bytes(operations, limit)
        self.written += size
        if self.written > limit and self.too_large(size, changed):
            return encoded_size.TOO_LARGE
        problem = problem_in(operations)
        if problem is None and operations:
            self.changes += 1
            self.operations = operations
            self.current = changed
        return problem

    cdef list operations_to(self, object changed):
        if changed is self.latest and self.latest_from is self.current:
            return self.found
        return operations_between(self.current, changed, self.keys)

    cdef object decoded(self, Edit edit, dict old, dict new, Field root, bint convert):
        """The decoded object after a mutation of ``old``, whose last edit is known or None; None if
        it cannot be decoded.
        """
        if edit is None or old is not self.current or root is not self.root:
            return decoded_or_none(new, old, root, convert)
        self.found, self.latest_from = [], old
        self.latest = decoded_edit(edit, old, new, root, convert, self.keys, self.found)
        return self.latest

    cdef bint too_large(self, Py_ssize_t size, object changed) except -1:
        """Whether the patch of one change, or of the whole request, is too large."""
        cdef Py_ssize_t limit = encoded_size.MAX_PATCH_BYTES
        if size <= limit:
            # Later mutations may have undone earlier ones.
            size = operation_bytes(operations_between(self.original, changed, self.keys), limit)
            self.written = size
        return size > limit

    def restore(self, object tree):
        #: (Any) -> None
        """Return to an earlier tree."""
        self.current = tree

    def patch(self, before=None):
        #: (Any) -> list[dict[str, Any]]
        """The operations that change ``before`` (None: the original) into the tree."""
        before = self.original if before is None else before
        return operations_between(before, self.current, self.keys)


@cython.final
cdef class ChangeLog:
    """The changes of one request, in order: (policy, operations, tree before, tree after)."""
    #: changes: list[tuple[Any, list[dict[str, Any]], Any, Any]]

    def __cinit__(self):
        self.changes = []
        self.only_adds = True

    cpdef bint suspects(self, list operations) except -1:
        #: (list[dict[str, Any]]) -> bool
        """Whether a change may be in conflict with the earlier ones."""
        # If nothing was removed, no policy had written the added keys and items before.
        return bool(self.changes) and not (self.only_adds and adds(operations))

    cpdef int add(self, object policy, list operations, object before, object after) except -1:
        #: (Any, list[dict[str, Any]], Any, Any) -> None
        self.only_adds = self.only_adds and adds(operations)
        self.changes.append((policy, operations, before, after))
        return 0


cdef bint adds(list operations) except -1:
    """Whether all operations add something."""
    cdef dict operation
    for operation in operations:
        if operation["op"] != "add":
            return False
    return True
