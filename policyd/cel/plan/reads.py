"""Find expressions that only read variables: error messages name their values by the Go type that
the variables hold, all other values by the CEL type.
"""

from collections.abc import Container

from policyd.cel.syntax.ast import Call, Expr, Ident, Literal, Select


def only_reads(expr: Expr, macro_variables: Container[str]) -> bool:
    """Return whether an expression is a variable, followed by names and indexes."""
    match expr:
        case Ident():
            return expr.name not in macro_variables
        case Select():
            return not expr.test_only and only_reads(expr.operand, macro_variables)
        case Call(function="_[_]", args=(base, index)):
            return not isinstance(index, Literal) or (
                type(index.value) in (str, int) and only_reads(base, macro_variables)
            )
        case Call(function="_?_:_", args=(_, yes, no)):
            return only_reads(yes, macro_variables) and only_reads(no, macro_variables)
    return False
