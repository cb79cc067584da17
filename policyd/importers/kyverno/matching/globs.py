"""Strings with the wildcards ``*`` and ``?``, as CEL. Knows nothing of policies."""

import re
from collections.abc import Iterable

from policyd.export.patterns.text import TRUE, Bool, relation, some, string

_WILD = re.compile(r"[*?]")
_SPECIAL = frozenset("\\.+()[]{}|^$")


def is_wild(pattern: str) -> bool:
    """Return whether a string has wildcards.

    >>> is_wild("kube-*"), is_wild("kube-system")
    (True, False)
    """
    return _WILD.search(pattern) is not None


def like(subject: str, pattern: str) -> Bool:
    """Test that a string matches a pattern; ``subject`` is CEL.

    >>> like("request.namespace", "kube-*").text
    "request.namespace.startsWith('kube-')"
    """
    inner = pattern.strip("*")
    if not is_wild(pattern):
        return relation(subject, "==", string(pattern))
    if not inner:
        return TRUE
    if pattern in ("?*", "*?"):
        return relation(subject, "!=", "''")
    if is_wild(inner):
        return Bool(f"{subject}.matches({string(_regex(pattern))})")
    method = "contains"
    if not pattern.startswith("*"):
        method = "startsWith"
    elif not pattern.endswith("*"):
        method = "endsWith"
    return Bool(f"{subject}.{method}({string(inner)})")


def among(subject: str, patterns: Iterable[str]) -> Bool:
    """Test that a string matches one of several patterns.

    >>> among("request.namespace", ["a", "b", "c-*"]).text
    "request.namespace in ['a', 'b'] || request.namespace.startsWith('c-')"
    """
    listed = list(dict.fromkeys(patterns))
    plain = [each for each in listed if not is_wild(each)]
    tests = [like(subject, each) for each in listed if is_wild(each)]
    if len(plain) > 1:
        tests.insert(0, relation(subject, "in", f"[{', '.join(map(string, plain))}]"))
    elif plain:
        tests.insert(0, like(subject, plain[0]))
    return some(*tests)


def _regex(pattern: str) -> str:
    parts = {"*": ".*", "?": "."}
    escaped = (parts.get(char) or (f"\\{char}" if char in _SPECIAL else char) for char in pattern)
    return f"^{''.join(escaped)}$"
