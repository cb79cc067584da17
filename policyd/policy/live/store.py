"""Store: the PolicySet in use, and how another one takes its place.

Loading happens off the event loop's thread; the swap is one assignment on it. Whatever is wrong
with new sources, the set in use stays. What a set is and how it is compiled is handed in.
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

# Sources that change while they are read are read again, so that no set mixes two states.
MAX_READS = 5
# Seconds until sources that could not be used are read again without a change: what was wrong may
# go away by itself (a mount that comes back, room for open files). Doubled each time, up to a
# minute: reading 100 policies takes half a second of the processor.
RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 60.0


class Counters(Protocol):
    """The counters of one policy, as the core keeps them; they never go back over reloads."""

    @property
    def name(self) -> str: ...
    def snapshot(self) -> Mapping[str, Any]:
        """``decisions`` by name, ``seconds`` of evaluation, ``cost`` units."""


class LoadedPolicy(Protocol):
    """What is shown of one policy."""

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
    """What the server needs to know of a compiled set."""

    @property
    def generation(self) -> str: ...
    @property
    def policies(self) -> Sequence[LoadedPolicy]: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    @property
    def version(self) -> KubernetesVersion:
        """The Kubernetes version that it evaluates as."""

    @property
    def files(self) -> Mapping[str, frozenset[str]]:
        """What each source file holds: ``losses.held``."""

    @property
    def with_lookups(self) -> Container[str]:
        """The webhooks whose policies may have to wait for the authorizer."""

    def counters(self) -> Sequence[Counters]: ...


@dataclass(frozen=True, slots=True)
class Reload:
    """How one attempt to load ended. ``errors`` is empty after a success."""

    succeeded: bool
    generation: str
    at: float
    errors: tuple[str, ...] = ()


class Store:
    """Holds the set in use and replaces it.

    ``load`` compiles the sources: it raises PolicyError if there is nothing to serve at all, and
    may give a set with quarantined policies, which only the first load accepts. ``verify`` runs the
    suites of a set and gives a text for each failure. ``on_reload`` hears of every attempt.
    ``mendable`` are the rules of problems that may go away without a change of the sources: those
    that the set in use has already do not keep another one out. ``allow_empty``: a set without
    policies is one like any other.
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
    ) -> None:
        self.paths = tuple(paths)
        self._load = load
        self._verify = verify
        self._on_reload = on_reload
        self._mendable = mendable
        self._allow_empty = allow_empty
        self._retry = RETRY_SECONDS
        self._retry_at = 0.0
        self._current: LoadedPolicySet | None = None
        self._state: Fingerprint = ()
        self._accepted: frozenset[str] = frozenset()
        self._loading = asyncio.Lock()
        # Whether a reload that somebody asked for waits for another to end.
        self._wanted = False
        self.last: Reload | None = None

    @property
    def current(self) -> LoadedPolicySet:
        """The set in use; raises LookupError before the first one is loaded."""
        if self._current is None:
            raise LookupError("no policies are loaded yet")
        return self._current

    @property
    def loaded(self) -> bool:
        """Whether there is a set to judge by."""
        return self._current is not None

    @property
    def unready(self) -> str:
        """Why the server must not be asked yet; empty if it may."""
        if self._current is None:
            return "no policies are loaded"
        if not self._current.policies and not self._allow_empty:
            return "the sources hold no policies, and --allow-empty is not set"
        return ""

    def start(self) -> None:
        """Load the first set. There is no former one to keep: broken policies are quarantined.

        Raises PolicyError for sources that give no set at all.
        """
        self._state, policies = self._read()
        errors = self._faults(policies)
        self._current, self._accepted = policies, frozenset(errors)
        self._report(Reload(not errors, policies.generation, time(), errors))
        _settle()

    def reload(self) -> Reload:
        """Load again and swap, or keep the set in use; never raises for bad sources."""
        return self._finish(*self._attempt(self._waiting()))

    async def watch(
        self,
        stop: asyncio.Event,
        looked: Callable[[], None] = lambda: None,
        degraded: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Reload whenever the sources change, until ``stop`` is set; and now and then while they
        cannot be used. ``looked`` and ``degraded`` are those of ``changed``.
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
            # Nothing changed: what is wrong with the set in use keeps no other one out. Definitions
            # of a cluster that came meanwhile were read, and nobody else would notice them.
            await self._replace(self._accepted if again else self._waiting(), again=again)

    async def renew(self) -> None:
        """Reload because somebody wants it; one reload that has not begun yet serves them all."""
        if self._wanted:
            return
        self._wanted = True
        async with self._loading:
            self._wanted = False
            await self._renew(self._waiting())

    async def refresh(self) -> None:
        """Reload because what the sources depend on changed. Errors that the set in use has, too,
        keep no policy waiting that is usable now.
        """
        await self._replace(self._accepted)

    @property
    def _failing(self) -> bool:
        return self.last is not None and not self.last.succeeded

    async def _replace(self, tolerated: frozenset[str], *, again: bool = False) -> None:
        """``again``: nothing changed; the same errors once more are no news."""
        async with self._loading:
            await self._renew(tolerated, again=again)

    async def _renew(self, tolerated: frozenset[str], *, again: bool = False) -> None:
        """One reload; the caller sees to it that there is no other."""
        policies, errors = await asyncio.to_thread(self._attempt, tolerated)
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS) if again else RETRY_SECONDS
        self._retry_at = monotonic() + self._retry
        known = again and self.last is not None and errors == self.last.errors
        swaps = policies is not None and _state(policies) != _state(self.current)
        self._finish(policies, errors, quiet=known and not swaps)
        await asyncio.to_thread(_settle)

    def _read(self) -> tuple[Fingerprint, LoadedPolicySet]:
        """One state of the sources and the set made of it."""
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
        """A set that may be used, and its errors; no set if they are more than those ``tolerated``.
        Runs on any thread; changes nothing.
        """
        try:
            _, policies = self._read()
            errors = self._faults(policies)
        except PolicyError as error:
            return None, tuple(str(problem) for problem in error.problems) or (str(error),)
        except Exception as defect:
            # Whatever is wrong, even with the compiler itself, the set in use stays (design 4);
            # an exception here would end the watch and leave the server deaf to later changes.
            return None, (f"{type(defect).__name__}: {defect}",)
        return (policies if tolerated.issuperset(errors) else None), errors

    def _waiting(self) -> frozenset[str]:
        """What is wrong with the set in use that may mend by itself."""
        problems = self.current.problems
        return frozenset(str(each) for each in problems if each.rule in self._mendable)

    def _faults(self, policies: LoadedPolicySet) -> tuple[str, ...]:
        """Why a set should not replace another: errors in its sources, and failing suites."""
        errors = [str(problem) for problem in policies.problems if problem.severity == "error"]
        if self._current is not None:
            errors += truncated(self._current, policies)
        if not self._allow_empty:
            errors += emptied(self._current, policies)
        return (*errors, *self._verify(policies))

    def _finish(
        self, policies: LoadedPolicySet | None, errors: tuple[str, ...], *, quiet: bool = False
    ) -> Reload:
        """Take a set into use, on the event loop's thread; the same sources change nothing."""
        if policies is not None and _state(policies) != _state(self.current):
            self._current, self._accepted = policies, frozenset(errors)
        attempt = Reload(not errors, self.current.generation, time(), errors)
        if quiet:
            self.last = attempt
            return attempt
        return self._report(attempt)

    def _report(self, attempt: Reload) -> Reload:
        self.last = attempt
        self._on_reload(attempt)
        return attempt


def _state(policies: LoadedPolicySet) -> tuple[str, KubernetesVersion]:
    """What tells a set from another."""
    return policies.generation, policies.version


def _settle() -> None:
    """Keep the set out of the garbage collector's way, which stops all threads while it looks.

    What was kept so before is not looked at again. A set has no cycles: the last one who uses it
    frees it.
    """
    gc.collect()
    gc.freeze()
