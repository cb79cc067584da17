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
from policyd.cel.syntax.ast import Call, Checked, Comprehension, Expr, Ident, Select
from policyd.cel.syntax.source import MAX_ERRORS, Issue, Source
from policyd.cel.types.types import BOOL, DYN
from policyd.errors import Problem
from policyd.mutation.schemas.schemas import ANY_KIND, Gvk
from policyd.policy.lint.guards.cases import matches_any
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import (
    KindTypes,
    TypedPolicies,
    by_kinds,
    kinds_of,
    tells_kinds_apart,
)
from policyd.policy.model.expressions import KEY, MESSAGE, VALIDATION
from policyd.policy.model.kinds import AnyPolicy
from policyd.policy.source.loaded_documents import Document

RULE = "type-check"
_UNTYPED = "must evaluate to bool but got dyn"


@dataclass(frozen=True, slots=True)
class TypeErrors:
    """The type errors of one expression, by the kinds of its objects."""

    document: Document
    path: str
    text: str
    issues: Mapping[Gvk, list[Issue]]
    kinds: tuple[KindTypes, ...]
    hint: str

    def problems(self) -> Iterator[Problem]:
        """Yield a problem for each place with errors."""
        source = Source(self.text)
        at: dict[int, list[tuple[Gvk, str]]] = {}
        for gvk, issues in self.issues.items():
            for issue in issues:
                at.setdefault(issue.pos, []).append((gvk, issue.message))
        for pos, messages in sorted(at.items())[:MAX_ERRORS]:
            gvk, first = messages[0]
            types = next((each for each in self.kinds if each.gvk == gvk), None)
            tree = None if types is None else types.tree(self.text)
            hint = self.hint or ("" if tree is None else hint_at(tree, pos, first))
            read = "" if tree is None else _read_at(tree, pos)
            about = [(types.reads[read], first)] if types is not None and read else messages
            found = Problem(by_kinds(about), hint=hint, rule=RULE, severity="advice")
            yield self.document.placed(source.at(pos, found), self.path)


def with_types(run: LintRun, problems: Sequence[Problem]) -> list[Problem]:
    """Return problems with better hints where a value has no type that CEL knows, and one that all
    kinds of its objects have in their schemas.
    """
    untyped = [each for each in problems if each.message == _UNTYPED]
    hints: dict[int, str] = {}
    for document, policy in run.policies() if untyped else ():
        kinds = [run.typed.of(policy, gvk) for gvk in kinds_of(policy, run.typed.schemas)]
        for each in run.typed.expressions(policy):
            place = document.placed(Problem("", line=1, column=1), each.at)
            checked = [found for types in kinds if (found := types.checked(each.text))]
            known = {found.result_type for found in checked}
            if each.role is VALIDATION and len(known) == 1 and DYN not in known:
                remedy = result_hint(checked[0].expr, known.pop(), (BOOL,))
                same = (place.file, place.path, place.document)
                hints |= {
                    id(other): remedy
                    for other in untyped
                    if (other.file, other.path, other.document) == same
                }
    return [replace(each, hint=hints.get(id(each), each.hint)) for each in problems]


def type_check(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all policies, in file order."""
    for each in type_errors(run):
        yield from each.problems()


def type_errors(run: LintRun) -> Iterator[TypeErrors]:
    """Yield the expressions of all policies that have type errors, as the API server reports them
    in status.typeChecking. Skips expressions that do not compile.
    """
    typed = run.typed
    for document, policy in run.policies():
        for key, types in typed.keys(policy):
            found = types.issues(key.text) or _no_key(types.checked(key.text))
            if found and types.gvk is not None:
                yield TypeErrors(document, key.at, key.text, {types.gvk: found}, (types,), "")
        untyped = typed.of(policy, None)
        kinds = [typed.of(policy, gvk) for gvk in kinds_of(policy, typed.schemas)]
        others = typed.of(policy, ANY_KIND) if matches_any(policy, typed.schemas) else None
        subjects = (*kinds, *([] if others is None else [others]))
        for each in typed.expressions(policy):
            text = each.text
            if not (each.role.patches or each.role in (VALIDATION, MESSAGE)) or untyped.issues(
                text
            ):
                continue
            issues = {types.gvk: types.issues(text) for types in kinds if types.gvk is not None}
            reported = {gvk: found for gvk, found in _believable(text, issues).items() if found}
            if others is not None and not reported and others.issues(text):
                reported = {ANY_KIND: others.issues(text)}
            if reported:
                other = "" if each.role.patches else _other_version(policy, text, reported, typed)
                yield TypeErrors(document, each.at, text, reported, subjects, other)


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


def _other_version(
    policy: AnyPolicy, text: str, reported: Iterable[Gvk], typed: TypedPolicies
) -> str:
    """Return the hint at a version of a kind that has what the expression reads."""
    for gvk in reported:
        for version in typed.schemas.versions_of(gvk.group, gvk.kind):
            other = gvk._replace(version=version)
            known = version != gvk.version and typed.schemas.find(other) is not None
            if known and not typed.of(policy, other).issues(text):
                where = other.api_version
                return f"{where} has what the expression reads: write {version} in apiVersions"
    return ""


def _no_key(checked: Checked | None) -> list[Issue]:
    """Return what is wrong with the type of a key, which is an error for every object."""
    if checked is None or checked.result_type in KEY.results:
        return []
    wrong = f"a key must be string or list(string), not {checked.result_type}"
    return [Issue(checked.expr.pos, wrong)]


def _believable(text: str, issues: Mapping[Gvk, list[Issue]]) -> Mapping[Gvk, list[Issue]]:
    """Drop issues of only some kinds, if the expression may distinguish kinds."""
    if len(issues) < 2 or not tells_kinds_apart(text):
        return issues
    everywhere = set.intersection(*({issue.pos for issue in found} for found in issues.values()))
    return {
        gvk: [issue for issue in found if issue.pos in everywhere] for gvk, found in issues.items()
    }
