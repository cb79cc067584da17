"""Signals before there is a loop, and those that must not end the process, as they do by default.

SIGHUP asks to read policies and certificates again; SIGUSR1 and SIGUSR2 mean nothing here.
"""

import asyncio
import signal
from collections.abc import Callable

RELOAD = signal.SIGHUP
IGNORED = (signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGTERM, signal.SIGINT)


def ignore() -> None:
    """As early as can be: nothing is loaded yet, so there is nothing to load again."""
    for number in (RELOAD, *IGNORED):
        signal.signal(number, signal.SIG_IGN)


class Signals:
    """Holds signals back until there is a loop that can act on them."""

    def __init__(self) -> None:
        self._held: list[signal.Signals] = []

    def hold(self) -> None:
        """Note them from now on. What ends a server ends it at once: nobody has connected yet.

        A container's first process has no default for these signals: without a handler they are
        lost, and a Pod that is deleted while it starts is killed after its grace period.
        """
        for number in ENDING:
            signal.signal(number, _end)
        for number in (RELOAD, *IGNORED):
            signal.signal(number, lambda got, _: self._held.append(signal.Signals(got)))

    def serve(
        self, reload: Callable[[], None], on_ignored: Callable[[signal.Signals], None]
    ) -> None:
        """Call these from now on, on the running loop; and for what was held."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(RELOAD, reload)
        for number in IGNORED:
            loop.add_signal_handler(number, on_ignored, number)
        held = set(self._held)
        for number in sorted(held - {RELOAD}):
            on_ignored(number)
        if RELOAD in held:
            reload()


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)
