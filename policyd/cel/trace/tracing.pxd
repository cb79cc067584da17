"""C types of tracing.py."""

from policyd._core.eval.access cimport ChainStep
from policyd._core.eval.nodes cimport Node
from policyd.cel.plan.attributes cimport Attribute
from policyd.cel.plan.planner cimport Planner
from policyd.cel.syntax.ast cimport Expr


cdef class _TracingPlanner(Planner):
    cdef readonly object expression
    cdef readonly object tracer

    cpdef Node trace(self, Node node, node_id)
    cpdef object _plan(self, Expr expr)


cdef class _TracedAttribute(Attribute):
    cdef readonly _TracingPlanner planner
    cdef readonly object marks

    cpdef Attribute then(self, ChainStep step)
    cpdef Node node(self, bint counted=*)
    cdef Node _traced(self, Node node, number)
