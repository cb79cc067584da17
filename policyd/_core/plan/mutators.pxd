"""The direct forms of the mutations with an expression, for objects of kinds with a Go type."""

from policyd._core.schema.merge cimport Edits
from policyd._core.schema.types cimport Field
from policyd._core.values.read_trees cimport ReadTrees

cdef class DirectMutator:
    cdef bint merges    # a merge: for kinds that can be merged, and decoded as after one

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits)
