"""How long a server that was told to stop goes on serving.

As long as a request arrives every now and then, nobody else may be there to answer: when all
replicas end at once, kube-proxy sends connections to Pods that terminate until others are ready. So
the ports close only after a quiet period, or when what is left of the grace period is needed to
finish the requests that are under way.
"""

import asyncio

from policyd.config import Settings
from policyd.server.network.connections import PortConnections


async def until_quiet(connections: PortConnections, settings: Settings) -> None:
    """Wait until no request has arrived for ``--drain``, but not longer than ``longest_drain``."""
    clock = asyncio.get_running_loop().time
    end = clock() + settings.longest_drain
    quiet = min(settings.drain, settings.longest_drain)
    while (left := min(connections.last_request + quiet, end) - clock()) > 0:
        await asyncio.sleep(left)
