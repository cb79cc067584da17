"""Advice on validations of fields that a subresource also writes, if no rule matches it.

Only fields are checked whose subresource is certain: ``ephemeralContainers`` and the resources of
running containers of a Pod, and ``replicas``. Labels and annotations, which ``status`` writes, are
not: mostly the control plane does that.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policyd.cel.syntax.ast import Call, Literal, Select
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.errors import CelSyntaxError
from policyd.json_types import FieldPath
from policyd.pattern.marks import split_if_known
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.expressions import VALIDATION, VARIABLE
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.match import covers, covers_resource

RULE = "subresource-not-covered"


class _Writer(NamedTuple):
    """A subresource, what it writes, the names of the fields that must be read, and a remark."""

    subresource: str
    what: str
    fields: frozenset[str]
    remark: str = ""


_SCALE = _Writer(
    "scale",
    "replicas",
    frozenset({"spec", "replicas"}),
    "; its object is an autoscaling/v1 Scale with replicas",
)
_RESIZE = "resize", "resources of containers"
_WRITERS: Mapping[tuple[str, str], tuple[_Writer, ...]] = {
    ("", "pods"): (
        _Writer("ephemeralcontainers", "ephemeralContainers", frozenset({"ephemeralContainers"})),
        _Writer(*_RESIZE, frozenset({"containers", "resources", "limits"})),
        _Writer(*_RESIZE, frozenset({"containers", "resources", "requests"})),
    ),
    ("", "replicationcontrollers"): (_SCALE,),
    ("apps", "deployments"): (_SCALE,),
    ("apps", "replicasets"): (_SCALE,),
    ("apps", "statefulsets"): (_SCALE,),
}


def uncovered(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy that validates."""
    if not policy.validations:
        return
    read, reported = frozenset(_names(policy)), set[tuple[FieldPath, str]]()
    for rule, resource, path in policy.named_resources:
        writers = [
            each for group in rule.api_groups for each in _WRITERS.get((group, resource), ())
        ]
        for writer in writers if covers(rule.operations, "UPDATE") else ():
            name = f"{resource}/{writer.subresource}"
            covered = any(
                covers_resource(each.resources, name) and covers(each.operations, "UPDATE")
                for each in policy.rules
            )
            once = path[:-1], name  # for each rule
            if writer.fields <= read and once not in reported and not covered:
                reported.add(once)
                yield FormProblem(
                    path,
                    f"{name} is not covered: through it, {writer.what} can be changed without "
                    "validation",
                    f"add {name} to the resources{writer.remark}",
                    rule=RULE,
                )


def _names(policy: LintedPolicy) -> Iterator[str]:
    """Yield the names of the fields that the validations read."""
    for each in policy.of_role(VARIABLE, VALIDATION):
        try:
            root = parse(each.text)
        except CelSyntaxError:
            return  # reported when the expression is compiled
        for node in nodes(root):
            match node:
                case (
                    Select(field=name)
                    | Call(function="_?._" | "_[_]" | "_[?_]", args=(_, Literal(value=str(name))))
                ):
                    yield name
    for _, tree in policy.patterns:
        yield from _keys(tree)


def _keys(tree: Any) -> Iterator[str]:
    if isinstance(tree, Mapping):
        for key, member in tree.items():
            mark, name = split_if_known(key)
            if mark is not None:
                yield name
                yield from _keys(member)
    elif isinstance(tree, list):
        for item in tree:
            yield from _keys(item)
