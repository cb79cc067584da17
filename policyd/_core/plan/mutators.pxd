"""The values of mutation expressions in the usual case: the object is of a kind with a Go type, and
nothing is wrong.
"""

from policyd._core.plan.mutated_tree cimport MutatedTree
from policyd._core.schema.types cimport Field


cdef class UsualMutator:
    """One kind of mutation with an expression."""

    # The changed object, or ``obj`` itself. None: another case. ``policyd.mutation`` then takes the
    # same steps one by one and reports the error. ``tree`` may learn
    # what changed. Raises MutationError.
    cdef object applied(
        self, object value, dict obj, Field root, tuple sources, MutatedTree tree
    )


cdef class PatchMutator(UsualMutator):
    """A list of JSONPatch{...}."""


cdef class ConfigurationMutator(UsualMutator):
    """An Object{...}, whose kind ApplyConfiguration supports."""
