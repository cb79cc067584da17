"""Find expressions that only read variables: error messages name their values by the Go type that
the variables hold, all other values by the CEL type.
"""

from collections.abc import Container

from policyd.cel.syntax.ast import Call, Expr, Ident, Literal, Select


def only_reads(expr: Expr, macro_variables: Container[str]) -> bool:
    """Return whether an expression is a variable, followed by names and indexes."""
    if isinstance(expr, Ident):
        return expr.name not in macro_variables
    if isinstance(expr, Select):
        return not expr.test_only and only_reads(expr.operand, macro_variables)
    if not isinstance(expr, Call):
        return False
    if expr.function == "_[_]" and len(expr.args) == 2:
        base, index = expr.args
        return not isinstance(index, Literal) or (
            type(index.value) in (str, int) and only_reads(base, macro_variables)
        )
    if expr.function == "_?_:_" and len(expr.args) == 3:
        _, yes, no = expr.args
        return only_reads(yes, macro_variables) and only_reads(no, macro_variables)
    return False
