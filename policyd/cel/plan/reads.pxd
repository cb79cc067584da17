"""C types of reads.py."""

cimport cython

from policyd.cel.syntax.ast cimport (
    Call, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr,
)


@cython.locals(base=Expr, index=Expr, yes=Expr, no=Expr)
cpdef bint only_reads(Expr expr, macro_variables) except -1
