"""Label selectors and wildcards as CEL. The expressions never err."""

import re
from collections.abc import Iterable, Sequence

from policyd.export.expressions.literals import string_literal
from policyd.policy.model.base import LabelSelector

_META = re.compile(r"[^A-Za-z0-9_ -]")


def selector_expression(selector: LabelSelector, labels: str) -> str:
    """Return whether labels match, as CEL; ``true`` for a selector that selects everything.

    ``labels`` is the CEL of the optional map of labels: ``object.?metadata.?labels``.
    """
    terms = [
        f"{labels}[?{string_literal(key)}] == optional.of({string_literal(value)})"
        for key, value in sorted(selector.match_labels.items())
    ]
    for requirement in selector.match_expressions:
        label = f"{labels}[?{string_literal(requirement.key)}]"
        values = ", ".join(f"optional.of({string_literal(each)})" for each in requirement.values)
        match requirement.operator:
            case "In":
                terms.append(f"{label} in [{values}]")
            case "NotIn":
                terms.append(f"!({label} in [{values}])")
            case "Exists":
                terms.append(f"{label}.hasValue()")
            case "DoesNotExist":
                terms.append(f"!{label}.hasValue()")
    return joined("&&", terms) or "true"


def wildcard_expression(patterns: Sequence[str], string: str) -> str:
    """Return whether a string matches one of the ``*`` and ``?`` patterns, as CEL.

    ``string`` is CEL of the type string without side conditions, such as a name.
    """
    plain = [pattern for pattern in patterns if "*" not in pattern and "?" not in pattern]
    terms = [_test(pattern, string) for pattern in patterns if pattern not in plain]
    if len(plain) == 1:
        terms.insert(0, f"{string} == {string_literal(plain[0])}")
    elif plain:
        terms.insert(0, f"{string} in [{', '.join(map(string_literal, plain))}]")
    return joined("||", terms)


def joined(operator: str, terms: Iterable[str]) -> str:
    """Return the terms with the operator between them, each in parentheses if there are more."""
    given = list(terms)
    if len(given) < 2:
        return "".join(given)
    return f" {operator} ".join(f"({term})" for term in given)


def _test(pattern: str, string: str) -> str:
    core = pattern.strip("*")
    if "*" not in core and "?" not in core:
        shown = string_literal(core)
        if not core:
            return "true"
        if pattern.startswith("*") and pattern.endswith("*"):
            return f"{string}.contains({shown})"
        method = "endsWith" if pattern.startswith("*") else "startsWith"
        return f"{string}.{method}({shown})"
    regex = "".join(_regex(character) for character in pattern)
    return f"{string}.matches({string_literal(f'^(?s:{regex})$')})"


def _regex(character: str) -> str:
    if character in "*?":
        return ".*" if character == "*" else "."
    # A class quotes every character without a backslash, which would need another in CEL.
    if _META.fullmatch(character) and character not in "^\\":
        return f"[{character}]"
    return f"\\{character}" if character in "^\\" else character
