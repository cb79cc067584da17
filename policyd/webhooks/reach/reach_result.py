"""The result of reach() for a policy. Only data."""

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
    """The requests of a policy that reach policyd.

    ``by`` are the rules that reach it, ``gaps`` the requests that do not. ``notes`` describe
    differences between webhook and policy, and namespaces that are left out for every policy.
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
