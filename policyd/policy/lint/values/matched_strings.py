"""Advice on strings that match more than they seem to: globs as regular expressions, and hosts of
registries without the slash that ends them.

Hosts are reported where an image is allowed because it matches: what a match denies is not.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policyd.cel.hints.globs import instead_of_glob, is_glob
from policyd.cel.hints.tree import held, shown
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, Select
from policyd.cel.syntax.recursion import nodes
from policyd.errors import Problem
from policyd.json_types import FieldPath
from policyd.pattern.marks import Mark, split_if_known
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.comparisons import problem_at
from policyd.policy.model.expressions import VALIDATION
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import Policy

GLOB_RULE = "glob-as-regex"
HOST_RULE = "open-registry"
_IMAGE = "image"
_HOST = r"(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::[0-9]+)?)"
_STRING = re.compile(_HOST)
_PATTERN = re.compile(_HOST + r"(?P<rest>/|(?:\.[*+].*)?\Z)")  # of a regular expression
_WILDCARD = re.compile(_HOST + r"\*+")


def globs(run: LintRun) -> Iterator[Problem]:
    """Yield the advice on globs in ``matches()``, in order."""
    for document, expression, checked in run.expressions:
        for call in nodes(checked.expr):
            if not isinstance(call, Call) or call.function != "matches" or len(call.args) != 1:
                continue
            text = call.args[0].value if isinstance(call.args[0], Literal) else None
            if isinstance(text, str) and is_glob(text) and call.target is not None:
                yield problem_at(
                    document,
                    expression,
                    call.args[0].pos,
                    f"'{text}' is a glob: in a regular expression * repeats what is before it",
                    rule=GLOB_RULE,
                    hint=f"write {instead_of_glob(text, held(shown(call.target, 'x')))}",
                )


def open_hosts(run: LintRun) -> Iterator[Problem]:
    """Yield the advice on hosts of registries, expressions before patterns."""
    for document, expression, checked in run.expressions:
        if expression.role is VALIDATION:
            for found in _Allowed().hosts(checked.expr):
                yield problem_at(
                    document,
                    expression,
                    found.at.pos,
                    _MESSAGE.format(found.other),
                    rule=HOST_RULE,
                    hint=found.hint,
                )
    for document in run.sources.documents:
        policy = document.model
        validations = policy.spec.validations if isinstance(policy, Policy) else ()
        for index, each in enumerate(validations):
            trees = {("pattern",): each.pattern, ("anyPattern",): each.any_pattern}
            for path, tree in trees.items():
                for finding in _in_pattern(tree, ("spec", "validations", index, *path)):
                    yield document.problem(finding, "advice")


_MESSAGE = "images of other registries match, too: {}/x"


@dataclass(frozen=True, slots=True)
class _Host:
    """``other`` is a registry that matches as well."""

    at: Expr
    other: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Allowed:
    """Finds what makes an expression true. ``lists`` are those that loop variables run over."""

    lists: Mapping[str, Expr] = field(default_factory=dict)

    def hosts(self, node: Expr) -> Iterator[_Host]:
        """Yield the hosts that an image is compared with."""
        match node:
            case Call(function="_&&_" | "_||_", args=args):
                for each in args:
                    yield from self.hosts(each)
            case Call(function="_?_:_", args=(_, yes, no)):
                yield from self.hosts(yes)
                yield from self.hosts(no)
            case Call(function="startsWith" | "contains" | "matches", args=(text,)):
                if node.target is not None and _is_image(node.target):
                    for each in self._texts(text):
                        yield from _open_host(node.function, each)
            case Call(function="!_", args=(Call(function="!_", args=(inner,)),)):
                yield from self.hosts(inner)
            case Comprehension(macro="all" | "exists"):
                lists = {**self.lists, node.iter_var: node.iter_range}
                yield from _Allowed(lists).hosts(node.loop_step)

    def _texts(self, node: Expr) -> Iterator[Literal]:
        """Yield the strings that an argument is, or that a loop gives it."""
        over = self.lists.get(node.name) if isinstance(node, Ident) else None
        for each in over.elements if isinstance(over, ListExpr) else (node,):
            if isinstance(each, Literal) and isinstance(each.value, str):
                yield each


def _is_image(node: Expr) -> bool:
    match node:
        case Select(field=name) | Call(function="_?._", args=(_, Literal(value=name))):
            return name == _IMAGE
        case Call(function="orValue" | "lowerAscii", target=Expr() as of):
            return _is_image(of)
    return False


def _open_host(function: str, text: Literal) -> Iterator[_Host]:
    value = str(text.value)
    if function != "matches":
        found = _STRING.fullmatch(value)
        if found is not None:
            other = f"{value}.example.net" if function == "startsWith" else f"example.net/{value}"
            yield _Host(text, other, f"write startsWith('{value}/')")
        return
    plain = value.removeprefix("^").replace("\\.", ".").replace("[.]", ".")
    found = _PATTERN.match(plain)
    if found is not None and not is_glob(value):
        host, anchored = found["host"], value.startswith("^")
        right = host.replace(".", "[.]")
        if not anchored:
            yield _Host(text, f"example.net/{host}", f"begin the pattern with ^: '^{right}/'")
        elif found["rest"] != "/":
            yield _Host(text, f"{host}.example.net", f"end the host with a slash: '^{right}/'")


def _in_pattern(tree: Any, path: FieldPath) -> Iterator[FormProblem]:
    if isinstance(tree, list | tuple):
        for index, item in enumerate(tree):
            yield from _in_pattern(item, (*path, index))
    elif isinstance(tree, dict):
        for key, value in tree.items():
            mark, name = split_if_known(key)
            if mark not in (Mark.NONE, Mark.IF_PRESENT, Mark.EXISTS):
                continue
            if name == _IMAGE and isinstance(value, str):
                yield from _in_words(value, (*path, key))
            else:
                yield from _in_pattern(value, (*path, key))


def _in_words(value: str, path: FieldPath) -> Iterator[FormProblem]:
    for word in value.split("|"):
        found = _WILDCARD.fullmatch(word.strip())
        if found is not None:
            other = f"{found['host']}.example.net"
            hint = f"write {found['host']}/*"
            yield FormProblem(path, _MESSAGE.format(other), hint, rule=HOST_RULE)
