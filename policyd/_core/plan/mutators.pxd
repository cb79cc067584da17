"""The direct forms of the mutations with an expression, for objects of kinds with a Go type."""

from policyd._core.schema.edits cimport Edits
from policyd._core.schema.types cimport Field


cdef class DirectMutator:
    """The direct form of one kind of mutation; its general form (``policyd.mutation.kind.Mutator``)
    says what is wrong where this one cannot.
    """

    cdef bint merges    # a merge: for kinds that can be merged, and decoded as after one

    # The changed object, not decoded yet, and ``edits`` learns what changed; or ``obj`` itself.
    # None: it is for the general form. Raises MutationError.
    cdef object applied(self, object value, dict obj, Field root, tuple sources, Edits edits)


cdef class DirectPatch(DirectMutator):
    """A list of JSONPatch{...}."""


cdef class DirectConfiguration(DirectMutator):
    """An Object{...}."""
