"""A planned expression and the variables of a policy."""

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class Program:
    cdef readonly str text
    cdef readonly object result_type
    cdef readonly int nesting  # how many levels of values its value has at most, beside read ones
    cdef bint rereads  # rereads optionals, as Kubernetes did before 1.37 (rereading.pyx)
    cdef readonly object layout  # eval/slots.Slots: slot numbers by name, number of slots
    cdef Node root

    # The result, a value or CelError, within the cost limit and deadline of the activation. Sets
    # act.spent to the cost of this expression. Raises CostExceeded or DeadlineExceeded.
    cdef object run(self, Activation act)


cdef class PlannedVariable:
    """A ``variables.x`` of a policy: its slot and its program (None until it is compiled)."""
    cdef readonly str name
    cdef readonly Py_ssize_t slot
    cdef Program program
    cdef str shared  # what its value is known by to other policies; None: by nothing

    # The value, computed at its first use and stored in the slot.
    cdef object value(self, Activation act)
    cdef object _compute(self, Activation act)
    cdef object _known(self, Activation act)


cdef class VariableNode(Node):
    """A use of ``variables.x``."""
    cdef PlannedVariable variable
    cdef int units


cdef class VariableTest(Node):
    """``has(variables.x)``: computes x, as Kubernetes does; true unless x is an error."""
    cdef PlannedVariable variable


cdef class VariableOptional(Node):
    """``variables.?x``: its value as an optional, or its error."""
    cdef PlannedVariable variable
