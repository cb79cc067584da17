"""Label selectors and wildcards as CEL. The expressions never err."""

import re
from collections.abc import Callable, Iterable, Sequence

from policyd.export.expressions.literals import string_literal
from policyd.policy.model.base import LabelSelector

_META = frozenset(r"\.+*?()|[]{}^$")  # of RE2


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
    plain = [pattern for pattern in patterns if is_exact(pattern)]
    terms = [fits(pattern, string) for pattern in patterns if pattern not in plain]
    if len(plain) == 1:
        terms.insert(0, fits(plain[0], string))
    elif plain:
        terms.insert(0, f"{string} in [{', '.join(map(string_literal, plain))}]")
    return joined("||", terms)


def joined(operator: str, terms: Iterable[str]) -> str:
    """Return the terms with the operator between them, each in parentheses if there are more."""
    given = list(terms)
    if len(given) < 2:
        return "".join(given)
    return f" {operator} ".join(f"({term})" for term in given)


def is_exact(pattern: str) -> bool:
    """Return whether a pattern has no wildcards."""
    return "*" not in pattern and "?" not in pattern


def fits(pattern: str, string: str, quote: Callable[[str], str] = string_literal) -> str:
    """Return whether a string fits one pattern, with the cheapest function that can say it."""
    core = pattern.strip("*")
    if is_exact(pattern):
        return f"{string} == {quote(pattern)}"
    if not is_exact(core):
        return f"{string}.matches({quote(_regex(pattern))})"
    if not core:
        return "true"
    if pattern.startswith("*") and pattern.endswith("*"):
        return f"{string}.contains({quote(core)})"
    method = "endsWith" if pattern.startswith("*") else "startsWith"
    return f"{string}.{method}({quote(core)})"


def _regex(pattern: str) -> str:
    wild = {"*": ".*", "?": "."}
    body = re.sub(r"\*+", "*", pattern)
    parts = (wild.get(each) or (f"\\{each}" if each in _META else each) for each in body)
    return f"^(?s:{''.join(parts)})$"
