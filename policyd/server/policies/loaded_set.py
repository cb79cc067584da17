"""What loading the sources gives. Only data."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from policyd.errors import Problem
from policyd.http.policies_in_use import Counters, LoadedPolicy, LoadedPolicySet
from policyd.policy.source.files import Bundle
from policyd.versions import NEWEST


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
