"""The store of the policy set in use, which reloads and swaps it.

Loading runs outside the event loop's thread; the swap is one assignment in it. If new sources have
problems, the set in use stays. The function that compiles a set is an argument.
"""

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from time import monotonic, time
from typing import Any, NamedTuple

from policyd.errors import PolicyError, Problem
from policyd.gc_policy import settle
from policyd.policy.live.holding import (
    BundleState,
    Trial,
    added,
    bundles_of,
    differing,
    states,
    step_by_step,
)
from policyd.policy.live.loaded import (
    Counters,
    Kept,
    LastGood,
    LoadedPolicy,
    LoadedPolicySet,
    NoPolicies,
    Reload,
)
from policyd.policy.live.sources import BundledFiles, Files, PolicySource, Together, exists_in
from policyd.policy.live.watch import Fingerprint, changed, fingerprint
from policyd.policy.source.files import Bundle
from policyd.policy.source.losses import LOST, emptied, truncated
from policyd.versions import KubernetesVersion

__all__ = ["Counters", "Kept", "LastGood", "LoadedPolicy", "LoadedPolicySet", "Reload", "Store"]

# Reads of sources that change meanwhile, so that no set mixes two states.
MAX_READS = 5
# Seconds until unusable sources are read again without a change: the cause may be temporary (a lost
# mount, too many open files). Doubled each time, up to a minute: reading 100 policies takes half a
# second of processor time.
RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 60.0


class Store:
    """Holds the set in use and replaces it.

    ``live`` is a source besides the files; what it reads are bundles, and so are then all files:
    an error in one keeps only that one from being replaced.

    ``load`` compiles the sources: it raises PolicyError if there is nothing to serve at all, and
    may return a set with quarantined policies, which only the first load accepts. ``verify`` runs
    the suites of a set and returns a problem for each failure. ``on_reload`` is called after every
    attempt. ``mendable`` are the rules of problems that may disappear without a change of the
    sources: such problems of the set in use do not block a new set. ``allow_empty``: accept a set
    without policies. ``last_good``: where sets without errors are kept for the next start.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        load: Callable[[Sequence[Any]], LoadedPolicySet],
        *,
        live: PolicySource | None = None,
        verify: Callable[[Any], Sequence[Problem]] = lambda _: (),
        on_reload: Callable[[Reload], None] = lambda _: None,
        mendable: Container[str] = (),
        allow_empty: bool = False,
        last_good: LastGood | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self._source: PolicySource = Files(paths)
        if live is not None:
            self._source = Together([BundledFiles(paths), live])
        # The bundles of the set in use, and those that were read last.
        self._used: Mapping[str, Bundle] = {}
        self._latest: Mapping[str, Bundle] = {}
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
        self._accepted: frozenset[Problem] = frozenset()
        self._loading = asyncio.Lock()
        # Whether a requested reload waits for another to end.
        self._wanted = False
        self.last: Reload | None = None
        # Whether the set in use is that of a former process: the sources were broken at start.
        self.serves_last_good = False
        # Why the sources cannot be read yet, at start.
        self._waiting_for = ""

    @property
    def current(self) -> LoadedPolicySet:
        """Return the set in use; raises LookupError before the first one is loaded."""
        if self._current is None:
            raise LookupError("no policies are loaded yet")
        return self._current

    @property
    def loaded(self) -> bool:
        """Whether a set is loaded."""
        return self._current is not None and not self._waiting_for

    @property
    def unready(self) -> str:
        """Return why the server is not ready; empty if it is."""
        if self._waiting_for:
            return self._waiting_for
        if self._current is None:
            return "no policies are loaded"
        if not self._current.policies and not self._allow_empty:
            return "the sources hold no policies, and --allow-empty is not set"
        return ""

    @property
    def bundles(self) -> Sequence[BundleState]:
        """The bundles of sources that have a version: which one is in use, which is held back."""
        return [*states(self._used, self._latest), *self._source.states()]

    @property
    def latest(self) -> Mapping[str, Bundle]:
        """The bundles of the sources as they were read last, or else those in use."""
        return self._latest or self._used

    def start(self, *, tell: bool = True) -> None:
        """Load the first set. There is no former set to keep. If there are errors, the last good
        set of a former process is served; without one, broken policies are quarantined and what
        cannot be read is left out.

        Raises PolicyError if the sources have nothing to serve at all. Without ``tell`` the caller
        calls ``tell``, on the thread of the event loop.
        """
        self._state = fingerprint(self.paths)
        self._retry_at = monotonic() + self._retry
        attempt = self._whole()
        former = None
        if attempt.errors and self._last_good is not None:
            former = self._last_good.restore()
        if former is not None:
            self._restore(former, attempt)
        elif attempt.policies is not None:
            self._current, self._accepted = attempt.policies, frozenset(attempt.errors)
            self._used = attempt.bundles
        else:
            raise attempt.broken or PolicyError([])
        self._waiting_for = ""
        self.last = self._outcome(attempt.errors, at_start=True)
        if tell:
            self.tell()
        self._keep()
        settle()

    def tell(self) -> None:
        """Report the last attempt to load."""
        if self.last is not None:
            self._on_reload(self.last)

    def expect(self, why: str) -> None:
        """Be not ready for this reason, until ``start`` or ``start_without_sources`` succeeds."""
        self._current, self._waiting_for = NoPolicies(), why

    def start_without_sources(self, why: str) -> bool:
        """Serve the last good set while the sources cannot be read; without one change nothing and
        return False. A reload follows when they can be read. The caller calls ``tell``.
        """
        former = self._last_good.restore() if self._last_good is not None else None
        if former is None:
            return False
        self._state = fingerprint(self.paths)
        self._current, self.serves_last_good = former.policies, True
        self._used = {each.name: each for each in former.bundles}
        self._waiting_for = ""
        self.last = Reload(False, self.current.generation, time(), (why,), at_start=True)
        return True

    def _restore(self, former: Kept, attempt: "_Attempt") -> None:
        """Use the last good set, with what is good of the changes since then."""
        self._current, self.serves_last_good = former.policies, True
        self._used = {each.name: each for each in former.bundles}
        if former.bundles:
            better = step_by_step(self._used, attempt.bundles, (), self._tried)
            if better is not None:
                self._current, self.serves_last_good = better.policies, False
                self._used = better.bundles

    def reload(self) -> Reload:
        """Load again and swap, or keep the set in use; never raises for bad sources."""
        outcome = self._finish(self._attempt(self._waiting()))
        self._keep()
        return outcome

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

    async def _replace(self, tolerated: frozenset[Problem], *, again: bool = False) -> None:
        """Reload. ``again``: nothing changed, so do not report the same errors again."""
        async with self._loading:
            await self._renew(tolerated, again=again)

    async def _renew(self, tolerated: frozenset[Problem], *, again: bool = False) -> None:
        """Run one reload; the caller ensures that no other is running."""
        attempt = await asyncio.to_thread(self._attempt, tolerated)
        policies, errors = attempt.policies, attempt.errors
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS) if again else RETRY_SECONDS
        self._retry_at = monotonic() + self._retry
        known = again and self.last is not None and _texts(errors) == self.last.errors
        swaps = policies is not None and _state(policies) != _state(self.current)
        self._finish(attempt, quiet=known and not swaps)
        await asyncio.to_thread(self._keep)
        await asyncio.to_thread(settle, oldest=False)

    def _read(self) -> tuple[Sequence[Path | Bundle], LoadedPolicySet | PolicyError]:
        """Return one state of the sources and the set compiled from it."""
        before = self._source.fingerprint()
        given: Sequence[Path | Bundle] = ()
        for _ in range(MAX_READS):
            given = self._source.read()
            made: LoadedPolicySet | PolicyError
            try:
                made = self._load(given)
            except PolicyError as error:
                made = error
            after = self._source.fingerprint()
            if after == before:
                return given, made
            before = after
        return given, PolicyError([Problem("the policy sources change faster than they are read")])

    def _whole(self) -> "_Attempt":
        """Return the set of the sources as they are now, and its errors."""
        given, made = self._read()
        bundles = bundles_of(given)
        self._latest = bundles
        if isinstance(made, PolicyError):
            return _Attempt(None, _problems(made), bundles, made)
        return _Attempt(made, self._faults(made, given), bundles)

    def _tried(
        self, given: Sequence[Path | Bundle]
    ) -> tuple[LoadedPolicySet | None, tuple[Problem, ...]]:
        """Return the set of these bundles, and its errors."""
        try:
            policies = self._load(given)
        except PolicyError as error:
            return None, _problems(error)
        return policies, self._faults(policies, given)

    def _attempt(self, tolerated: frozenset[Problem]) -> "_Attempt":
        """Return a usable set and the errors of the sources; no set if they have errors that are
        not ``tolerated``, unless it can be made without the bundles that have them.

        Runs on any thread; changes nothing that is in use.
        """
        try:
            whole = self._whole()
            if whole.policies is not None and self._tolerable(whole, tolerated):
                return whole
            part: Trial[LoadedPolicySet] | None = None
            if whole.bundles:
                part = step_by_step(self._used, whole.bundles, self._accepted, self._tried)
        except Exception as defect:
            # The set in use stays on any error, even a bug of the compiler (design 4); an exception
            # here would end the watch, and the server would miss later changes.
            return _Attempt(None, (Problem(f"{type(defect).__name__}: {defect}"),), {})
        if part is None:
            return whole._replace(policies=None)
        return _Attempt(part.policies, whole.errors, part.bundles, accepted=part.errors)

    def _tolerable(self, whole: "_Attempt", tolerated: frozenset[Problem]) -> bool:
        """Whether a set can replace that in use. One of bundles may have the errors of that."""
        known = tolerated | self._accepted if whole.bundles else tolerated
        return not added(whole.errors, known)

    def _waiting(self) -> frozenset[Problem]:
        """Return the problems of the set in use that may disappear by themselves."""
        return frozenset(each for each in self.current.problems if each.rule in self._mendable)

    def _faults(
        self, policies: LoadedPolicySet, given: Sequence[Path | Bundle]
    ) -> tuple[Problem, ...]:
        """Return why a set must not replace another: errors in its sources, and failing suites."""
        errors = [problem for problem in policies.problems if problem.severity == "error"]
        lost: list[str] = []
        if self._current is not None:
            lost += truncated(self._current, policies, exists_in(given))
        if not self._allow_empty:
            lost += emptied(self._current, policies)
        errors += (Problem(reason, rule=LOST) for reason in lost)
        return (*errors, *self._verify(policies))

    def _finish(self, attempt: "_Attempt", *, quiet: bool = False) -> Reload:
        """Swap in a set, on the event loop's thread; the same sources change nothing."""
        policies = attempt.policies
        if policies is not None:
            self.serves_last_good, self._waiting_for = False, ""
            self._used = attempt.bundles
            if _state(policies) != _state(self.current):
                accepted = attempt.errors if attempt.accepted is None else attempt.accepted
                self._current, self._accepted = policies, frozenset(accepted)
        outcome = self._outcome(attempt.errors)
        if quiet:
            self.last = outcome
            return outcome
        return self._report(outcome)

    def _outcome(self, errors: tuple[Problem, ...], *, at_start: bool = False) -> Reload:
        held = tuple(differing(self._used, self._latest)) if errors else ()
        texts = _texts(errors)
        return Reload(not errors, self.current.generation, time(), texts, at_start, held)

    def _keep(self) -> None:
        """Keep the set in use for the next start if it has no errors."""
        if self._last_good is not None and not self._accepted and not self.serves_last_good:
            self._last_good.save(self.current)

    def _report(self, attempt: Reload) -> Reload:
        self.last = attempt
        self.tell()
        return attempt


class _Attempt(NamedTuple):
    """A set that may be used, the errors of the sources, and its bundles. ``broken``: why there is
    no set. ``accepted``: the errors of the set, if some of the sources are held back.
    """

    policies: LoadedPolicySet | None
    errors: tuple[Problem, ...]
    bundles: Mapping[str, Bundle]
    broken: PolicyError | None = None
    accepted: tuple[Problem, ...] | None = None


def _problems(error: PolicyError) -> tuple[Problem, ...]:
    return error.problems or (Problem(str(error)),)


def _texts(errors: tuple[Problem, ...]) -> tuple[str, ...]:
    return tuple(map(str, errors))


def _state(policies: LoadedPolicySet) -> tuple[str, KubernetesVersion]:
    """Return the key that distinguishes a set from another."""
    return policies.generation, policies.version
