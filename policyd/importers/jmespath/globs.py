"""Wildcards of Kyverno in CEL: `*` for any text, `?` for one character (kyverno ext/wildcard)."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from policyd.export.expressions.cel import MEMBER, TRUE, Cel, relation
from policyd.importers.jmespath.cel import literal, quoted, some
from policyd.importers.jmespath.values import Joined


def has_wildcards(text: str) -> bool:
    """Return whether a string is a pattern."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Return whether a string matches a pattern, where both are written."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def globbed(text: str, pattern: str) -> Cel:
    """Return CEL that is true if ``text``, CEL of a string, matches a pattern.

    >>> globbed("request.namespace", "kube-*").text
    "request.namespace.startsWith('kube-')"
    """
    if not has_wildcards(pattern):
        return relation(text, "==", quoted(pattern))
    inner = pattern.strip("*")
    if not inner:
        return TRUE
    if pattern in ("?*", "*?"):
        return relation(text, "!=", "''")
    if has_wildcards(inner):
        parts = re.split(r"([*?])", pattern)
        signs = {"*": ".*", "?": "."}
        body = "".join(signs.get(each) or _escaped(each) for each in parts)
        return Cel(f"{text}.matches({quoted(f'^{body}$')})")
    method = "contains"
    if not pattern.startswith("*"):
        method = "startsWith"
    elif not pattern.endswith("*"):
        method = "endsWith"
    return Cel(f"{text}.{method}({quoted(inner)})")


def among(text: str, patterns: Iterable[str]) -> Cel:
    """Return CEL that is true if ``text``, CEL of a string, matches one of several patterns.

    >>> among("request.namespace", ["a", "b", "c-*"]).text
    "request.namespace in ['a', 'b'] || request.namespace.startsWith('c-')"
    """
    listed = list(dict.fromkeys(patterns))
    plain = [each for each in listed if not has_wildcards(each)]
    tests = [globbed(text, each) for each in listed if has_wildcards(each)]
    if len(plain) > 1:
        tests.insert(0, relation(text, "in", literal(plain)))
    elif plain:
        tests.insert(0, globbed(text, plain[0]))
    return some(*tests)


def like(text: Cel, pattern: Joined) -> Cel:
    """Return CEL that is true if a string matches a pattern that holds data."""
    if (ends := pattern.ends) is not None:
        method, part = ends
        return Cel(f"{text.at(MEMBER)}.{method}({part.text()})")
    return Cel(f"{text.at(MEMBER)}.matches({pattern_of(pattern.text(MEMBER))})")


def pattern_of(text: str) -> str:
    """Return CEL of the regular expression for ``text``, CEL of a pattern that is data."""
    quoted_text = rf"{text}.replace('*', r'\E.*\Q').replace('?', r'\E.\Q')"
    return rf"r'^\Q' + {quoted_text} + r'\E$'"


def _escaped(text: str) -> str:
    return "".join(f"[{each}]" if each in ".+()[{}|$" else re.escape(each) for each in text)
