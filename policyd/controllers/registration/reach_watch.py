"""Watches which policies the webhook configurations reach. Only reads."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from time import monotonic

from policyd.bounded_text import few
from policyd.controllers.controller import Controller
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.reach.reach_result import Reached

# Rules follow changes of policies within this time; only later are unreached policies reported.
SETTLING_SECONDS = 3.0
LONGEST_PAUSE = 30.0
# The registering replica is not ready if rules that it wants have been missing for this long.
GRACE_SECONDS = 60.0
_NAMED = 5  # policies named in one message


@dataclass(eq=False, repr=False)
class ReachWatch(Controller):
    """Finds the rules that reach the policies in use. ``registers``: whether this server registers
    them; ``wanted`` returns the configurations that this replica registers, None if another replica
    does.
    """

    name = "reach"

    policies: Callable[[], CompiledPolicySet | None]
    configurations: WatchedConfigurations
    log: Log
    _: KW_ONLY
    registers: bool
    wanted: Callable[[], Sequence[JSONObject] | None] = lambda: None
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        super().__init__()
        self._reached: dict[tuple[str, str], Reached] | None = None
        self._registered = False  # whether any webhook has been
        self._told: set[tuple[str, str]] = set()  # policies already reported in the log
        # Policies that are not reached although they should be, and since when.
        self._lost: Sequence[str] = ()
        self._lost_since = 0.0

    @property
    def unreached(self) -> int | None:
        """The number of policies that no rule reaches; None while not known."""
        if self._reached is None:
            return None
        return sum(not each.by for each in self._reached.values())

    @property
    def reached(self) -> Mapping[tuple[str, str], Reached]:
        """The callers of the policies, by kind and name of the policy."""
        return self._reached or {}

    @property
    def unready(self) -> str:
        """Why this replica should not be ready; empty if it should."""
        lost = self._lost if self.wanted() is not None else ()
        if not lost or self.clock() - self._lost_since < GRACE_SECONDS:
            return ""
        return f"no registered webhook rule reaches the policies {few(lost, _NAMED)}"

    async def run(self, stop: asyncio.Event) -> None:
        """Check again some seconds after each change, until ``stop`` is set: rules follow policies,
        and intermediate states are not reported.
        """
        while not stop.is_set():
            end = monotonic() + SETTLING_SECONDS
            while monotonic() < end and not stop.is_set():
                await self.changed.wait(stop, end - monotonic())
            await self._look()
            await self.changed.wait(stop, LONGEST_PAUSE)

    async def _look(self) -> None:
        found = list(self.configurations.found.values())
        known = self.configurations.synced and (found or self.registers)
        policies = self.policies()
        if policies is None or not known:
            self._reached, self._lost = None, ()
            return
        # On a thread: many policies take some time, for which requests must not wait.
        rows = await asyncio.to_thread(reach, policies, found)
        self._reached = {(each.kind, each.policy): each for each in rows}
        unreached = [each for each in rows if not each.by]
        await self._note_lost(policies, {(each.kind, each.policy) for each in unreached})
        # Before anything is registered, no policy is reached, which is not reported.
        self._registered |= any(each.get("webhooks") for each in found)
        if self._registered:
            self._tell(unreached)

    async def _note_lost(
        self, policies: CompiledPolicySet, unreached: set[tuple[str, str]]
    ) -> None:
        """Record the policies that are not reached, but would be with the wanted configurations."""
        wanted = self.wanted() if unreached else None
        rows = await asyncio.to_thread(reach, policies, wanted) if wanted else ()
        lost = [each.policy for each in rows if each.by and (each.kind, each.policy) in unreached]
        if lost and not self._lost:
            self._lost_since = self.clock()
        self._lost = lost

    def _tell(self, unreached: Sequence[Reached]) -> None:
        """Log each policy that is not reached, but only once until it is reached again."""
        for each in unreached:
            if (each.kind, each.policy) not in self._told:
                why = f": {'; '.join(each.gaps)}" if each.gaps else ""
                message = f"no webhook rule reaches the policy, so it is never evaluated{why}"
                self.log.write("error", "unreached", message, policy=each.policy)
        self._told = {(each.kind, each.policy) for each in unreached}
