"""Signals that are requests and must not end the process, whose default they all are.

SIGHUP asks to read policies and certificates again; SIGUSR1 and SIGUSR2 mean nothing here.
"""

import asyncio
import signal
from collections.abc import Callable

RELOAD = signal.SIGHUP
MEANINGLESS = (signal.SIGUSR1, signal.SIGUSR2)


def ignore() -> None:
    """As early as can be: nothing is loaded yet, so there is nothing to load again."""
    for number in (RELOAD, *MEANINGLESS):
        signal.signal(number, signal.SIG_IGN)


class Signals:
    """Holds signals back until there is a loop that can act on them."""

    def __init__(self) -> None:
        self._held: list[signal.Signals] = []

    def hold(self) -> None:
        """Note them from now on."""
        for number in (RELOAD, *MEANINGLESS):
            signal.signal(number, lambda got, _: self._held.append(signal.Signals(got)))

    def serve(
        self, reload: Callable[[], None], meaningless: Callable[[signal.Signals], None]
    ) -> None:
        """Call these from now on, on the running loop; and for what was held."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(RELOAD, reload)
        for number in MEANINGLESS:
            loop.add_signal_handler(number, meaningless, number)
        held = set(self._held)
        for number in sorted(held - {RELOAD}):
            meaningless(number)
        if RELOAD in held:
            reload()
