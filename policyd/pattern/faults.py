"""What is wrong with a pattern or an overlay, and where in its tree. Knows no file."""

from dataclasses import dataclass

from policyd.errors import PolicydError
from policyd.json_types import FieldPath


@dataclass(frozen=True, slots=True)
class Fault:
    """``path`` leads into the tree, keys with their marks; ``at_key``: the key is at fault.

    ``offset`` is where in the string at ``path``; ``rule`` is that of the problem.
    """

    path: FieldPath
    message: str
    hint: str = ""
    at_key: bool = False
    offset: int = 0
    rule: str = "invalid"


class PatternError(PolicydError):
    """A pattern that cannot be meant; holds every fault, not only the first."""

    exit_code = 2

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.message for fault in faults))
