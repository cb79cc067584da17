"""What the server needs to know of a loaded policy set, of a reload, and of the set kept for the
next start. Protocols and values; loads nothing.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from policyd.errors import Problem
from policyd.policy.source.files import Bundle
from policyd.versions import NEWEST, KubernetesVersion


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


class Kept(NamedTuple):
    """The last good set of a former process, and the bundles that it was made of."""

    policies: LoadedPolicySet
    bundles: tuple[Bundle, ...] = ()


class LastGood(Protocol):
    """Keeps the last set without errors beyond the end of the process. Neither method raises."""

    def save(self, policies: LoadedPolicySet) -> None:
        """Keep a set; called by any thread."""

    def restore(self) -> Kept | None:
        """Return the kept set; None if there is none, or it cannot be used."""


class NoPolicies:
    """What is shown while there is no set yet. No request is answered with it."""

    generation = ""
    policies: tuple[LoadedPolicy, ...] = ()
    problems: tuple[Problem, ...] = ()
    version = NEWEST
    files: Mapping[str, frozenset[str]] = MappingProxyType({})
    exception_ends: tuple[datetime | None, ...] = ()
    with_lookups: frozenset[str] = frozenset()

    def counters(self) -> Sequence[Counters]:
        """Return nothing."""
        return ()
