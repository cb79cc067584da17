"""Advice on strings of expressions that are written as templates of other languages: ``'${…}'``,
``'{{…}}'``, ``'%s'`` without a call of ``format``. CEL has none.
"""

import re
from collections.abc import Iterator

from policyd.cel.syntax.ast import Call, Literal
from policyd.cel.syntax.recursion import nodes
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.findings import FormProblem

RULE = "literal-message"  # the same of a message
_PATH = r"((?:object|oldObject|request|params|variables|namespaceObject|reads)\.[\w.]++)"
_TEMPLATE = re.compile(
    rf"\$\{{\s*+{_PATH}\s*+\}}|\$\(\s*+{_PATH}\s*+\)|\{{\{{\s*+{_PATH}\s*+\}}\}}|\{{{_PATH}\}}"
)
_VERB = re.compile(r"%(?:[sdfb]|\.\d++f)(?!\w)")


def unevaluated(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for all expressions, in order."""
    for expression, checked in policy.compiled:
        every = list(nodes(checked.expr))
        formats = any(isinstance(node, Call) and node.function == "format" for node in every)
        for node in every:
            text = node.value if isinstance(node, Literal) else None
            if not isinstance(text, str):
                continue
            hint = _joined(text)
            if not hint and _VERB.search(text) and not formats:
                hint = f"write '{text}'.format([…])"
            if hint:
                message = "this is a text as it is written: CEL has no templates in strings"
                yield expression.finding(node.pos, RULE, message, hint)


def _joined(text: str) -> str:
    """Return the hint at the sum of strings that a template stands for; empty for plain text."""
    parts, end = [], 0
    for found in _TEMPLATE.finditer(text):
        path = next(filter(None, found.groups()))
        before = text[end : found.start()]
        parts += [f"'{before}'"] if before else []
        parts.append(f"string({path})")
        end = found.end()
    parts += [f"'{text[end:]}'"] if text[end:] and parts else []
    return f"write {' + '.join(parts)}" if parts else ""
