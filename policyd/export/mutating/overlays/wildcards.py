"""Wildcards of patterns as CEL: ``*`` is any characters, ``?`` is exactly one."""

from policyd.export.expressions.literals import string_literal

_META = frozenset(r"\.+*?()|[]{}^$")


def is_exact(pattern: str) -> bool:
    """Return whether a pattern has no wildcards."""
    return "*" not in pattern and "?" not in pattern


def fits(pattern: str, text: str) -> str:
    """Return that the string ``text`` (CEL) fits a pattern."""
    literal = pattern.strip("*")
    if is_exact(pattern):
        return f"{text} == {string_literal(pattern)}"
    if "?" in pattern or "*" in literal:
        return f"{text}.matches({string_literal(_regex(pattern))})"
    function = "contains"
    if not pattern.startswith("*"):
        function = "startsWith"
    elif not pattern.endswith("*"):
        function = "endsWith"
    return f"{text}.{function}({string_literal(literal)})"


def _regex(pattern: str) -> str:
    """Return the pattern as a regular expression of RE2."""
    wild = {"*": ".*", "?": "."}
    inner = "".join(wild.get(each) or (f"\\{each}" if each in _META else each) for each in pattern)
    return f"^(?s:{inner})$"
