"""Applies the value of a mutation's expression where nothing is wrong."""

cimport cython

from policyd._core.patch.containers cimport segments
from policyd._core.patch.json_patch cimport PatchOperation, operations_in, patched
from policyd._core.plan.configured cimport configured
from policyd._core.schema.edits cimport Edit, new_edit
from policyd._core.schema.types cimport kind_of
from policyd._core.values.types cimport StructValue


cdef class DirectMutator:
    """The direct form of one kind of mutation; its general form (``policyd.mutation.kind.Mutator``)
    says what is wrong where this one cannot.
    """

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits):
        """The changed object, not decoded yet, and ``edits`` learns what changed; or ``obj``
        itself. None: it is for the general form. Raises MutationError.
        """
        raise TypeError(f"{type(self).__name__} applies nothing")


@cython.final
cdef class DirectPatch(DirectMutator):
    """A list of JSONPatch{...}."""

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits):
        cdef list operations
        if type(value) is not list:
            return None
        operations = operations_in(value, sources, None)
        after = patched(operations, obj)
        if after is obj:
            return obj
        if type(after) is not dict or "metadata" not in <dict>after:
            return None
        if not keeps(after, obj, "kind") or not keeps(after, obj, "apiVersion"):
            return None
        edits.latest = edit_of(operations, obj)
        return after


cdef Edit edit_of(list operations, dict obj):
    """What a patch changes that sets one key of a map; None: not known."""
    cdef PatchOperation operation
    cdef tuple steps
    cdef dict container = obj
    cdef Py_ssize_t at
    cdef Edit edit
    if len(operations) != 1:
        return None
    operation = operations[0]
    steps = segments(operation.path)
    if operation.op != "add" or not steps:
        return None
    for at in range(len(steps) - 1):
        below = container.get(steps[at])
        if type(below) is not dict:
            return None
        container = <dict>below
    name = steps[len(steps) - 1]
    edit = new_edit(name, name not in container, None, None)
    for at in range(len(steps) - 2, -1, -1):
        edit = new_edit(steps[at], False, edit, None)
    return edit


cdef bint keeps(dict after, dict before, str name) except -1:
    one, other = after.get(name), before.get(name)
    return one is other or kind_of(one) is str and kind_of(other) is str and one == other


@cython.final
cdef class DirectConfiguration(DirectMutator):
    """An Object{...}."""

    def __cinit__(self):
        self.merges = True

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits):
        if type(value) is not StructValue:
            return None
        return configured(<StructValue>value, obj, root, sources, edits)
