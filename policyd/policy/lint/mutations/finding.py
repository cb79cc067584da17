"""What is wrong with one mutation, before it is known for which kinds."""

from collections.abc import Iterable
from typing import NamedTuple

from policyd.near_names import did_you_mean

_MANY = 15  # fields; a longer list in a hint is unreadable


class MutationFinding(NamedTuple):
    """A mistake at an offset of an expression.

    ``certain``: the mutation fails whenever the operation or object is applied, not only for some
    objects. ``general``: for objects of every kind.
    """

    pos: int
    message: str
    hint: str = ""
    certain: bool = True
    general: bool = False


def nearest_field(name: str, fields: Iterable[str]) -> str:
    """Return a hint for a field that does not exist."""
    known = sorted(fields)
    listed = "known fields: " + ", ".join(known) if 0 < len(known) <= _MANY else ""
    return did_you_mean(name, known, listed)
