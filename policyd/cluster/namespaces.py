"""Namespace objects."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from policyd.cluster.bounds import named
from policyd.json_types import JSONObject


async def read(get: Callable[[str], Awaitable[JSONObject]], name: str) -> JSONObject:
    """Query the API server; ``get`` gives the Namespace at a path, and raises what is wrong."""
    return named(await get(f"/api/v1/namespaces/{quote(name, safe='')}"), name)
