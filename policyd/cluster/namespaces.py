"""Namespace objects."""

from lightkube import AsyncClient
from lightkube.resources.core_v1 import Namespace

from policyd.policy.compiled import Object


async def read(client: AsyncClient, name: str) -> Object:
    """Ask the API server; raises what the client raises."""
    found: Object = (await client.get(Namespace, name=name)).to_dict()
    return found
