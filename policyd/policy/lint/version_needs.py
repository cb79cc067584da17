"""The Kubernetes version that an expression or policy needs, and errors where a target is older.

Only what an older version would reject counts: functions, macros, syntax, and the API versions of
policies. Differences in evaluation are in docs/reference/kubernetes-versions.md.
"""

from collections.abc import Iterator
from typing import NamedTuple

from policyd.cel.syntax.ast import Call, Checked, Comprehension
from policyd.cel.syntax.lexer import tokenize
from policyd.cel.syntax.macros import INTRODUCED
from policyd.cel.syntax.recursion import nodes
from policyd.cel.types.functions import introduced
from policyd.errors import Problem
from policyd.policy.lint.run import LintedPolicy, LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.loaded_documents import Document
from policyd.versions import ESCAPED_IDENTIFIERS, OLDEST, KubernetesVersion

RULE = "newer-than-target"
API_RULE = "newer-policy-api"

# The Kubernetes version since which API servers serve a kind; a Policy is policyd's own.
SERVED = {
    ("MutatingAdmissionPolicy", "v1alpha1"): KubernetesVersion(1, 32),
    ("MutatingAdmissionPolicy", "v1beta1"): KubernetesVersion(1, 34),
    ("MutatingAdmissionPolicy", "v1"): KubernetesVersion(1, 36),
}


class Need(NamedTuple):
    """A part of an expression, at an offset, that a Kubernetes version introduced."""

    version: KubernetesVersion
    what: str
    pos: int


def needs(checked: Checked) -> Iterator[Need]:
    """Yield everything in an expression that is newer than the oldest supported version."""
    for token in tokenize(checked.text)[0]:
        if token.kind == "ESC_IDENTIFIER":
            yield Need(ESCAPED_IDENTIFIERS.since, f"field {token.text} in backquotes", token.pos)
    since = introduced()
    for node in nodes(checked.expr):
        match node:
            case Comprehension() if feature := INTRODUCED.get(_form(node)):
                yield Need(feature.since, f"macro {node.macro}()", node.pos)
            case Call(function=name) if not name.startswith(("@", "cel.@")):
                ids = checked.references[node.id].overload_ids
                first = min((since[each] for each in ids if each in since), default=OLDEST)
                if first > OLDEST:
                    yield Need(first, f"function {name}()", node.pos)


def newest_need(policy: LintedPolicy) -> Need | None:
    """Return the newest need of a policy; None if the oldest supported version has all of it."""
    every = [need for _, checked in policy.compiled for need in needs(checked)]
    return max(every, key=lambda need: need.version, default=None)


def newer(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the parts of expressions that Kubernetes of the target version would reject."""
    target = policy.run.target
    if target is None:
        return
    for expression, checked in policy.compiled:
        for need in sorted(set(needs(checked)), key=lambda need: need.pos):
            if need.version > target:
                message = f"{need.what} needs Kubernetes {need.version}; the target is {target}"
                yield expression.finding(need.pos, RULE, message)


def newer_apis(run: LintRun, document: Document) -> Iterator[Problem]:
    """Yield advice on a policy of a kind that Kubernetes of the target version does not serve."""
    version = document.api_version.rpartition("/")[2]
    since = SERVED.get((document.kind.removesuffix("Binding"), version))
    if since is not None and run.target is not None and since > run.target:
        message = (
            f"{document.kind} {version} is served since Kubernetes {since}; "
            f"the target is {run.target}"
        )
        hint = "policyd evaluates it on every version, if it is loaded from a file"
        yield document.advice("apiVersion", API_RULE, message, hint)


def _form(node: Comprehension) -> tuple[str, int]:
    """Return the name and number of arguments of a macro, as far as versions distinguish them."""
    if node.macro == "sortBy":
        return node.macro, 2
    return node.macro, 3 if node.iter_var2 else 0
