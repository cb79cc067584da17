"""Handles signals that arrive before the event loop runs, or that must not end the process.

SIGHUP reloads policies and certificates; SIGUSR1 and SIGUSR2 are ignored. Their default action
would end the process.
"""

import asyncio
import signal
from collections.abc import Callable

RELOAD = signal.SIGHUP
IGNORED = (signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGTERM, signal.SIGINT)


def ignore() -> None:
    """Ignore these signals from the start of the process: there is nothing to reload yet."""
    for number in (RELOAD, *IGNORED):
        signal.signal(number, signal.SIG_IGN)


class Signals:
    """Holds signals until an event loop can handle them."""

    def __init__(self) -> None:
        self._held: list[signal.Signals] = []

    def hold(self) -> None:
        """Record signals from now on. SIGTERM and SIGINT end the process at once: no client has
        connected yet.

        The first process of a container has no default action for these signals. Without a handler
        they would be lost, and a Pod deleted while it starts would be killed only after its grace
        period.
        """
        for number in ENDING:
            signal.signal(number, end)
        for number in (RELOAD, *IGNORED):
            signal.signal(number, lambda got, _: self._held.append(signal.Signals(got)))

    def serve(
        self, reload: Callable[[], None], on_ignored: Callable[[signal.Signals], None]
    ) -> None:
        """Call these functions on the running loop, for held signals and from now on."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(RELOAD, reload)
        for number in IGNORED:
            loop.add_signal_handler(number, on_ignored, number)
        held = set(self._held)
        for number in sorted(held - {RELOAD}):
            on_ignored(number)
        if RELOAD in held:
            reload()


def end(number: int, frame: object) -> None:
    """Handle a signal by ending the process."""
    raise SystemExit(0)


def name_of(number: int) -> str:
    """Return the name of a signal, or its number if Python does not know it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
