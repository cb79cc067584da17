"""Formats of Kubernetes names: each check yields what is wrong with a text.

Rules and words: k8s.io/apimachinery ``pkg/api/validate/content`` (dns, kube, path), and CEL
identifiers as kubernetes ``pkg/apis/admissionregistration/validation`` reads them.
"""

import re
from collections.abc import Iterator

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS_1035 = re.compile(_LABEL_1035)
_QUALIFIED = re.compile(_NAME_PART)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")

# Words that CEL's grammar keeps for itself.
CEL_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"}
    | {"function", "if", "import", "let", "loop", "package", "namespace", "return"}
    | {"var", "void", "while"}
)

_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)


def dns_subdomain(text: str) -> Iterator[str]:
    """A lower case RFC 1123 subdomain of at most 253 characters: most object names."""
    if len(text) > 253:
        yield "must be no more than 253 bytes"
    if not _SUBDOMAIN.fullmatch(text):
        yield (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com')"
        )


def dns_1035_label(text: str) -> Iterator[str]:
    """A DNS label that starts with a letter: versions, and kinds in lower case."""
    if len(text) > 63:
        yield "must be no more than 63 bytes"
    if not _DNS_1035.fullmatch(text):
        yield (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
            "with an alphabetic character, and end with an alphanumeric character (e.g. 'v1')"
        )


def qualified_name(text: str) -> Iterator[str]:
    """``name`` or ``prefix/name``: label keys, annotation keys, names of matchConditions."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        yield f"a valid label key {_CHARACTERS}, with an optional DNS subdomain prefix and '/'"
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        for wrong in dns_subdomain(prefix):
            yield f"prefix part {wrong}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > 63:
        yield "name part must be no more than 63 bytes"
    if name and not _QUALIFIED.fullmatch(name):
        yield f"name part {_CHARACTERS} (e.g. 'MyName', 'my.name' or '123-abc')"


def label_value(text: str) -> Iterator[str]:
    """The value of a label: empty, or like the name part of its key."""
    if len(text) > 63:
        yield "must be no more than 63 bytes"
    if text and not _QUALIFIED.fullmatch(text):
        yield f"a valid label must be an empty string or {_CHARACTERS.removeprefix('must ')}"


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
