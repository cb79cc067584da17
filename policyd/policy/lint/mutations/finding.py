"""What is wrong with one mutation, before it is known for which kinds."""

from typing import NamedTuple


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
