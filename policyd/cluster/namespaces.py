"""Lookups of Namespace objects."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from policyd.cluster.bounds import named
from policyd.json_types import JSONObject


async def read(get: Callable[[str], Awaitable[JSONObject]], name: str) -> JSONObject:
    """Look up a Namespace; ``get`` returns the Namespace at a path and raises errors."""
    return named(await get(f"/api/v1/namespaces/{quote(name, safe='')}"), name)
