"""The store of the policy set in use, which reloads and swaps it.

Loading runs outside the event loop's thread; the swap is one assignment in it. If new sources have
problems, the set in use stays. The function that compiles a set is an argument.
"""

import asyncio
import gc
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time
from typing import Any, Protocol

from policyd.errors import PolicyError, Problem
from policyd.policy.live.watch import Fingerprint, changed, fingerprint
from policyd.policy.source.losses import emptied, truncated
from policyd.versions import KubernetesVersion

# Reads of sources that change meanwhile, so that no set mixes two states.
MAX_READS = 5
# Seconds until unusable sources are read again without a change: the cause may be temporary (a lost
# mount, too many open files). Doubled each time, up to a minute: reading 100 policies takes half a
# second of processor time.
RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 60.0


class Counters(Protocol):
    """The core's counters of one policy; they never decrease, even over reloads."""

    @property
    def name(self) -> str: ...
    def snapshot(self) -> Mapping[str, Any]:
        """Return ``decisions`` by name, ``seconds`` of evaluation, ``cost`` units."""


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
    def with_lookups(self) -> Container[str]:
        """The webhooks whose policies may need lookups in a cluster."""

    def counters(self) -> Sequence[Counters]: ...


@dataclass(frozen=True, slots=True)
class Reload:
    """The result of one attempt to load. ``errors`` is empty after a success. ``at_start``: there
    was no former set, so what could be loaded is in use in spite of the errors.
    """

    succeeded: bool
    generation: str
    at: float
    errors: tuple[str, ...] = ()
    at_start: bool = False


class LastGood(Protocol):
    """Keeps the last set without errors beyond the end of the process. Neither method raises."""

    def save(self, policies: LoadedPolicySet) -> None:
        """Keep a set; called by any thread."""

    def restore(self) -> LoadedPolicySet | None:
        """Return the kept set; None if there is none, or it cannot be used."""


class Store:
    """Holds the set in use and replaces it.

    ``load`` compiles the sources: it raises PolicyError if there is nothing to serve at all, and
    may return a set with quarantined policies, which only the first load accepts. ``verify`` runs
    the suites of a set and returns a message for each failure. ``on_reload`` is called after every
    attempt. ``mendable`` are the rules of problems that may disappear without a change of the
    sources: such problems of the set in use do not block a new set. ``allow_empty``: accept a set
    without policies. ``last_good``: where sets without errors are kept for the next start.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        load: Callable[[Sequence[Path]], LoadedPolicySet],
        *,
        verify: Callable[[Any], Sequence[str]] = lambda _: (),
        on_reload: Callable[[Reload], None] = lambda _: None,
        mendable: Container[str] = (),
        allow_empty: bool = False,
        last_good: LastGood | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self._load = load
        self._verify = verify
        self._on_reload = on_reload
        self._mendable = mendable
        self._allow_empty = allow_empty
        self._last_good = last_good
        self._retry = RETRY_SECONDS
        self._retry_at = 0.0
        self._current: LoadedPolicySet | None = None
        self._state: Fingerprint = ()
        self._accepted: frozenset[str] = frozenset()
        self._loading = asyncio.Lock()
        # Whether a requested reload waits for another to end.
        self._wanted = False
        self.last: Reload | None = None
        # Whether the set in use is that of a former process: the sources were broken at start.
        self.serves_last_good = False

    @property
    def current(self) -> LoadedPolicySet:
        """Return the set in use; raises LookupError before the first one is loaded."""
        if self._current is None:
            raise LookupError("no policies are loaded yet")
        return self._current

    @property
    def loaded(self) -> bool:
        """Whether a set is loaded."""
        return self._current is not None

    @property
    def unready(self) -> str:
        """Return why the server is not ready; empty if it is."""
        if self._current is None:
            return "no policies are loaded"
        if not self._current.policies and not self._allow_empty:
            return "the sources hold no policies, and --allow-empty is not set"
        return ""

    def start(self) -> None:
        """Load the first set. There is no former set to keep. If there are errors, the last good
        set of a former process is served; without one, broken policies are quarantined and what
        cannot be read is left out.

        Raises PolicyError if the sources have nothing to serve at all.
        """
        self._state = fingerprint(self.paths)
        broken: PolicyError | None = None
        policies: LoadedPolicySet | None = None
        try:
            self._state, policies = self._read()
            errors = self._faults(policies)
        except PolicyError as error:
            broken, errors = error, _texts(error)
        former = self._last_good.restore() if errors and self._last_good is not None else None
        if former is not None:
            self._current, self.serves_last_good = former, True
        elif policies is not None:
            self._current, self._accepted = policies, frozenset(errors)
        else:
            assert broken is not None
            raise broken
        self._report(Reload(not errors, self.current.generation, time(), errors, at_start=True))
        self._keep()
        _settle()

    def reload(self) -> Reload:
        """Load again and swap, or keep the set in use; never raises for bad sources."""
        attempt = self._finish(*self._attempt(self._waiting()))
        self._keep()
        return attempt

    async def watch(
        self,
        stop: asyncio.Event,
        looked: Callable[[], None] = lambda: None,
        degraded: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Reload whenever the sources change, until ``stop`` is set; retry at intervals while they
        are unusable. ``looked`` and ``degraded`` are those of ``changed``.
        """
        states = changed(
            self.paths,
            stop,
            known=self._state,
            looked=looked,
            due=lambda: self._failing and monotonic() >= self._retry_at,
            degraded=degraded,
        )
        async for state in states:
            again, self._state = state == self._state, state
            # Nothing changed: problems of the set in use do not block another set. New definitions
            # of a cluster were read, and no other code would notice them.
            await self._replace(self._accepted if again else self._waiting(), again=again)

    async def renew(self) -> None:
        """Reload on request; one reload that has not started yet serves all requests."""
        if self._wanted:
            return
        self._wanted = True
        async with self._loading:
            self._wanted = False
            await self._renew(self._waiting())

    async def refresh(self) -> None:
        """Reload because a dependency of the sources changed. Errors that the set in use also has
        do not block policies that are usable now.
        """
        await self._replace(self._accepted)

    @property
    def _failing(self) -> bool:
        return self.last is not None and not self.last.succeeded

    async def _replace(self, tolerated: frozenset[str], *, again: bool = False) -> None:
        """Reload. ``again``: nothing changed, so do not report the same errors again."""
        async with self._loading:
            await self._renew(tolerated, again=again)

    async def _renew(self, tolerated: frozenset[str], *, again: bool = False) -> None:
        """Run one reload; the caller ensures that no other is running."""
        policies, errors = await asyncio.to_thread(self._attempt, tolerated)
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS) if again else RETRY_SECONDS
        self._retry_at = monotonic() + self._retry
        known = again and self.last is not None and errors == self.last.errors
        swaps = policies is not None and _state(policies) != _state(self.current)
        self._finish(policies, errors, quiet=known and not swaps)
        await asyncio.to_thread(self._keep)
        await asyncio.to_thread(_settle)

    def _read(self) -> tuple[Fingerprint, LoadedPolicySet]:
        """Return one state of the sources and the set compiled from it."""
        before = fingerprint(self.paths)
        for _ in range(MAX_READS):
            made: LoadedPolicySet | PolicyError
            try:
                made = self._load(self.paths)
            except PolicyError as error:
                made = error
            after = fingerprint(self.paths)
            if after == before:
                if isinstance(made, PolicyError):
                    raise made
                return after, made
            before = after
        raise PolicyError([Problem("the policy sources change faster than they are read")])

    def _attempt(self, tolerated: frozenset[str]) -> tuple[LoadedPolicySet | None, tuple[str, ...]]:
        """Return a usable set and its errors; no set if it has errors that are not ``tolerated``.

        Runs on any thread; changes nothing.
        """
        try:
            _, policies = self._read()
            errors = self._faults(policies)
        except PolicyError as error:
            return None, _texts(error)
        except Exception as defect:
            # The set in use stays on any error, even a bug of the compiler (design 4); an exception
            # here would end the watch, and the server would miss later changes.
            return None, (f"{type(defect).__name__}: {defect}",)
        return (policies if tolerated.issuperset(errors) else None), errors

    def _waiting(self) -> frozenset[str]:
        """Return the problems of the set in use that may disappear by themselves."""
        problems = self.current.problems
        return frozenset(str(each) for each in problems if each.rule in self._mendable)

    def _faults(self, policies: LoadedPolicySet) -> tuple[str, ...]:
        """Return why a set must not replace another: errors in its sources, and failing suites."""
        errors = [str(problem) for problem in policies.problems if problem.severity == "error"]
        if self._current is not None:
            errors += truncated(self._current, policies)
        if not self._allow_empty:
            errors += emptied(self._current, policies)
        return (*errors, *self._verify(policies))

    def _finish(
        self, policies: LoadedPolicySet | None, errors: tuple[str, ...], *, quiet: bool = False
    ) -> Reload:
        """Swap in a set, on the event loop's thread; the same sources change nothing."""
        if policies is not None:
            self.serves_last_good = False
            if _state(policies) != _state(self.current):
                self._current, self._accepted = policies, frozenset(errors)
        attempt = Reload(not errors, self.current.generation, time(), errors)
        if quiet:
            self.last = attempt
            return attempt
        return self._report(attempt)

    def _keep(self) -> None:
        """Keep the set in use for the next start if it has no errors."""
        if self._last_good is not None and self.last is not None and self.last.succeeded:
            self._last_good.save(self.current)

    def _report(self, attempt: Reload) -> Reload:
        self.last = attempt
        self._on_reload(attempt)
        return attempt


def _texts(error: PolicyError) -> tuple[str, ...]:
    return tuple(str(problem) for problem in error.problems) or (str(error),)


def _state(policies: LoadedPolicySet) -> tuple[str, KubernetesVersion]:
    """Return the key that distinguishes a set from another."""
    return policies.generation, policies.version


def _settle() -> None:
    """Exempt the set from garbage collection, which stops all threads while it runs.

    Earlier objects are not scanned again. A set has no cycles: its last user frees it.
    """
    gc.collect()
    gc.freeze()
