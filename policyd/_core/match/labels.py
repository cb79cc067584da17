"""Validation of labels, label selectors and names, with the API server's messages.

``selectors.pyx`` matches them. Sources: apimachinery ``pkg/api/validate/content/kube.go`` and
``pkg/apis/meta/v1/validation``.
"""

import json
import re

# The label that every namespace has, with its name as value.
NAMESPACE_NAME = "kubernetes.io/metadata.name"
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

NAME_FORMAT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
)
VALUE_RULE = f"a valid label must be an empty string or {NAME_RULE.removeprefix('must ')}"
DOMAIN_LABEL_FORMAT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DOMAIN_FORMAT = rf"{DOMAIN_LABEL_FORMAT}(\.{DOMAIN_LABEL_FORMAT})*"
DOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
    " '-' or '.', and must start and end with an alphanumeric character"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character"
)
LABEL_1035_FORMAT = "[a-z]([-a-z0-9]*[a-z0-9])?"
LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character"
)
MAX_NAME = 63
MAX_DOMAIN = 253

# \Z, not $: the latter also accepts a newline at the end.
NAME = re.compile(rf"(?:{NAME_FORMAT})\Z", re.ASCII)
# Possessive: otherwise the engine keeps a state for each of a million labels.
DOMAIN = re.compile(rf"(?:{DOMAIN_LABEL_FORMAT})(?:\.{DOMAIN_LABEL_FORMAT})*+\Z", re.ASCII)
LABEL = re.compile(rf"(?:{DOMAIN_LABEL_FORMAT})\Z", re.ASCII)
LABEL_1035 = re.compile(rf"(?:{LABEL_1035_FORMAT})\Z", re.ASCII)


def by_pattern(rule: str, pattern: str, *examples: str) -> str:
    """The API server's message for a string that does not match a pattern."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


NO_NAME = by_pattern(NAME_RULE, NAME_FORMAT, "MyName", "my.name", "123-abc")
NO_VALUE = by_pattern(VALUE_RULE, f"({NAME_FORMAT})?", "MyValue", "my_value", "12345")
NO_DOMAIN = by_pattern(DOMAIN_RULE, DOMAIN_FORMAT, "example.com")
NO_LABEL = by_pattern(LABEL_RULE, DOMAIN_LABEL_FORMAT, "my-name", "123-abc")
NO_LABEL_1035 = by_pattern(LABEL_1035_RULE, LABEL_1035_FORMAT, "my-name", "abc-123")


def key_errors(key: str) -> list[str]:
    """The problems of a label key; empty if it is valid."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {NO_NAME} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        ]
    errors = []
    if slash:
        found = domain_errors(prefix, "bytes") if prefix else ["must be non-empty"]
        errors = [f"prefix part {each}" for each in found]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > MAX_NAME:
        errors.append(f"name part must be no more than {MAX_NAME} bytes")
    if not NAME.match(name):
        errors.append(f"name part {NO_NAME}")
    return errors


def value_errors(value: str) -> list[str]:
    """The problems of a label value; empty if it is valid."""
    return format_errors(value, MAX_NAME, NO_VALUE if value and not NAME.match(value) else "")


def domain_errors(text: str, unit: str = "characters") -> list[str]:
    """The problems of a DNS-1123 subdomain; empty if it is valid."""
    return format_errors(text, MAX_DOMAIN, "" if DOMAIN.match(text) else NO_DOMAIN, unit)


def label_errors(text: str) -> list[str]:
    """The problems of a DNS-1123 label; empty if it is valid."""
    wrong = ""
    if not LABEL.match(text):
        wrong = "must not contain dots" if DOMAIN.match(text) else NO_LABEL
    return format_errors(text, MAX_NAME, wrong, "characters")


def label_1035_errors(text: str) -> list[str]:
    """The problems of a DNS-1035 label; empty if it is valid."""
    wrong = "" if LABEL_1035.match(text) else NO_LABEL_1035
    return format_errors(text, MAX_NAME, wrong, "characters")


def format_errors(text: str, most: int, wrong: str, unit: str = "bytes") -> list[str]:
    """The problems of a string of at most ``most`` bytes; ``wrong``: its error of form, if any."""
    errors = [f"must be no more than {most} {unit}"] if len(text.encode()) > most else []
    return [*errors, wrong] if wrong else errors


def requirement_error(key: str, operator: str, values: list[str]) -> str:
    """The error of a requirement when its selector is used, or "".

    The message comes from ``metav1.LabelSelectorAsSelector``. The operator ``=`` stands for an
    entry of matchLabels.
    """
    if operator not in (*OPERATORS, "="):
        return f"{json.dumps(operator)} is not a valid label selector operator"
    errors = []
    if bad := key_errors(key):
        errors.append(f"key: {invalid(key, '; '.join(bad))}")
    listed = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    if operator in ("In", "NotIn") and not values:
        text = "for 'in', 'notin' operators, values set can't be empty"
        errors.append(f"values: Invalid value: {listed}: {text}")
    elif operator in ("Exists", "DoesNotExist") and values:
        text = "values set must be empty for exists and does not exist"
        errors.append(f"values: Invalid value: {listed}: {text}")
    for index, value in enumerate(values):
        if bad := value_errors(value):
            errors.append(f"values[{index}][{key}]: {invalid(value, '; '.join(bad))}")
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""


def invalid(value: str, text: str) -> str:
    """The API server's message for an invalid value."""
    return f"Invalid value: {json.dumps(value, ensure_ascii=False)}: {text}"
