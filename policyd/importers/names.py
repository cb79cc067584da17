"""Any text as the name of an object of Kubernetes."""

import hashlib
import re

LONGEST = 253  # characters: the limit of names in Kubernetes
_FOREIGN = re.compile(r"[^a-z0-9.-]+")
_DIGITS = 8  # of a digest in a name


def valid_name(text: str) -> str:
    """Return a text as the name of an object: in lower case, of letters, digits, dashes and dots.

    >>> valid_name("No latest_tag."), valid_name("a.-b")
    ('no-latest-tag', 'a.b')
    """
    labels = (label.strip("-") for label in _FOREIGN.sub("-", text.lower()).split("."))
    name = ".".join(filter(None, labels)) or "policy"
    if len(name) <= LONGEST:
        return name
    kept = name[: LONGEST - _DIGITS - 1].rstrip("-.")
    return f"{kept}-{digest(text)}"


def digest(text: str) -> str:
    """Return what tells a text from others, short enough for a name."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
