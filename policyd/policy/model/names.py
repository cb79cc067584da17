"""Formats of Kubernetes names: each check yields the errors of a string. The formats of labels are
in ``_core/match/labels.py``, as selectors are also checked in requests.

Formats and wording: k8s.io/apimachinery ``pkg/api/validate/content`` (dns, path), and CEL
identifiers as kubernetes ``pkg/apis/admissionregistration/validation`` reads them.
"""

import re
from collections.abc import Iterator

from policyd._core.match.labels import DOMAIN, DOMAIN_RULE, LABEL_1035, LABEL_1035_RULE

_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")

# The names of policies and webhook configurations in files; refused elsewhere (kubernetes
# pkg/apis/admissionregistration/validation/static_suffix.go).
STATIC_SUFFIX = ".static.k8s.io"
# Words that CEL's grammar keeps for itself.
CEL_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"}
    | {"function", "if", "import", "let", "loop", "package", "namespace", "return"}
    | {"var", "void", "while"}
)


def dns_subdomain(text: str) -> Iterator[str]:
    """A lower case RFC 1123 subdomain of at most 253 characters: most object names."""
    if len(text) > 253:
        yield "must be no more than 253 bytes"
    if not DOMAIN.match(text):
        yield f"{DOMAIN_RULE} (e.g. 'example.com')"


def dns_1035_label(text: str) -> Iterator[str]:
    """A DNS label that starts with a letter: versions, and kinds in lower case."""
    if len(text) > 63:
        yield "must be no more than 63 bytes"
    if not LABEL_1035.match(text):
        yield f"{LABEL_1035_RULE} (e.g. 'v1')"


def path_segment(text: str) -> Iterator[str]:
    """A name that can stand in a URL path: names of resources of any kind."""
    if text in {".", ".."}:
        yield f"may not be '{text}'"
        return
    for character in "/%":
        if character in text:
            yield f"may not contain '{character}'"


def is_cel_identifier(text: str) -> bool:
    """Whether CEL takes ``text`` as a name: ``variables.TEXT`` must parse."""
    return _IDENTIFIER.fullmatch(text) is not None and text not in CEL_RESERVED
