"""Checks an edit of policies before it is stored: builds the set as it would be, compiles it and
runs its suites, and finds the problems that the edit adds. Runs on one thread; knows no requests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from policyd.collecting import exempting
from policyd.errors import Problem
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.live.definitions import Fetch, wanted, with_definitions
from policyd.policy.live.holding import added
from policyd.policy.live.sources import exists_in
from policyd.policy.source import loader
from policyd.policy.source.files import Bundle
from policyd.policy.source.losses import emptied, truncated
from policyd.policy.source.pace import Pace
from policyd.server.loading import failures
from policyd.versions import KubernetesVersion

# Names of policies in refused edits that are remembered, with counters that nobody reads.
MAX_NAMES = 20_000


class TooLate(Exception):
    """The time for the check is over."""


@dataclass(frozen=True, slots=True)
class InUse:
    """The policies in use and the classes of documents in their files, for ``losses``."""

    policies: Sequence[Any]
    files: Mapping[str, frozenset[str]]
    version: KubernetesVersion


@dataclass(frozen=True, slots=True)
class PolicyEdit:
    """The sources before and after an edit."""

    before: Sequence[Bundle]
    after: Sequence[Bundle]
    in_use: InUse


class EditChecker:
    """Compiles edits of the sources of one server. Not for several threads at once."""

    def __init__(self, *, allow_empty: bool, definitions: Fetch | None = None) -> None:
        self._allow_empty = allow_empty
        self._definitions = definitions
        self._former: CompiledPolicySet | None = None

    def problems(self, edit: PolicyEdit, deadline: int) -> list[Problem]:
        """Return the problems that the edit adds; raises TooLate after ``deadline``, a moment of
        perf_counter_ns.
        """
        breathe = _Until(deadline)
        with exempting():
            after = self._of(edit.after, edit.in_use, breathe)
            if not after:
                return []
            return added(after, self._of(edit.before, edit.in_use, breathe))

    def _of(
        self, given: Sequence[Bundle], in_use: InUse, breathe: Callable[[], None]
    ) -> list[Problem]:
        """Return everything that is wrong with these sources."""
        sources = loader.load(given, version=in_use.version, breathe=breathe, pipes=False)
        if self._definitions is not None:
            sources = with_definitions(sources, self._definitions(wanted(sources)))
        # Counters of its own: the cases of suites are no requests.
        policies = compiler.compile_sources(sources, self._former, breathe=breathe)
        few = len(policies.counters()) <= MAX_NAMES
        self._former = policies if few else None
        found = [*policies.problems]
        broken = {each.file for each in found if each.severity == "error"}
        for reason in truncated(in_use, policies, exists_in(given)):
            if reason.partition(": ")[0] not in broken:  # else that is why it holds nothing
                found.append(Problem(reason, rule="lost"))
        if not self._allow_empty:
            found += [Problem(reason, rule="lost") for reason in emptied(in_use, policies)]
        return [*found, *failures(policies, breathe)]


class _Until:
    """Pauses between pieces of work, and ends it at a deadline."""

    def __init__(self, deadline: int) -> None:
        self._deadline = deadline
        self._pace = Pace()

    def __call__(self) -> None:
        if perf_counter_ns() >= self._deadline:
            raise TooLate
        self._pace()
