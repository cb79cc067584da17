"""Advice on expressions with type errors for their objects, as in status.typeChecking of the API
server.

Checked are the kinds that match rules name without wildcards (at most ten), the kinds of
subresources, and the metadata of all others; and only validations and their messages (with the
variables that they use), and the expressions of mutations, which the API server does not check;
what those write is checked by ``mutations``. ``kinds/object_types`` and ``cel/check/objects`` list
the differences from the API server: expressions that work at run time get no warning.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.hints.explaining import hint_at
from policyd.cel.syntax.ast import Checked
from policyd.cel.syntax.source import MAX_ERRORS, Issue, Source
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
            tree = next((types.tree(self.text) for types in self.kinds if types.gvk == gvk), None)
            hint = self.hint or ("" if tree is None else hint_at(tree, pos, first))
            found = Problem(by_kinds(messages), hint=hint, rule=RULE, severity="advice")
            yield self.document.placed(source.at(pos, found), self.path)


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


def _other_version(
    policy: AnyPolicy, text: str, reported: Iterable[Gvk], typed: TypedPolicies
) -> str:
    """Return the hint at a version of a kind that has what the expression reads."""
    for gvk in reported:
        for version in typed.schemas.versions_of(gvk.group, gvk.kind):
            other = gvk._replace(version=version)
            known = version != gvk.version and typed.schemas.find(other) is not None
            if known and not typed.of(policy, other).issues(text):
                where = f"{gvk.group}/{version}".removeprefix("/")
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
