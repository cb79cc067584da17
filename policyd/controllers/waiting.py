"""Wait for one of several events."""

import asyncio


async def until_any(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Wait until one of the events is set, but at most for ``seconds``."""
    tasks = [asyncio.ensure_future(each.wait()) for each in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in tasks:
            each.cancel()
