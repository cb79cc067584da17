"""Log errors that no task of the event loop handled."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from policyd.observability.logs import Log


def unhandled(log: Log) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return an exception handler of a loop. Errors of clients that disconnected are not logged."""

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, ssl.SSLError | OSError | TimeoutError):
            log.write("error", "defect", context.get("message", ""), exception=repr(error))

    return handle
