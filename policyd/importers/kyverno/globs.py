"""Kyverno's wildcards in CEL: `*` for any characters, `?` for one (kyverno/kyverno ext/wildcard)."""

import re

from policyd.importers.jmespath.cel import TRUE, Cel, relation
from policyd.importers.jmespath.words import quoted

# Fields whose values may hold wildcards of their own: those of RBAC, of hosts, of certificates.
_WITH_WILDCARDS = frozenset(
    [
        "verb",
        "verbs",
        "resource",
        "resources",
        "apiGroup",
        "apiGroups",
        "resourceName",
        "resourceNames",
        "nonResourceURL",
        "nonResourceURLs",
        "host",
        "hosts",
        "dnsName",
        "dnsNames",
        "commonName",
        "group",
        "destination",
        "namespace_pattern",
    ]
)


def has_wildcards(text: str) -> bool:
    """Return whether a string is a pattern."""
    return "*" in text or "?" in text


def may_hold_wildcards(name: str) -> bool:
    """Return whether the values of a field may be patterns."""
    return name in _WITH_WILDCARDS


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


def pattern_of(text: str) -> str:
    """Return CEL of the regular expression for ``text``, CEL of a pattern that is data."""
    quoted_text = rf"{text}.replace('*', r'\E.*\Q').replace('?', r'\E.\Q')"
    return rf"r'^\Q' + {quoted_text} + r'\E$'"


def _escaped(text: str) -> str:
    return "".join(f"[{each}]" if each in ".+()[{}|$" else re.escape(each) for each in text)
