"""The direct forms of mutations by expressions, for kinds with a Go type."""

from policyd._core.schema.merge cimport Edits
from policyd._core.schema.types cimport Field
from policyd._core.values.read_trees cimport ReadTrees

cdef class DirectMutator:
    cdef bint merges    # a merge: only for kinds that can be merged; decodes as after a merge

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits)
