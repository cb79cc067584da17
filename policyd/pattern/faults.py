"""Problems in a pattern or an overlay, with their place in the tree. Knows no files."""

from dataclasses import dataclass

from policyd.errors import PolicydError
from policyd.json_types import FieldPath


@dataclass(frozen=True, slots=True)
class Fault:
    """``path`` leads into the tree, keys with their marks; ``at_key``: the key is at fault.

    ``offset`` is the offset in the string at ``path``; ``rule`` is the rule of the problem.
    """

    path: FieldPath
    message: str
    hint: str = ""
    at_key: bool = False
    offset: int = 0
    rule: str = "invalid"


class PatternError(PolicydError):
    """An invalid pattern; holds every fault, not only the first."""

    exit_code = 2

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.message for fault in faults))
