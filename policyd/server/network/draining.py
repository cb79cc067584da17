"""How long a stopping server continues to serve.

While requests arrive, there may be no other replica to answer them: when all replicas stop at once,
kube-proxy sends connections to terminating Pods until others are ready. So the ports close only
after a quiet period, or when the rest of the grace period is needed to finish requests under way.
SIGINT comes from a person at a terminal, whose server has no other replicas: the ports close at
once.
"""

import asyncio
from contextlib import suppress

from policyd.config import Settings
from policyd.server.network.connections import PortConnections


async def until_quiet(
    connections: PortConnections, settings: Settings, interrupted: asyncio.Event
) -> None:
    """Wait until no request has arrived for ``--drain``, but at most ``longest_drain`` and only
    until ``interrupted`` is set.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + settings.longest_drain
    quiet = min(settings.drain, settings.longest_drain)
    while (left := min(connections.last_request + quiet, end) - clock()) > 0:
        with suppress(TimeoutError):
            await asyncio.wait_for(interrupted.wait(), left)
            return
