"""Waiting for one of several events."""

import asyncio

from policyd.controllers.waiting import until_any


async def waited(*events: asyncio.Event, seconds: float | None = None) -> int:
    """Wait, and return how many tasks are left beside this one."""
    async with asyncio.timeout(300):
        await until_any(*events, seconds=seconds)
    await asyncio.sleep(0)
    return len(asyncio.all_tasks()) - 1


async def one_of_two(chosen: int) -> int:
    events = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().call_soon(events[chosen].set)
    return await waited(*events)


def test_one_event_ends_the_wait_and_leaves_no_task() -> None:
    assert [asyncio.run(one_of_two(chosen)) for chosen in (0, 1)] == [0, 0]


def test_the_time_ends_the_wait_too() -> None:
    async def in_vain() -> int:
        return await waited(asyncio.Event(), seconds=0.001)

    assert asyncio.run(in_vain()) == 0
