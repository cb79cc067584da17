"""C types of checker.py."""

cimport cython

from policyd.cel.syntax.ast cimport (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapEntry,
    MapExpr,
    Reference,
    Select,
    StructExpr,
    StructField,
    qualified_name,
    same_nodes,
)
from policyd.cel.types cimport types
from policyd.cel.types.declarations cimport Names, OverloadDecl, Scope, TypeVariables
from policyd.cel.types.types cimport Type
from policyd.cel.types.unify cimport Bindings


cdef dict _LITERAL_TYPES
cdef frozenset _LOGIC
cdef object _DYN, _ERROR, _LIST, _MAP, _PARAM, _STRUCT, _TYPE, _WELL_KNOWN


cdef class Checker:
    cdef readonly list issues
    cdef Scope _scope
    cdef Names _names
    cdef dict _types
    cdef dict _references
    cdef Bindings _bindings
    cdef TypeVariables _variables

    cpdef Checked finish(self, str text, Expr expr)
    cpdef Expr visit(self, Expr node)
    cdef Expr _typed(self, Expr node, Type found, Reference reference=*)
    cdef Type _type(self, Expr node)
    cdef void _report(self, Py_ssize_t pos, str message) except *
    cdef void _mismatch(self, Py_ssize_t pos, Type expected, Type found) except *
    cdef Expr _undeclared(self, Expr node, str name)
    cdef Expr _name(self, Expr node, tuple found)
    cdef Expr _ident(self, Ident node)

    @cython.locals(name=str, operand=Expr, found=Type, variable=tuple, made=Select)
    cdef Expr _select(self, Select node)
    cdef Expr _optional_select(self, Call node)

    @cython.locals(whole=Type, target=Type, found=Type)
    cdef Type _field_of(self, Expr node, Expr operand, str field, bint optional=*)
    cdef Type _struct_field(self, Py_ssize_t pos, Type struct, str field)

    @cython.locals(args=tuple, prefix=str, name=str)
    cdef Expr _call(self, Call node)

    @cython.locals(function=tuple)
    cdef Expr _resolve_named(self, Call node, str name, Expr target, tuple args)

    @cython.locals(
        operand=Expr, overload=OverloadDecl, given=tuple, wanted=tuple, produced=Type, result=Type
    )
    cdef Expr _resolve(self, Call node, tuple overloads)
    cdef Expr _resolve_logic(self, Call node, tuple overloads)
    cdef Expr _no_overload(self, Call node, tuple given)

    @cython.locals(joined=Type, elements=list, element=Expr)
    cdef Expr _list(self, ListExpr node)
    cdef Type _unwrapped(self, Expr value, bint optional)
    cdef Type _join(self, Type joined, Type found)

    @cython.locals(
        key_type=Type, value_type=Type, entries=list, entry=MapEntry, key=Expr, value=Expr
    )
    cdef Expr _map(self, MapExpr node)
    cdef Expr _struct(self, StructExpr node)
    cdef Type _struct_type(self, StructExpr node, Type found)
    cdef StructField _struct_entry(self, StructField field, Type struct, str name)

    @cython.locals(over=Expr, start=Expr, condition=Expr, step=Expr, result=Expr, loop=dict)
    cdef Expr _comprehension(self, Comprehension node)
    cdef Expr _visit_as(self, Expr node, Type wanted)
    cdef tuple _iteration_types(self, Expr over, bint two)
