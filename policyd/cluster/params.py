"""Parameter objects of any kind, and which resource a kind is: plain objects by their paths.

``get`` gives the JSON at a path, None where there is none; it raises what the client raises.
"""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from policyd.admission.asked_params import KindOf, ParamsOf
from policyd.cluster.listing import PAGE, list_path
from policyd.policy.builtin_kinds import BUILTIN_KINDS
from policyd.policy.compiled import Object
from policyd.policy.reach import Served
from policyd.policy.reviews import plural

Get = Callable[[str, Mapping[str, str]], Awaitable[Object | None]]

# How long it is remembered which resource a kind is.
KIND_SECONDS = 30.0


def builtin(question: KindOf | ParamsOf) -> tuple[Served, ...]:
    """The resource of a kind of Kubernetes itself."""
    namespaced = BUILTIN_KINDS.get((question.api_version, question.kind))
    if namespaced is None:
        return ()
    group, _, version = question.api_version.rpartition("/")
    return (Served(group, version, plural(question.kind), question.kind, namespaced),)


async def served(get: Get, question: KindOf) -> tuple[Served, ...]:
    """The resource of a kind, as the API server's discovery tells."""
    group, _, version = question.api_version.rpartition("/")
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    found = await get(path, {}) or {}
    for each in found.get("resources") or ():
        if each["kind"] == question.kind and "/" not in each["name"]:
            return (Served(group, version, each["name"], question.kind, each["namespaced"]),)
    return ()


async def read(get: Get, resource: Served, question: ParamsOf) -> tuple[Object, ...]:
    """The object of a name, or all that a selector selects."""
    path = list_path(resource, quote(question.namespace, safe=""))
    if question.name:
        found = await get(f"{path}/{quote(question.name, safe='')}", {})
        return () if found is None else (found,)
    objects: list[Object] = []
    query = {"limit": str(PAGE)}
    if question.selector:
        query["labelSelector"] = question.selector
    while True:
        page = await get(path, query) or {}
        objects += page.get("items") or ()
        if not all(isinstance(each, dict) for each in objects):
            raise ValueError(f"not a list of objects: {path}")
        following = (page.get("metadata") or {}).get("continue")
        if not following:
            return tuple(objects)
        query["continue"] = following
