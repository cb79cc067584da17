"""Wildcards of Kyverno in CEL: `*` for any text, `?` for one character (kyverno ext/wildcard)."""

import re

from policyd.importers.jmespath.cel import MEMBER, TRUE, Cel, quoted, relation
from policyd.importers.jmespath.values import Joined


def has_wildcards(text: str) -> bool:
    """Return whether a string is a pattern."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Return whether a string matches a pattern, where both are written."""
    reached = {0}
    for sign in pattern:
        if sign == "*":
            reached = set(range(min(reached), len(text) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(text) and sign in ("?", text[at])}
    return len(text) in reached


def globbed(text: str, pattern: str) -> Cel:
    """Return CEL that is true if ``text``, CEL of a string, matches a pattern."""
    if pattern == "*":
        return TRUE
    if pattern in ("?*", "*?"):
        return relation(text, "!=", "''")
    inner = pattern.strip("*")
    if not has_wildcards(inner) and pattern in (f"{inner}*", f"*{inner}", f"*{inner}*"):
        method = "contains"
        if not pattern.startswith("*"):
            method = "startsWith"
        elif not pattern.endswith("*"):
            method = "endsWith"
        return Cel(f"{text}.{method}({quoted(inner)})")
    parts = re.split(r"([*?])", pattern)
    signs = {"*": ".*", "?": "."}
    body = "".join(signs.get(each) or _escaped(each) for each in parts)
    return Cel(f"{text}.matches({quoted(f'^{body}$')})")


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
