"""The known name that a misspelt one probably stands for, and the hint at it."""

from collections.abc import Iterable

_MOST = 10  # names that a hint lists
_RATIO = 0.6  # as difflib measures it: how alike the names are at least


def nearest(name: str, known: Iterable[str], ratio: float = _RATIO) -> str:
    """Return the known name that is most like ``name``; empty if none is."""
    import difflib  # only for what is misspelt

    return next(iter(difflib.get_close_matches(name, list(known), 1, ratio)), "")


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
