"""The check of callers as the settings want it. Without ``--require-api-server-token`` there is
none: a request costs nothing more, and no module for tokens is imported.
"""

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder

if TYPE_CHECKING:
    from policyd.server.callers.required_tokens import RequiredTokens
    from policyd.server.cluster.cluster_connection import ClusterConnection


def required_tokens(
    settings: Settings,
    cluster: "ClusterConnection | None",
    recorder: PrometheusRecorder,
    log: Log,
) -> "RequiredTokens | None":
    """The check of a server. Raises ConfigError if it is wanted and cannot work."""
    if not settings.require_api_server_token:
        return None
    if find_spec("jwt") is None:
        raise ConfigError(
            "--require-api-server-token needs the extra tokens: pip install 'policyd[tokens]'"
        )
    from policyd.server.callers.required_tokens import RequiredTokens

    return RequiredTokens(settings, cluster, recorder, log)


async def keys_known(callers: "RequiredTokens | None", log: Log, stop: asyncio.Event) -> bool:
    """Wait for the keys that tokens are verified with, while /readyz says why; False if the server
    is to stop before.
    """
    for missing in () if callers is None else callers.unready():
        log.write("info", "waiting", f"not ready: {missing}")
    if callers is not None:
        await callers.keys.ready(stop)
    return not stop.is_set()
