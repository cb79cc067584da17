"""Create the check of callers if the settings require it. Without ``--require-api-server-token``
policyd imports no module for tokens, and requests cost nothing more.
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
    """Return the check of a server's callers. Raises ConfigError if it is required but cannot
    work.
    """
    if not settings.require_api_server_token:
        return None
    if find_spec("jwt") is None:
        raise ConfigError(
            "--require-api-server-token needs the extra tokens: pip install 'policyd[tokens]'"
        )
    from policyd.server.callers.required_tokens import RequiredTokens

    return RequiredTokens(settings, cluster, recorder, log)


async def keys_known(callers: "RequiredTokens | None", log: Log, stop: asyncio.Event) -> bool:
    """Wait for the keys that verify tokens, while /readyz reports the reason; False if ``stop`` is
    set first.
    """
    for missing in () if callers is None else callers.unready():
        log.write("info", "waiting", f"not ready: {missing}")
    if callers is not None:
        await callers.keys.ready(stop)
    return not stop.is_set()
