"""What is wrong with a pattern, and where in its tree. Knows no file."""

from dataclasses import dataclass

from policyd.errors import PolicydError

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """``path`` leads into the tree, keys with their marks; ``at_key``: the key is at fault."""

    path: Path
    message: str
    hint: str = ""
    at_key: bool = False


class PatternError(PolicydError):
    """A pattern that cannot be meant; holds every fault, not only the first."""

    exit_code = 2

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.message for fault in faults))
