"""C types of macros.py."""

from policyd.cel.syntax.ast cimport (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
    StructField,
)


cdef class Factory:
    cdef object _ids
    cdef Py_ssize_t _most
    cdef readonly Py_ssize_t pos
    cdef readonly object version

    cdef Literal literal(self, value)
    cdef Ident ident(self, str name)
    cdef Ident accumulator(self)
    cdef MapExpr map(self)
    cdef Select presence(self, Expr operand, str field)
    cdef Comprehension fold(self, Expr over, FoldVariables names, Fold parts, str macro)
    cdef Expr copy(self, Expr node)
    cdef tuple _copies(self, tuple nodes)
    cdef MapEntry _entry(self, MapEntry entry)
    cdef StructField _field(self, StructField field)
    cdef Comprehension _fold(self, fresh, Comprehension node)


cdef class FoldVariables:
    cdef readonly str first
    cdef readonly str second
    cdef readonly str accumulator


cdef class Fold:
    cdef readonly Expr init
    cdef readonly Expr condition
    cdef readonly Expr step
    cdef readonly Expr result


cpdef Expr expand(Factory make, str function, Expr target, args)
cdef Expr _has(Factory make, Expr arg)
cdef FoldVariables _names(args, str message=*)
cpdef Comprehension _all(Factory make, Expr target, args)
cpdef Comprehension _exists(Factory make, Expr target, args)
cpdef Comprehension _exists_one(Factory make, Expr target, args)
cdef Fold _collect(Factory make, Expr init, Expr step, Expr condition)
cpdef Comprehension _map(Factory make, Expr target, args)
cpdef Comprehension _filter(Factory make, Expr target, args)
cdef Expr _transform_condition(args)
cpdef Comprehension _transform_list(Factory make, Expr target, args)
cpdef Comprehension _transform_map(Factory make, Expr target, args)
cpdef Comprehension _transform_map_entry(Factory make, Expr target, args)
cdef Comprehension _bind(Factory make, str name, Expr value, Expr body, str macro)
cpdef Expr _optional_map(Factory make, Expr target, args, str macro)
cpdef Comprehension _sort_by(Factory make, Expr target, args)
