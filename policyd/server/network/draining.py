"""How long a server that has to stop goes on serving.

As long as a request arrives every now and then, nobody else may be there to answer: when all
replicas end at once, kube-proxy sends connections to Pods that terminate until others are ready. So
the ports close only after a quiet period, or when what is left of the grace period is needed to
finish the requests that are under way. SIGINT comes from a person at a terminal, whose server has
no other replicas: the ports close at once.
"""

import asyncio
from contextlib import suppress

from policyd.config import Settings
from policyd.server.network.connections import PortConnections


async def until_quiet(
    connections: PortConnections, settings: Settings, interrupted: asyncio.Event
) -> None:
    """Wait until no request has arrived for ``--drain``, but not longer than ``longest_drain`` nor
    after ``interrupted``.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + settings.longest_drain
    quiet = min(settings.drain, settings.longest_drain)
    while (left := min(connections.last_request + quiet, end) - clock()) > 0:
        with suppress(TimeoutError):
            await asyncio.wait_for(interrupted.wait(), left)
            return
