"""Formats of names as apimachinery's ``util/validation`` checks them, with its texts."""

import re
from collections.abc import Iterator

from policyd._core.match.labels import DOMAIN, DOMAIN_FORMAT, DOMAIN_RULE, by_pattern
from policyd.webhooks.validation.field_problems import FieldProblem, invalid, required

_MAX_SUBDOMAIN = 253
_MAX_LABEL = 63
_LABEL_FORMAT = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character"
)
_LABEL = re.compile(_LABEL_FORMAT)
_SEGMENTS = 3


def subdomain_errors(text: str) -> list[str]:
    """Return the errors of a lowercase RFC 1123 subdomain."""
    errors = []
    if len(text.encode()) > _MAX_SUBDOMAIN:
        errors.append(f"must be no more than {_MAX_SUBDOMAIN} characters")
    if not DOMAIN.match(text):
        errors.append(by_pattern(DOMAIN_RULE, DOMAIN_FORMAT, "example.com"))
    return errors


def label_1035_errors(text: str) -> list[str]:
    """Return the errors of a DNS label that starts with a letter."""
    errors = []
    if len(text.encode()) > _MAX_LABEL:
        errors.append(f"must be no more than {_MAX_LABEL} characters")
    if not _LABEL.fullmatch(text):
        errors.append(by_pattern(_LABEL_RULE, _LABEL_FORMAT, "my-name", "abc-123"))
    return errors


def qualified_name(field: str, name: str) -> Iterator[FieldProblem]:
    """Check the name of a webhook: a domain of three segments or more."""
    if not name:
        yield required(field)
    elif errors := subdomain_errors(name):
        yield from invalid(field, name, [",".join(errors)])
    elif name.count(".") < _SEGMENTS - 1:
        detail = "should be a domain with at least three segments separated by dots"
        yield from invalid(field, name, [detail])
