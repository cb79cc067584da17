"""Report mutations that load but fail: for every request that they apply to, or for some kinds.

The API server also accepts them, and then denies (or, with failurePolicy Ignore, skips) each. A
mistake that only some kinds of a policy have is advice, and none if the expression may distinguish
the kinds.
"""

from collections.abc import Iterator

from policyd.cel.syntax.ast import (
    Checked,
    Comprehension,
    Expr,
    Ident,
    MapExpr,
    Select,
    StructExpr,
)
from policyd.cel.syntax.recursion import children
from policyd.mutation import KINDS
from policyd.mutation.schemas.schemas import ANY_KIND, KindSchema
from policyd.policy.lint.guards.cases import has_known_kinds, matches_any
from policyd.policy.lint.mutations.operations import OperationCheck
from policyd.policy.lint.mutations.paths import MutationFinding
from policyd.policy.lint.mutations.values import WrittenValues
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes, tells_kinds_apart
from policyd.policy.lint.types.writes import constant
from policyd.policy.model.expressions import MUTATIONS
from policyd.policy.model.findings import FormProblem

FAILING, FRAGILE = "failing-mutation", "fragile-mutation"


def failing(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the errors and advice for a policy."""
    kinds: list[tuple[KindTypes, KindSchema | None]] = [
        (policy.types(gvk), schema) for gvk, schema in policy.schemas.items()
    ]
    whole = len(kinds) == len(policy.kinds) and has_known_kinds(policy)  # there are no others
    untyped = policy.types(None)
    other: tuple[KindTypes, KindSchema | None] = (untyped, None)
    if matches_any(policy):
        other = (policy.types(ANY_KIND), policy.run.schemas.of_any_kind)
    for each in policy.of_role(*MUTATIONS.values()):
        if untyped.issues(each.text):
            continue
        merges = KINDS[each.role.name].merges
        found: dict[tuple[int, str], tuple[MutationFinding, list[str]]] = {}
        for types, schema in kinds or [other]:
            checked = types.checked(each.text)
            for finding in _check(checked, schema, types, merges=merges) if checked else ():
                key = finding.pos, finding.message
                found.setdefault(key, (finding, []))[1].append(str(types.gvk))
        for _, (finding, of) in sorted(found.items()):
            everywhere = finding.general or len(of) == max(1, len(kinds))
            if not everywhere and tells_kinds_apart(each.text):
                continue
            fails = finding.certain and (finding.general or (everywhere and whole))
            message = finding.message + ("" if everywhere else f" ({'; '.join(of)})")
            rule = FAILING if fails else FRAGILE
            yield each.finding(finding.pos, rule, message, finding.hint)


def _check(
    checked: Checked, schema: KindSchema | None, types: KindTypes, *, merges: bool
) -> Iterator[MutationFinding]:
    values = WrittenValues(checked.types, merges, schema)
    if merges:
        root = schema.root if schema is not None else None
        yield from values.findings(checked.expr, root, "", "Object")
        return
    loops: dict[str, Expr] = {}

    def strings(node: Expr) -> frozenset[str] | None:
        return _strings(node, loops, types)

    check = OperationCheck(values, strings)
    yield from _operations(checked.expr, check, loops)


def _operations(
    node: Expr, check: OperationCheck, loops: dict[str, Expr]
) -> Iterator[MutationFinding]:
    """Check every ``JSONPatch{...}``; ``loops`` has the lists of the loop variables so far."""
    if isinstance(node, Select) and isinstance(node.operand, StructExpr):
        return  # a field is read: the operation itself is not returned
    if isinstance(node, Comprehension):
        loops[node.iter_var] = node.iter_range
    if isinstance(node, StructExpr) and node.type_name == "JSONPatch":
        yield from check.findings(node)
    for child in children(node):
        yield from _operations(child, check, loops)


def _strings(node: Expr, loops: dict[str, Expr], types: KindTypes) -> frozenset[str] | None:
    """Return the strings that a loop over constants can have as its variable."""
    value = constant(node)
    if isinstance(value, str):
        return frozenset((value,))
    over = loops.get(node.name) if isinstance(node, Ident) else None
    if over is None:
        return None
    if isinstance(over, Select) and isinstance(over.operand, Ident):
        variable = types.variables.get(over.field) if over.operand.name == "variables" else None
        over = variable.expr if variable is not None else over
    if isinstance(over, MapExpr):
        listed = [constant(entry.key) for entry in over.entries]
    else:
        value = constant(over)
        listed = value if isinstance(value, list) else [None]
    return frozenset(listed) if all(isinstance(each, str) for each in listed) else None
