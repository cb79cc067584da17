"""A tree of steps: the informative parts of an expression, with source and value. ``building.py``
makes it. Prints nothing.

Omits literals and constants. A chain of selects is one step with its final value; if it ended in an
error, the failed part is below it. A chain of ``&&`` is one step with its terms, a macro is one
step with a step for each recorded round.
"""

from typing import Literal as OneOf
from typing import NamedTuple

from policyd._core.values.errors import CelError
from policyd.cel.trace.reads import NOTHING, Reads


class Step(NamedTuple):
    """A part of an expression, or one round of a macro (``round``: the text is its variables).

    ``value`` is a CEL value or a CelError; for a round, its variable's value, or both in a list.
    ``state``: ``skipped`` was not evaluated, ``cut`` was ended by a limit. ``deciding``: among its
    siblings, this one determined the value of the parent. ``hidden`` counts the rounds that were
    not recorded; ``number`` counts the rounds of a macro from 0. ``pos`` is the offset in the whole
    expression, ``fault`` the offset of the first part of a chain that led nowhere. ``reads`` are
    the fields of the object that the value, or its deciding parts, depend on. ``first`` is the
    number of the first list item that a condition chose.
    """

    text: str
    value: object = None
    state: OneOf["done", "skipped", "cut"] = "done"
    cost: int = 0
    round: bool = False
    deciding: bool = False
    hidden: int = 0
    children: tuple["Step", ...] = ()
    pos: int = 0
    number: int = 0
    fault: int = 0
    reads: Reads = NOTHING
    first: Reads = NOTHING

    @property
    def failed(self) -> bool:
        """Return whether the value is an error."""
        return isinstance(self.value, CelError)


class Steps(NamedTuple):
    """One evaluation of one expression; ``variables`` are those that it used first."""

    label: str
    text: str
    root: Step
    variables: tuple[tuple[str, Step], ...] = ()
