"""Advice on expressions with type errors for their objects, as in status.typeChecking of the API
server.

Checked are the kinds that match rules name without wildcards (at most ten), the kinds of
subresources, and the metadata of all others; and only validations and their messages (with the
variables that they use), and the expressions of mutations, which the API server does not check;
what those write is checked by ``mutations``. ``kinds/object_types`` and ``cel/check/objects`` list
the differences from the API server: expressions that work at run time get no warning.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from policyd.cel.hints.explaining import hint_at
from policyd.cel.hints.results import result_hint
from policyd.cel.hints.tree import Tree
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Select
from policyd.cel.syntax.source import MAX_ERRORS, Issue
from policyd.cel.types.types import BOOL, DYN
from policyd.errors import Problem
from policyd.mutation.schemas.schemas import ANY_KIND, Gvk
from policyd.policy.lint.guards.cases import matches_any
from policyd.policy.lint.run import LintedPolicy, LintRun
from policyd.policy.lint.types.kinds import KindTypes, by_kinds, tells_kinds_apart
from policyd.policy.model.expressions import (
    KEY,
    MESSAGE,
    MUTATIONS,
    VALIDATION,
    PolicyExpression,
)
from policyd.policy.model.findings import FormProblem

RULE = "type-check"
_UNTYPED = "must evaluate to bool but got dyn"


@dataclass(frozen=True, slots=True)
class TypeErrors:
    """The type errors of one expression, by the kinds of its objects."""

    expression: PolicyExpression
    issues: Mapping[Gvk, list[Issue]]
    kinds: tuple[KindTypes, ...]
    hint: str

    def problems(self) -> Iterator[FormProblem]:
        """Yield a problem for each place with errors."""
        at: dict[int, list[tuple[Gvk, str]]] = {}
        for gvk, issues in self.issues.items():
            for issue in issues:
                at.setdefault(issue.pos, []).append((gvk, issue.message))
        for pos, messages in sorted(at.items())[:MAX_ERRORS]:
            gvk, first = messages[0]
            types = next((each for each in self.kinds if each.gvk == gvk), None)
            tree = None if types is None else types.tree(self.expression.text)
            hint = self.hint or ("" if tree is None else hint_at(tree, pos, first))
            read = "" if tree is None else _read_at(tree, pos)
            about = [(types.reads[read], first)] if types is not None and read else messages
            yield self.expression.finding(pos, RULE, by_kinds(about), hint)


def with_types(run: LintRun, problems: Sequence[Problem]) -> list[Problem]:
    """Return problems with better hints where a value has no type that CEL knows, and one that all
    kinds of its objects have in their schemas.
    """
    untyped = any(each.message == _UNTYPED for each in problems)
    remedies: dict[tuple[str, str, str], str] = {}
    for policy in run.policies if untyped else ():
        for each in policy.of_role(VALIDATION):
            every = (policy.types(gvk).checked(each.text) for gvk in policy.kinds)
            checked = [found for found in every if found is not None]
            known = {found.result_type for found in checked}
            if len(known) == 1 and DYN not in known:
                place = policy.document.file, each.at, policy.document.label
                remedies[place] = result_hint(checked[0].expr, known.pop(), (BOOL,))
    return [
        replace(each, hint=remedies.get((each.file, each.path, each.document), each.hint))
        if each.message == _UNTYPED
        else each
        for each in problems
    ]


def type_check(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for all expressions, keys of reads first."""
    for each in type_errors(policy):
        yield from each.problems()


def type_errors(policy: LintedPolicy) -> Iterator[TypeErrors]:
    """Yield the expressions that have type errors, as the API server reports them in
    status.typeChecking. Skips expressions that do not compile.
    """
    for key, types in policy.read_keys():
        found, checked = types.issues(key.text), types.checked(key.text)
        if not found and checked is not None and checked.result_type not in KEY.results:
            wrong = f"a key must be string or list(string), not {checked.result_type}"
            found = [Issue(checked.expr.pos, wrong)]  # an error for every object
        if found and types.gvk is not None:
            yield TypeErrors(key, {types.gvk: found}, (types,), "")
    untyped, kinds = policy.types(None), [policy.types(gvk) for gvk in policy.kinds]
    others = [policy.types(ANY_KIND)] if matches_any(policy) else []
    for each in policy.of_role(VALIDATION, MESSAGE, *MUTATIONS.values()):
        text = each.text
        if untyped.issues(text):
            continue
        issues = {types.gvk: types.issues(text) for types in kinds if types.gvk is not None}
        reported = {gvk: found for gvk, found in _believable(text, issues).items() if found}
        for types in others if not reported else ():
            reported = {ANY_KIND: found} if (found := types.issues(text)) else {}
        if reported:
            other = "" if each.role.patches else _other_version(policy, text, reported)
            yield TypeErrors(each, reported, (*kinds, *others), other)


def _read_at(tree: Tree, pos: int) -> str:
    """Return the read, ``reads.NAME``, of whose object an expression takes a field at a place;
    empty if it is of none.
    """
    loops = {
        name: node.iter_range
        for node, _ in tree.nodes
        if isinstance(node, Comprehension)
        for name in (node.iter_var, node.iter_var2)
    }
    found = (each for each, _ in tree.at(pos) if isinstance(each, Select | Call))
    node: Expr | None = next(found, None)
    while node is not None:
        match node:
            case Select(operand=of) | Call(function="_?._" | "_[_]" | "_[?_]", args=(of, _)):
                node = of
            case Comprehension(iter_range=of) | Call(function="orValue" | "value", target=of):
                node = of
            case Ident(name=name) if name in loops:
                node = loops.pop(name)
            case Ident(name=name) if name.startswith("reads."):
                return name
            case _:
                return ""
    return ""


def _other_version(policy: LintedPolicy, text: str, reported: Iterable[Gvk]) -> str:
    """Return the hint at a version of a kind that has what the expression reads."""
    published = policy.run.published
    for gvk in reported:
        for version in published.versions_of(gvk.group, gvk.kind):
            other = gvk._replace(version=version)
            known = version != gvk.version and published.find(other) is not None
            if known and not policy.types(other).issues(text):
                where = other.api_version
                return f"{where} has what the expression reads: write {version} in apiVersions"
    return ""


def _believable(text: str, issues: Mapping[Gvk, list[Issue]]) -> Mapping[Gvk, list[Issue]]:
    """Drop issues of only some kinds, if the expression may distinguish kinds."""
    if len(issues) < 2 or not tells_kinds_apart(text):
        return issues
    everywhere = set.intersection(*({issue.pos for issue in found} for found in issues.values()))
    return {
        gvk: [issue for issue in found if issue.pos in everywhere] for gvk, found in issues.items()
    }
