"""C types of ast.py."""

cimport cython


cdef class Expr:
    cdef readonly object id
    cdef readonly Py_ssize_t pos


cdef class Literal(Expr):
    cdef readonly object value


cdef class Ident(Expr):
    cdef readonly str name


cdef class Select(Expr):
    cdef readonly Expr operand
    cdef readonly str field
    cdef readonly bint test_only


cdef class Call(Expr):
    cdef readonly str function
    cdef readonly Expr target
    cdef readonly tuple args


cdef class ListExpr(Expr):
    cdef readonly tuple elements
    cdef readonly frozenset optional


cdef class MapEntry:
    cdef readonly object id
    cdef readonly Py_ssize_t pos
    cdef readonly Expr key
    cdef readonly Expr value
    cdef readonly bint optional


cdef class MapExpr(Expr):
    cdef readonly tuple entries


cdef class StructField:
    cdef readonly object id
    cdef readonly Py_ssize_t pos
    cdef readonly str name
    cdef readonly Expr value
    cdef readonly bint optional


cdef class StructExpr(Expr):
    cdef readonly str type_name
    cdef readonly tuple fields


cdef class Comprehension(Expr):
    cdef readonly Expr iter_range
    cdef readonly str iter_var
    cdef readonly str iter_var2
    cdef readonly str accu_var
    cdef readonly Expr accu_init
    cdef readonly Expr loop_condition
    cdef readonly Expr loop_step
    cdef readonly Expr result
    cdef readonly str macro


cdef class Reference:
    cdef readonly str name
    cdef readonly tuple overload_ids
    cdef readonly object value


cdef class Checked:
    cdef readonly str text
    cdef readonly Expr expr
    cdef readonly dict types
    cdef readonly dict references
    cdef readonly object version


cpdef str qualified_name(Expr node)


@cython.locals(index=Py_ssize_t)
cpdef bint same_nodes(tuple some, tuple others) except -1
