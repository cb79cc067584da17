"""Advice on values that are compared as if they had another form: quantities as strings, ports and
percentages, which are integers or strings, as only one of them.
"""

import re
from collections.abc import Iterator, Sequence

from policyd.cel.hints.quantities import ORDERED
from policyd.cel.hints.tree import filled
from policyd.cel.syntax.ast import Call, Literal
from policyd.cel.syntax.unparse import unparse
from policyd.mutation.schemas.type_builder import QUANTITY
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.values.comparisons import Comparison, comparisons
from policyd.policy.model.findings import FormProblem

RULE = "quantity-comparison"
EITHER_RULE = "int-or-string"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_WITH_UNIT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([KMGTPE]i|[mkMGTPE])")
_LONGEST = 60  # characters of an expression in a hint
_RIGHT = {**ORDERED, "_==_": "{0}.compareTo({1}) == 0", "_!=_": "{0}.compareTo({1}) != 0"}


def compared_quantities(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for all expressions, in order."""
    for each, compared in comparisons(policy):
        done: set[frozenset[int]] = set()
        for nodes, found in compared.items():
            advice = None if frozenset(nodes) in done else _advise(found, each.text)
            if advice is not None:
                done.add(frozenset(nodes))
                yield each.finding(min(found[0].node.pos, found[0].other.pos), *advice)


def _advise(found: Sequence[Comparison], text: str) -> tuple[str, str, str] | None:
    """Return rule, message and hint for a comparison, one for each kind; None if it is correct."""
    first = found[0]
    other = first.other.value if isinstance(first.other, Literal) else None
    reads = [each.read for each in found if each.read is not None]
    functions = [each.function for each in (first.node, first.other) if isinstance(each, Call)]
    if first.operator == "@in" or "quantity" in functions:  # beside a string it is an error
        return None
    ordered = first.operator in ORDERED
    is_quantity = any(read.schema.get("$ref") == QUANTITY for read in reads)
    with_unit = isinstance(other, str) and _WITH_UNIT.fullmatch(other)
    if ordered and (is_quantity or with_unit) and (other is None or isinstance(other, str)):
        message = "compares quantities as strings: '9Mi' is greater than '10Gi'"
        return RULE, message, _quantity_hint(first)
    absent = not other or any(other in read.defaults for read in reads)
    if is_quantity and isinstance(other, str) and not absent:
        twins = "'1Gi' and '1073741824'" if other.endswith("i") else "'1' and '1000m'"
        message = f"equal quantities may differ as strings, such as {twins}"
        return RULE, message, _quantity_hint(first)
    either = any(
        read.schema.get("$ref") == _INT_OR_STRING or read.schema.get("x-kubernetes-int-or-string")
        for read in reads
    )
    if not either or "type(" in text:
        return None
    form = {str: "a string", int: "an integer"}.get(type(other))
    if ordered and form is not None:
        message = f"the field is an integer or a string, but is compared with {form}"
        return EITHER_RULE, message, "check type(field) == int first, or convert with string(field)"
    if isinstance(other, str) and other.isdigit():
        message = f"the field may be the integer {other}, which differs from the string"
        return EITHER_RULE, message, f"convert the field: string(field) == '{other}'"
    return None


def _quantity_hint(comparison: Comparison) -> str:
    """Return the comparison as quantities, with its operands where they are short."""
    sides = [comparison.node, comparison.other]
    if comparison.node.pos > comparison.other.pos:
        sides.reverse()
    texts = [unparse(side) for side in sides]
    texts = [text if "'" in text else text.replace('"', "'") for text in texts]
    sized = [f"quantity({text if len(text) <= _LONGEST else '…'})" for text in texts]
    return f"write {filled(_RIGHT[comparison.operator], sized)}"
