"""Parameter objects of any kind, and which resource a kind is: plain objects by their paths.

``get`` gives the JSON object at a path, which must be of a kind that ends in a given word, None
where there is none; it raises what the client raises.
"""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from policyd.admission.lookup_params import KindOf, ParamsOf
from policyd.cluster.bounds import InvalidAnswer, named
from policyd.cluster.listing import list_path
from policyd.json_types import JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.live.reach import Served

Get = Callable[[str, Mapping[str, str], str], Awaitable[JSONObject | None]]

# How long it is remembered which resource a kind is.
KIND_SECONDS = 30.0
# Objects of one answer: a page of params of some 80 KB each is within the bound of an answer.
PAGE = 100


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
    found = await get(path, {}, "APIResourceList") or {}
    for each in found.get("resources") or ():
        if each["kind"] == question.kind and "/" not in each["name"]:
            return (Served(group, version, each["name"], question.kind, each["namespaced"]),)
    return ()


async def read(get: Get, resource: Served, question: ParamsOf) -> tuple[JSONObject, ...]:
    """The object of a name, or all that a selector selects."""
    path = list_path(resource, quote(question.namespace, safe=""))
    if question.name:
        found = await get(f"{path}/{quote(question.name, safe='')}", {}, question.kind)
        return () if found is None else (named(found, question.name),)
    objects: list[JSONObject] = []
    query = {"limit": str(PAGE)}
    if question.selector:
        query["labelSelector"] = question.selector
    while True:
        page = await get(path, query, "List") or {}
        items = page.get("items") or ()
        if not isinstance(items, list | tuple) or not all(isinstance(each, dict) for each in items):
            raise InvalidAnswer("the answer is not a list of objects")
        objects += items
        following = (page.get("metadata") or {}).get("continue")
        if not following:
            return tuple(objects)
        query["continue"] = following
