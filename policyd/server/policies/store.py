"""The store of the policy set in use, which reloads and swaps it.

Loading runs outside the event loop's thread; the swap is one assignment in it. If new sources have
problems, the set in use stays. The function that compiles a set is an argument.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, NamedTuple

from policyd.errors import PolicyError, Problem
from policyd.gc_policy import settle
from policyd.http.policies_in_use import Reload
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import Bundle, BundleState
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.losses import LOST, emptied, truncated
from policyd.server.policies.file_watch import Fingerprint, changed, fingerprint
from policyd.server.policies.held_bundles import (
    Trial,
    blocking,
    bundles_of,
    differing,
    states,
    step_by_step,
)
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_sources import Files, PolicySource, exists_in

if TYPE_CHECKING:
    from policyd.server.policies.last_good import LastGoodPolicies

_Problems = tuple[Problem, ...]

# Reads of sources that keep changing, so that no set mixes two states.
MAX_READS = 5
# Seconds until unusable sources are read again without a change, because the cause may be temporary
# (a lost mount, too many open files). Doubled each time, up to a minute: reading 100 policies takes
# half a second of processor time.
RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 60.0


@dataclass(eq=False, repr=False)
class Store:
    """Holds the set in use and replaces it.

    ``live`` are sources besides the files. They return bundles, and the files become a bundle as
    well: an error in a bundle prevents only the replacement of that bundle.

    ``load`` compiles the sources: it raises PolicyError if there is nothing to serve, and may
    return a set with quarantined policies or failures, which only the first load accepts.
    ``on_reload`` is called after every attempt. ``mendable`` are the rules of problems that may
    disappear without a change of the sources: such problems of the set in use do not block a new
    set. ``allow_empty``: accept a set without policies. ``last_good`` keeps sets without errors
    for the next start. ``prepare`` is awaited before a new set replaces the one in use.
    """

    paths: Sequence[Path]
    load: Callable[[Sequence[Path | Bundle]], LoadedSet]
    _: KW_ONLY
    live: Sequence[PolicySource] = ()
    on_reload: Callable[[Reload], None] = lambda _: None
    mendable: Container[str] = ()
    allow_empty: bool = False
    last_good: "LastGoodPolicies | None" = None
    prepare: Callable[[CompiledPolicySet], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.paths = tuple(self.paths)
        files = Files(self.paths, bundled=bool(self.live))
        self._sources: Sequence[PolicySource] = (files, *self.live)
        # The bundles of the set in use, and of the last read.
        self._used: Mapping[str, Bundle] = {}
        self._latest: Mapping[str, Bundle] = {}
        self._retry = RETRY_SECONDS
        self._retry_at = 0.0
        self._loaded: LoadedSet | None = None
        self._state: Fingerprint = ()
        self._accepted: frozenset[Problem] = frozenset()
        self._loading = asyncio.Lock()
        # Whether a requested reload waits for another to end.
        self._wanted = False
        self.last: Reload | None = None
        # Whether the set in use comes from a former process: the sources were broken at start.
        self.serves_last_good = False
        # Why the sources cannot be read yet, at start.
        self._waiting_for = ""

    @property
    def current(self) -> CompiledPolicySet:
        """Return the policies in use; raises LookupError before the first ones are loaded."""
        return self.loaded_set.policies if self._loaded is None else self._loaded.policies

    @property
    def loaded_set(self) -> LoadedSet:
        """Return the set in use; raises LookupError before the first one is loaded."""
        if self._loaded is None:
            raise LookupError("no policies are loaded yet")
        return self._loaded

    @property
    def loaded(self) -> bool:
        """Whether a set is loaded."""
        return self._loaded is not None and not self._waiting_for

    @property
    def unready(self) -> str:
        """Return why the server is not ready; empty if it is."""
        if self._waiting_for:
            return self._waiting_for
        if self._loaded is None:
            return "no policies are loaded"
        if not self.current.policies and not self.allow_empty:
            return "the sources hold no policies, and --allow-empty is not set"
        return ""

    @property
    def bundles(self) -> Sequence[BundleState]:
        """The bundles of sources that have a version, and whether each is in use or held back."""
        held_by_sources = (state for each in self._sources for state in each.states())
        return [*states(self._used, self._latest), *held_by_sources]

    @property
    def latest(self) -> Mapping[str, Bundle]:
        """The bundles of the last read, or else those in use."""
        return self._latest or self._used

    def start(self, *, tell: bool = True) -> None:
        """Load the first set. If there are errors (other than copies of policies), serve the last
        good set of a former process; without one, quarantine broken policies and leave out
        unreadable documents.

        Raises PolicyError if the sources have nothing to serve. Without ``tell`` the caller calls
        ``tell``, on the thread of the event loop.
        """
        self._state = fingerprint(self.paths)
        self._retry_at = monotonic() + self._retry
        attempt = self._whole()
        former = None
        if blocking(attempt.errors, ()) and self.last_good is not None:
            former = self.last_good.restore()
        if former is not None:
            loaded = self._restore(former, attempt)
        elif attempt.loaded is not None:
            loaded, self._accepted = attempt.loaded, frozenset(attempt.errors)
            self._used = attempt.bundles
        else:
            raise attempt.broken or PolicyError([])
        self._use(loaded)
        self.last = self._outcome(attempt.errors, at_start=True)
        if tell:
            self.tell()
        self._keep(loaded)
        settle()

    def tell(self) -> None:
        """Report the last attempt to load."""
        if self.last is not None:
            self.on_reload(self.last)

    def expect(self, why: str) -> None:
        """Be unready for this reason until ``start`` or ``start_without_sources`` succeeds."""
        nothing = compiler.compile_sources(Sources((), (), ""))
        self._loaded, self._waiting_for = LoadedSet(nothing), why

    def start_without_sources(self, why: str) -> bool:
        """Serve the last good set while the sources cannot be read, until a reload replaces it;
        without one change nothing and return False. The caller calls ``tell``.
        """
        former = None if self.last_good is None else self.last_good.restore()
        if former is None:
            return False
        self._state = fingerprint(self.paths)
        self._use(former)
        self.serves_last_good = True
        self._used = bundles_of(former.bundles)
        self.last = Reload(False, self.current.generation, time(), (why,), at_start=True)
        return True

    def _restore(self, former: LoadedSet, attempt: "_Attempt") -> LoadedSet:
        """Return the last good set with those later changes that have no errors."""
        self._loaded, self.serves_last_good = former, True
        self._used = bundles_of(former.bundles)
        if former.bundles:
            better = step_by_step(self._used, attempt.bundles, (), self._tried)
            if better is not None:
                self.serves_last_good, self._used = False, better.bundles
                return better.loaded
        return former

    def reload(self) -> Reload:
        """Load again and swap, or keep the set in use; never raises for bad sources."""
        attempt = self._attempt(self._waiting())
        outcome = self._finish(attempt)
        self._keep(attempt.loaded)
        return outcome

    async def watch(
        self,
        stop: asyncio.Event,
        looked: Callable[[], None] = lambda: None,
        degraded: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Reload whenever the sources change, until ``stop`` is set; retry at intervals while they
        are unusable. ``looked`` and ``degraded`` are the same as in ``changed``.
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
            # Nothing changed: problems of the set in use do not block another set. The reload also
            # read new definitions of a cluster, which no other code would notice.
            await self._replace(self._accepted if again else self._waiting(), again=again)

    async def renew(self) -> None:
        """Reload on request; requests share one reload that has not started yet."""
        if self._wanted:
            return
        self._wanted = True
        async with self._loading:
            self._wanted = False
            await self._renew(self._waiting())

    async def refresh(self) -> None:
        """Reload because a dependency of the sources changed. Errors of the set in use do not
        block policies that have become usable.
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
        loaded, errors = attempt.loaded, attempt.errors
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS) if again else RETRY_SECONDS
        self._retry_at = monotonic() + self._retry
        known = again and self.last is not None and _texts(errors) == self.last.errors
        swaps = loaded is not None and loaded.state != self.loaded_set.state
        if loaded is not None and swaps and self.prepare is not None:
            await self.prepare(loaded.policies)
        self._finish(attempt, quiet=known and not swaps)
        await asyncio.to_thread(self._keep, loaded)
        await asyncio.to_thread(settle, oldest=False)

    def _read(self) -> tuple[Sequence[Path | Bundle], LoadedSet | PolicyError]:
        """Return one state of the sources and the set compiled from it."""
        before = self._fingerprint()
        given: Sequence[Path | Bundle] = ()
        for _ in range(MAX_READS):
            given = [part for each in self._sources for part in each.read()]
            made: LoadedSet | PolicyError
            try:
                made = self.load(given)
            except PolicyError as error:
                made = error
            after = self._fingerprint()
            if after == before:
                return given, made
            before = after
        return given, PolicyError([Problem("the policy sources change faster than they are read")])

    def _fingerprint(self) -> Hashable:
        return tuple(each.fingerprint() for each in self._sources)

    def _whole(self) -> "_Attempt":
        """Return the set of the current sources, and its errors."""
        given, made = self._read()
        bundles = bundles_of(given)
        self._latest = bundles
        if isinstance(made, PolicyError):
            return _Attempt(None, _problems(made), bundles, made)
        return _Attempt(made, self._faults(made, given), bundles)

    def _tried(self, given: Sequence[Path | Bundle]) -> tuple[LoadedSet | None, _Problems]:
        """Return the set of these bundles, and its errors."""
        try:
            loaded = self.load(given)
        except PolicyError as error:
            return None, _problems(error)
        return loaded, self._faults(loaded, given)

    def _attempt(self, tolerated: frozenset[Problem]) -> "_Attempt":
        """Return a usable set and the errors of the sources; no set if there are errors that are
        not ``tolerated``, unless leaving out the bundles that have them helps.

        Runs on any thread; changes nothing that is in use.
        """
        try:
            whole = self._whole()
            if whole.loaded is not None and self._tolerable(whole, tolerated):
                return whole
            part: Trial | None = None
            if whole.bundles:
                part = step_by_step(self._used, whole.bundles, self._accepted, self._tried)
        except Exception as defect:
            # The set in use stays on any error, even a bug of the compiler; an exception here
            # would end the watch, and the server would miss later changes.
            return _Attempt(None, (Problem(f"{type(defect).__name__}: {defect}"),), {})
        if part is None:
            return whole._replace(loaded=None)
        return _Attempt(part.loaded, whole.errors, part.bundles, accepted=part.errors)

    def _tolerable(self, whole: "_Attempt", tolerated: frozenset[Problem]) -> bool:
        """Whether a set can replace the one in use. With bundles it may have the same errors."""
        known = tolerated | self._accepted if whole.bundles else tolerated
        return not blocking(whole.errors, known)

    def _waiting(self) -> frozenset[Problem]:
        """Return the problems of the set in use that may disappear by themselves."""
        return frozenset(each for each in self.current.problems if each.rule in self.mendable)

    def _faults(self, loaded: LoadedSet, given: Sequence[Path | Bundle]) -> _Problems:
        """Return why a set must not replace another: errors in its sources, and failing suites."""
        policies = loaded.policies
        former = None if self._loaded is None else self._loaded.policies
        errors = [problem for problem in policies.problems if problem.severity == "error"]
        lost: list[str] = []
        if former is not None:
            lost += truncated(former, policies, exists_in(given))
        if not self.allow_empty:
            lost += emptied(former, policies)
        errors += (Problem(reason, rule=LOST) for reason in lost)
        return (*errors, *loaded.failures)

    def _use(self, loaded: LoadedSet) -> None:
        """Swap in a set, without its image, which has been kept and would take memory."""
        self._loaded, self._waiting_for = replace(loaded, image=b""), ""

    def _finish(self, attempt: "_Attempt", *, quiet: bool = False) -> Reload:
        """Swap in a set, on the event loop's thread; the same sources change nothing."""
        loaded = attempt.loaded
        if loaded is not None:
            self.serves_last_good, self._waiting_for = False, ""
            self._used = attempt.bundles
            if loaded.state != self.loaded_set.state:
                accepted = attempt.errors if attempt.accepted is None else attempt.accepted
                self._accepted = frozenset(accepted)
                self._use(loaded)
        self.last = outcome = self._outcome(attempt.errors)
        if not quiet:
            self.tell()
        return outcome

    def _outcome(self, errors: _Problems, *, at_start: bool = False) -> Reload:
        held = tuple(differing(self._used, self._latest)) if errors else ()
        texts = _texts(errors)
        return Reload(not errors, self.current.generation, time(), texts, at_start, held)

    def _keep(self, loaded: LoadedSet | None) -> None:
        """Keep the set in use, as it was loaded, for the next start if it has no errors."""
        if self.last_good is None or loaded is None or not loaded.image:
            return
        if not self._accepted and not self.serves_last_good:
            self.last_good.save(loaded.image)


class _Attempt(NamedTuple):
    """A usable set, the errors of the sources, and its bundles. ``broken``: why there is no set.
    ``accepted``: the errors of the set, if some sources are held back.
    """

    loaded: LoadedSet | None
    errors: _Problems
    bundles: Mapping[str, Bundle]
    broken: PolicyError | None = None
    accepted: _Problems | None = None


def _problems(error: PolicyError) -> _Problems:
    return error.problems or (Problem(str(error)),)


def _texts(errors: _Problems) -> tuple[str, ...]:
    return tuple(map(str, errors))
