"""Report mutations that load but fail: for every request that they apply to, or for some kinds.

The API server also accepts them, and then denies (or, with failurePolicy Ignore, skips) each. A
mistake that only some kinds of a policy have is advice, and none if the expression may distinguish
the kinds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
from policyd.cel.syntax.source import Source
from policyd.errors import Problem
from policyd.mutation import KINDS
from policyd.mutation.schemas.schemas import ANY_KIND, KindSchema, Schemas
from policyd.policy.lint.guards.cases import has_known_kinds, matches_any
from policyd.policy.lint.mutations.finding import MutationFinding
from policyd.policy.lint.mutations.operations import OperationCheck
from policyd.policy.lint.mutations.values import WrittenValues
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import KindTypes, TypedPolicies, kinds_of, tells_kinds_apart
from policyd.policy.lint.types.writes import constant
from policyd.policy.model.expressions import PolicyExpression
from policyd.policy.model.kinds import AnyPolicy
from policyd.policy.source.loaded_documents import Document

FAILING, FRAGILE = "failing-mutation", "fragile-mutation"


def failing(run: LintRun) -> Iterator[Problem]:
    """Yield the errors and advice for all policies, in file order."""
    typed = run.typed
    for document, policy in run.policies():
        subjects = _Subjects.of(policy, typed, run.schemas)
        for each in typed.expressions(policy):
            if each.role.patches and not subjects.untyped.issues(each.text):
                yield from subjects.problems(document, each)


@dataclass(frozen=True, slots=True)
class _Subjects:
    """The kinds of a policy that have schemas; ``whole``: there are no others. ``other`` is the
    kind of a policy without such kinds.
    """

    untyped: KindTypes
    kinds: tuple[tuple[KindTypes, KindSchema], ...]
    whole: bool
    other: tuple[KindTypes, KindSchema | None]

    @classmethod
    def of(cls, policy: AnyPolicy, typed: TypedPolicies, merging: Schemas) -> "_Subjects":
        named = kinds_of(policy, typed.schemas)
        kinds = []
        for gvk in named:
            schema = merging.lookup(*gvk)
            if schema is not None:
                kinds.append((typed.of(policy, gvk), schema))
        whole = len(kinds) == len(named) and has_known_kinds(policy, typed.schemas)
        untyped, others = typed.of(policy, None), matches_any(policy, typed.schemas)
        other = (typed.of(policy, ANY_KIND), merging.of_any_kind) if others else (untyped, None)
        return cls(untyped, tuple(kinds), whole, other)

    def problems(self, document: Document, each: PolicyExpression) -> Iterator[Problem]:
        """Yield what is wrong with one expression."""
        merges = KINDS[each.role.name].merges
        found: dict[tuple[int, str], tuple[MutationFinding, list[str]]] = {}
        for types, schema in self.kinds or (self.other,):
            checked = types.checked(each.text)
            for finding in _check(checked, schema, types, merges=merges) if checked else ():
                key = finding.pos, finding.message
                found.setdefault(key, (finding, []))[1].append(str(types.gvk))
        for _, (finding, kinds) in sorted(found.items()):
            everywhere = finding.general or len(kinds) == max(1, len(self.kinds))
            if not everywhere and tells_kinds_apart(each.text):
                continue
            fails = finding.certain and (finding.general or (everywhere and self.whole))
            where = "" if everywhere else f" ({'; '.join(kinds)})"
            problem = Problem(
                finding.message + where,
                hint=finding.hint,
                rule=FAILING if fails else FRAGILE,
                severity="error" if fails else "advice",
            )
            yield document.placed(Source(each.text).at(finding.pos, problem), each.at)


def _check(
    checked: Checked, schema: KindSchema | None, types: KindTypes, *, merges: bool
) -> Iterator[MutationFinding]:
    root = schema.root if schema is not None else None
    values = WrittenValues(checked.types, merges, schema is not None and schema.native, root)
    if merges:
        yield from values.findings(checked.expr, root, "", "Object")
        return
    loops: dict[str, Expr] = {}

    def strings(node: Expr) -> frozenset[str] | None:
        return _strings(node, loops, types)

    check = OperationCheck(schema, values, strings)
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
