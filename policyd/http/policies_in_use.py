"""What is shown of the policies in use, and of a reload. Protocols and values; loads nothing."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from policyd.errors import Problem
from policyd.policy.source.files import BundleState
from policyd.versions import KubernetesVersion


class Counters(Protocol):
    """The core's counters of one policy; they never decrease, even over reloads."""

    @property
    def name(self) -> str: ...
    def snapshot(self) -> Mapping[str, Any]:
        """Return ``decisions`` by name, ``seconds`` of evaluation, ``cost`` units."""


class LoadedRollout(Protocol):
    """The fields of a rollout that the server shows."""

    @property
    def given(self) -> Mapping[str, Any]: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def over(self) -> bool: ...


class LoadedPolicy(Protocol):
    """The fields of a policy that the server shows."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def fail(self) -> bool: ...
    @property
    def rollout(self) -> LoadedRollout | None: ...


class LoadedPolicySet(Protocol):
    """The fields of a compiled set that the server needs."""

    @property
    def generation(self) -> str: ...
    @property
    def policies(self) -> Sequence[LoadedPolicy]: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    @property
    def version(self) -> KubernetesVersion:
        """The Kubernetes version whose behavior it follows."""

    @property
    def files(self) -> Mapping[str, frozenset[str]]:
        """The classes of documents in each source file: ``losses.held``."""

    @property
    def exception_ends(self) -> Sequence[datetime | None]:
        """When each exception expires; None: never."""

    @property
    def with_lookups(self) -> Container[str]:
        """The webhooks whose policies may need lookups in a cluster."""

    def counters(self) -> Sequence[Counters]: ...


@dataclass(frozen=True, slots=True)
class Reload:
    """The result of one attempt to load. ``errors`` is empty after a success. ``at_start``: there
    was no former set, so what could be loaded is in use in spite of the errors. ``held`` are the
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
    def current(self) -> LoadedPolicySet:
        """The set in use; raises LookupError before the first one is loaded."""

    @property
    def unready(self) -> str:
        """Why the server is not ready; empty if it is."""

    @property
    def last(self) -> Reload | None:
        """The result of the last attempt to load."""

    @property
    def serves_last_good(self) -> bool:
        """Whether the set in use is that of a former process."""

    @property
    def bundles(self) -> Sequence[BundleState]:
        """The sources that have a version."""
