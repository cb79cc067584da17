"""Which policies the webhook configurations reach. Reads only, and changes nothing."""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic

from policyd.controllers.registration.watched import WatchedConfigurations
from policyd.controllers.wakening import Wakening
from policyd.observability.logs import Log
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.reach.reach import reach
from policyd.webhooks.reach.reached import Reached

# After a change of policies, their rules follow within this time; only then is a policy reported.
SETTLING_SECONDS = 3.0
LONGEST_PAUSE = 60.0


class ReachWatch:
    """What reaches the policies in use. ``registers``: whether this server is to register them."""

    def __init__(
        self,
        policies: Callable[[], CompiledPolicySet | None],
        configurations: WatchedConfigurations,
        log: Log,
        *,
        registers: bool,
    ) -> None:
        self._policies = policies
        self._configurations = configurations
        self._log = log
        self._registers = registers
        self.changed = Wakening()
        self._reached: dict[tuple[str, str], Reached] | None = None
        self._generation = ""
        self._warned: set[tuple[str, str]] = set()

    @property
    def unreached(self) -> int | None:
        """How many policies no rule reaches; None while that is not known."""
        if self._reached is None:
            return None
        return sum(not each.by for each in self._reached.values())

    @property
    def reached(self) -> Mapping[tuple[str, str], Reached]:
        """What is known, by kind and name of the policies."""
        return self._reached or {}

    async def run(self, stop: asyncio.Event) -> None:
        """Look again some seconds after each change, until ``stop`` is set: rules follow policies,
        and what is between is no news.
        """
        while not stop.is_set():
            end = monotonic() + SETTLING_SECONDS
            while monotonic() < end and not stop.is_set():
                await self.changed.wait(stop, end - monotonic())
            await self._look()
            await self.changed.wait(stop, LONGEST_PAUSE)

    async def _look(self) -> None:
        found = list(self._configurations.found.values())
        known = self._configurations.synced and (found or self._registers)
        policies = self._policies()
        if policies is None or not known:
            self._reached = None
            return
        # Many policies take some time, which requests must not wait for.
        rows = await asyncio.to_thread(reach, policies, found)
        self._reached = {(each.kind, each.policy): each for each in rows}
        if policies.generation != self._generation:
            self._generation = policies.generation
            self._warned.clear()
        # Before anything is registered, no policy is reached: that is no news of a policy.
        registered = any(each.get("webhooks") for each in found)
        for key, each in self._reached.items() if registered else ():
            if not each.by and key not in self._warned:
                self._warned.add(key)
                why = f": {'; '.join(each.gaps)}" if each.gaps else ""
                message = f"no webhook rule reaches the policy, so it is never evaluated{why}"
                self._log.write("warning", "unreached", message, policy=each.policy)
