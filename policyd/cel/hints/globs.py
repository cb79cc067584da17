"""What CEL has for a glob, such as ``registry.example.com/*``, which is no regular expression."""

import re

_STARS = re.compile(r"\*+")
_GLOB = re.compile(r"[\w./:@*?-]+")


def is_glob(pattern: str) -> bool:
    """Whether a pattern is certainly a glob: it has ``*``, and nothing of an expression."""
    return "*" in pattern and ".*" not in pattern and _GLOB.fullmatch(pattern) is not None


def instead_of_glob(glob: str, of: str) -> str:
    """Return the condition that a string matches a glob; ``of`` is the string in CEL."""
    parts = _STARS.split(glob)
    if "?" not in glob:
        match parts:
            case ["", ""]:
                return "true"
            case [start, ""]:
                return f"{of}.startsWith('{start}')"
            case ["", end]:
                return f"{of}.endsWith('{end}')"
            case ["", middle, ""]:
                return f"{of}.contains('{middle}')"
    pattern = ".*".join(part.replace(".", "[.]").replace("?", ".") for part in parts)
    return f"{of}.matches('^{pattern}$')"
