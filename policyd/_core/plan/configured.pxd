"""The direct form of ApplyConfiguration: converts, checks, merges ``Object{...}`` in one pass."""

from policyd._core.schema.edits cimport Edits
from policyd._core.schema.types cimport Field
from policyd._core.values.read_trees cimport ReadTrees
from policyd._core.values.types cimport StructValue


cdef dict configured(StructValue value, dict live, Field root, ReadTrees sources, Edits edits)
