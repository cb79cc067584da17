"""The known name that a misspelt one probably stands for, and the hint at it."""

from collections.abc import Iterable

_MOST = 10  # names that a hint lists
_RATIO = 0.6  # as difflib measures it: how alike the names are at least


def nearest(name: str, known: Iterable[str], ratio: float = _RATIO) -> str:
    """Return the known name that is most like ``name``, one of the same words first; empty if
    none is.
    """
    import difflib  # only for what is misspelt

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
    """Return the hint at the known name that is most like ``name``, or what to say if none is."""
    near = nearest(name, known, ratio)
    return f"did you mean {near}?" if near else otherwise


def nearest_or_listed(name: str, known: Iterable[str]) -> str:
    """Return the hint at the nearest of the known names, or at all of them."""
    names = sorted(known)
    return did_you_mean(name, names, f"there are: {', '.join(names[:_MOST]) or 'none'}")
