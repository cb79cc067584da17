"""Advice on strings that match more than they seem to: globs as regular expressions, and hosts of
registries without the slash that ends them.

Hosts are reported where an image is allowed because it matches: what a match denies is not.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policyd.cel.hints.globs import instead_of_glob, is_glob
from policyd.cel.hints.tree import held, shown
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, Select
from policyd.cel.syntax.recursion import nodes
from policyd.json_types import FieldPath
from policyd.pattern.marks import Mark, split_if_known
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.expressions import VALIDATION
from policyd.policy.model.findings import FormProblem

GLOB_RULE = "glob-as-regex"
HOST_RULE = "open-registry"
_IMAGE = "image"
_HOST = r"(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::[0-9]+)?)"
_STRING = re.compile(_HOST)
_PATTERN = re.compile(_HOST + r"(?P<rest>/|(?:\.[*+].*)?\Z)")  # of a regular expression
_WILDCARD = re.compile(_HOST + r"\*+")


def globs(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice on globs in ``matches()``, in order."""
    for expression, checked in policy.compiled:
        for call in nodes(checked.expr):
            if not isinstance(call, Call) or call.function != "matches" or len(call.args) != 1:
                continue
            text = call.args[0].value if isinstance(call.args[0], Literal) else None
            if isinstance(text, str) and is_glob(text) and call.target is not None:
                hint = f"write {instead_of_glob(text, held(shown(call.target, 'x')))}"
                message = f"'{text}' is a glob: in a regular expression * repeats what is before it"
                yield expression.finding(call.args[0].pos, GLOB_RULE, message, hint)


def open_hosts(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice on hosts of registries, expressions before patterns."""
    for expression, checked in policy.compiled:
        if expression.role is VALIDATION:
            for function, text in _compared(checked.expr, {}):
                found = _open_host(function, str(text.value))
                if found is not None:
                    other, hint = found
                    yield expression.finding(text.pos, HOST_RULE, _MESSAGE.format(other), hint)
    for path, tree in policy.patterns:
        yield from _in_pattern(tree, path)


_MESSAGE = "images of other registries match, too: {}/x"


def _compared(node: Expr, lists: Mapping[str, Expr]) -> Iterator[tuple[str, Literal]]:
    """Yield the functions and strings that make an expression true because an image matches.
    ``lists`` are those that loop variables run over.
    """
    match node:
        case Call(function="_&&_" | "_||_", args=ways) | Call(function="_?_:_", args=(_, *ways)):
            for each in ways:
                yield from _compared(each, lists)
        case Call(function="startsWith" | "contains" | "matches", args=(text,)):
            if node.target is not None and _is_image(node.target):
                over = lists.get(text.name) if isinstance(text, Ident) else None
                for each in over.elements if isinstance(over, ListExpr) else (text,):
                    if isinstance(each, Literal) and isinstance(each.value, str):
                        yield node.function, each
        case Call(function="!_", args=(Call(function="!_", args=(inner,)),)):
            yield from _compared(inner, lists)
        case Comprehension(macro="all" | "exists"):
            yield from _compared(node.loop_step, {**lists, node.iter_var: node.iter_range})


def _is_image(node: Expr) -> bool:
    match node:
        case Select(field=name) | Call(function="_?._", args=(_, Literal(value=name))):
            return name == _IMAGE
        case Call(function="orValue" | "lowerAscii", target=Expr() as of):
            return _is_image(of)
    return False


def _open_host(function: str, value: str) -> tuple[str, str] | None:
    """Return a registry that a string matches as well, and the remedy; None if there is none."""
    if function != "matches":
        if _STRING.fullmatch(value) is None:
            return None
        other = f"{value}.example.net" if function == "startsWith" else f"example.net/{value}"
        return other, f"write startsWith('{value}/')"
    found = _PATTERN.match(value.removeprefix("^").replace("\\.", ".").replace("[.]", "."))
    if found is None or is_glob(value):
        return None
    host = found["host"]
    right = host.replace(".", "[.]")
    if not value.startswith("^"):
        return f"example.net/{host}", f"begin the pattern with ^: '^{right}/'"
    if found["rest"] != "/":
        return f"{host}.example.net", f"end the host with a slash: '^{right}/'"
    return None


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
