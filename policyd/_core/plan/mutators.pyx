"""Applies the value of a mutation's expression in the usual case."""

cimport cython

from policyd._core.json.encoded_size cimport value_bytes
from policyd._core.patch.containers cimport segments
from policyd._core.patch.json_patch cimport PatchOperation, operations_in, patched
from policyd._core.schema.edits cimport Edit, Edits, new_edit
from policyd._core.schema.merge cimport merge_value, value_problems
from policyd._core.schema.types cimport Field, kind_of
from policyd._core.values.mutation_json cimport object_of
from policyd._core.values.types cimport StructValue

from policyd._core.json import encoded_size
from policyd._core.schema.merge import MergeError
from policyd._core.values.mutation_json import ConversionError


cdef class UsualMutator:

    def apply(self, value, dict obj not None, Field root not None, tuple sources):
        return self.applied(value, obj, root, sources, MutatedTree(obj, root))

    cdef object applied(
        self, object value, dict obj, Field root, tuple sources, MutatedTree tree
    ):
        raise TypeError(f"{type(self).__name__} has no usual case of its own")


@cython.final
@cython.auto_pickle(False)
cdef class PatchMutator(UsualMutator):

    cdef object applied(
        self, object value, dict obj, Field root, tuple sources, MutatedTree tree
    ):
        cdef dict after
        cdef list operations
        if type(value) is not list:
            return None
        operations = operations_in(value, sources, None)
        changed = patched(operations, obj)
        if changed is obj or type(changed) is not dict:
            return obj if changed is obj else None
        after = <dict>changed
        if not keeps(after, obj, "kind") or not keeps(after, obj, "apiVersion"):
            return None
        if "metadata" not in after:
            return None
        return tree.decoded_change(edit_of(operations, obj), obj, after, root, False)


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
@cython.auto_pickle(False)
cdef class ConfigurationMutator(UsualMutator):

    cdef object applied(
        self, object value, dict obj, Field root, tuple sources, MutatedTree tree
    ):
        cdef Py_ssize_t limit = encoded_size.MAX_PATCH_BYTES, size
        cdef dict patch
        cdef Edits edits = Edits()
        if type(value) is not StructValue:
            return None
        done = tree.configured_change(<StructValue>value, obj, root, sources)
        if done is not None:
            return done
        size = value_bytes(value, limit)
        if size > limit:
            return None
        try:
            patch = object_of(<StructValue>value, sources, size)
            # The patch always has the object's kind, whatever it declares.
            patch.pop("apiVersion", None)
            patch.pop("kind", None)
            if value_problems(patch, root.type, False, True) is not None:
                return None
            merged = merge_value(obj, patch, root.type, edits)
        except (ConversionError, MergeError):
            return None
        return obj if merged is obj else tree.decoded_change(
            edits.latest, obj, merged, root, True
        )
