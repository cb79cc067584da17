"""C types of parser.py."""

cimport cython

from policyd.cel.syntax.ast cimport (
    Call,
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
from policyd.cel.syntax.cursor cimport Cursor
from policyd.cel.syntax.lexer cimport Token
from policyd.cel.syntax.macros cimport Factory, expand


cdef dict _RELATIONS, _SUMS, _PRODUCTS
cdef frozenset _LITERALS


cdef class _Parser(Cursor):
    cdef str _text
    cdef object _version
    cdef list _issues
    cdef object _ids
    cdef Py_ssize_t _expressions
    cdef Py_ssize_t _relations
    cdef Py_ssize_t _sums

    cdef Expr parse(self)
    cdef void _limit(self, Py_ssize_t depth) except *
    cdef Expr _call(self, Py_ssize_t pos, str function, tuple args, Expr target=*)
    cdef Expr _broken(self, Py_ssize_t pos)

    @cython.locals(question=Token)
    cdef tuple _expr(self)

    @cython.locals(operator=Token, terms=list, places=list)
    cdef tuple _logic(self, str sign)
    cdef Expr _balanced(
        self, str function, list terms, list places, Py_ssize_t low, Py_ssize_t high
    )

    @cython.locals(operator=Token)
    cdef tuple _relation(self, Py_ssize_t precedence)

    @cython.locals(operator=Token, binding=Py_ssize_t)
    cdef tuple _calc(self, Py_ssize_t precedence)
    cdef tuple _unary(self)

    @cython.locals(first=Token, signs=Py_ssize_t)
    cdef tuple _signed(self, str sign, str function)
    cdef bint _at_negative_number(self) except -1

    @cython.locals(dot=Token, bracket=Token)
    cdef tuple _member(self)

    @cython.locals(name=Token, optional=Token, paren=Token)
    cdef tuple _after_dot(self, Token dot, Expr operand)
    cdef str _field(self, Token name, Py_ssize_t pos)

    @cython.locals(args=list)
    cdef tuple _arguments(self)
    cdef tuple _primary(self)

    @cython.locals(dot=Token, name=Token, start=Token, paren=Token, path=str)
    cdef tuple _named(self)

    @cython.locals(length=Py_ssize_t)
    cdef str _message_name(self)

    @cython.locals(bracket=Token, elements=list, optional=list)
    cdef tuple _list(self)

    @cython.locals(brace=Token, colon=Token, entries=list, optional=bint)
    cdef tuple _map(self)

    @cython.locals(brace=Token, name=Token, colon=Token, made=list, optional=bint)
    cdef tuple _message(self, str type_name)

    @cython.locals(minus=Token, token=Token)
    cdef Expr _literal(self)
