"""A server over the fakes that does not collect garbage, and logs what a collection would find when
it gets SIGWINCH. No tests here.
"""

import asyncio
import gc
import json
import signal
import sys

from policyd.config import resolve
from policyd.server.composition import Server
from tests.server.fakes import FakeLoader, judge


def report() -> None:
    """Log the types of the objects that only the collector can free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    names = sorted({type(each).__qualname__ for each in gc.garbage})
    gc.set_debug(0)
    gc.garbage.clear()
    print(json.dumps({"event": "garbage", "types": names}), file=sys.stderr, flush=True)


class Uncollected(Server):
    """A server that collects on SIGWINCH only."""

    async def _main(self) -> None:
        gc.disable()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, report)
        await super()._main()


if __name__ == "__main__":
    flags = dict(argument.split("=", 1) for argument in sys.argv[1:])
    Uncollected(resolve(flags, {}), FakeLoader(), judge).run()
