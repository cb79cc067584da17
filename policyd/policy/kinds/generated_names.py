"""Names that the API server makes of ``metadata.generateName``. Reads no request."""

# k8s.io/apimachinery, pkg/util/rand, and k8s.io/apiserver, pkg/storage/names.
SUFFIX_CHARACTERS = frozenset("bcdfghjklmnpqrstvwxz2456789")
SUFFIX_LENGTH = 5
MOST_PREFIX = 58  # bytes of generateName that are kept
# Each character of a name that is not known yet. No name has it, so only wildcards match it.
UNKNOWN = "/" * SUFFIX_LENGTH


def is_made_of(name: str, prefix: str) -> bool:
    """Whether the API server can have made a name of this generateName."""
    start, suffix = name[:-SUFFIX_LENGTH], name[-SUFFIX_LENGTH:]
    made = len(suffix) == SUFFIX_LENGTH and SUFFIX_CHARACTERS.issuperset(suffix)
    return made and start == prefix[:MOST_PREFIX]


def unfinished(prefix: str) -> str:
    """Return what is known of a name before the API server makes it.

    A wildcard pattern that matches it matches every name that can be made, and one that does not
    match it misses some. Empty for a prefix that is not ASCII, which the API server may cut inside
    a character: only patterns of every name match that.

    >>> unfinished("web-")
    'web-/////'
    """
    kept = prefix[:MOST_PREFIX]
    return f"{kept}{UNKNOWN}" if kept and kept.isascii() else ""
