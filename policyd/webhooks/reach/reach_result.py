"""What reach() finds about a policy. Only data."""

from dataclasses import dataclass
from typing import Literal

State = Literal["reached", "partly reached", "not reached"]


@dataclass(frozen=True, slots=True, order=True)
class ReachedBy:
    """A rule of a webhook that calls policyd for a policy; ``rule`` counts from 0."""

    kind: str
    configuration: str
    webhook: str
    rule: int


@dataclass(frozen=True, slots=True)
class Reached:
    """Which requests of a policy reach policyd.

    ``by`` are the rules by which it is reached. ``gaps`` say which of its requests do not reach it;
    ``notes`` say what works otherwise than the policy says, and the namespaces that are left out
    for every policy.
    """

    policy: str
    kind: str
    by: tuple[ReachedBy, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """Return whether all, some or no requests reach the policy."""
        if not self.by:
            return "not reached"
        return "partly reached" if self.gaps else "reached"
