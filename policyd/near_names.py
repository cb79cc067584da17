"""Finds the known name that a misspelt one probably means, and the hint for it."""

from collections.abc import Iterable

_MOST = 10  # names that a hint lists
_RATIO = 0.6  # the least similarity of names, as measured by difflib


def nearest(name: str, known: Iterable[str], ratio: float = _RATIO) -> str:
    """Return the known name that is most similar to ``name``, preferring the same words; empty if
    none is similar.
    """
    import difflib  # only for misspelt names

    known, words = list(known), _words(name)
    if len(words) > 1 and (same := next((each for each in known if _words(each) == words), "")):
        return same
    return next(iter(difflib.get_close_matches(name, known, 1, ratio)), "")


def _words(name: str) -> list[str]:
    """Return the words of ``minCoverage`` or ``min-coverage``, sorted."""
    parts = (f" {each.lower()}" if each.isupper() else each for each in name)
    return sorted("".join(parts).replace("-", " ").replace("_", " ").split())


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str = "", ratio: float = _RATIO
) -> str:
    """Return the hint with the known name that is most similar to ``name``, or ``otherwise``."""
    near = nearest(name, known, ratio)
    return f"did you mean {near}?" if near else otherwise


def nearest_or_listed(name: str, known: Iterable[str]) -> str:
    """Return the hint with the nearest known name, or with all known names."""
    names = sorted(known)
    return did_you_mean(name, names, f"there are: {', '.join(names[:_MOST]) or 'none'}")
