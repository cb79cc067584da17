"""The state of the policies in use, and of a reload, for the status pages. Loads nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import BundleState
from policyd.webhooks.reach.reach_result import Reached


@dataclass(frozen=True, slots=True)
class Reload:
    """The result of one attempt to load. ``errors`` is empty after a success. ``at_start``: there
    was no former set, so the loadable policies are in use despite the errors. ``held`` are the
    bundles of sources whose former content stays in use.
    """

    succeeded: bool
    generation: str
    at: float
    errors: tuple[str, ...] = ()
    at_start: bool = False
    held: tuple[str, ...] = ()


class PoliciesInUse(Protocol):
    """The policies of a server: ``server.policies.store.Store``."""

    @property
    def current(self) -> CompiledPolicySet:
        """The set in use; raises LookupError before the first one is loaded."""

    @property
    def unready(self) -> str:
        """Why the server is not ready; empty if it is."""

    @property
    def last(self) -> Reload | None:
        """The result of the last attempt to load."""

    @property
    def serves_last_good(self) -> bool:
        """Whether the set in use comes from a former process."""

    @property
    def bundles(self) -> Sequence[BundleState]:
        """The sources that have a version."""


# Where a policy runs, by webhook: the engine (``api-server`` or ``webhook``), and the reason.
PolicyPlaces = Mapping[str, tuple[str, str]]


class ClusterView:
    """Facts from the cluster about the policies in use; this class knows none."""

    @property
    def reached(self) -> Mapping[tuple[str, str], Reached]:
        """The callers of the policies, by kind and name of the policy; empty if not known."""
        return {}

    @property
    def placed(self) -> Mapping[tuple[str, str], PolicyPlaces]:
        """Where the policies run, by kind and name of the policy; empty without --in-tree."""
        return {}

    def evaluated(self, policies: CompiledPolicySet) -> CompiledPolicySet:
        """Return the policies of a set that the webhook evaluates."""
        return policies
