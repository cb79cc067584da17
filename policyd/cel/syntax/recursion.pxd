"""C types of recursion.py."""

from policyd.cel.syntax.ast cimport (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)


cpdef tuple children(Expr node)
