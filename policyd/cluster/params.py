"""Lookups of params of any kind, and of the resource of a kind: plain objects by their paths.

``get`` returns the JSON object at a path, whose kind must end with a given word, or None if there
is none. It raises the errors of the client.
"""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.cluster.bounds import InvalidAnswer, named
from policyd.cluster.listing import list_path
from policyd.json_types import JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.served_resource import Served

Get = Callable[[str, Mapping[str, str], str], Awaitable[JSONObject | None]]

# How long the resource of a kind is cached.
KIND_SECONDS = 30.0
# Objects in one response: a page of params of about 80 KB each stays within the limit of a
# response.
PAGE = 100


def builtin(question: KindOf | ParamsOf) -> tuple[Served, ...]:
    """The resource of a built-in kind of Kubernetes."""
    namespaced = BUILTIN_KINDS.get((question.api_version, question.kind))
    if namespaced is None:
        return ()
    group, _, version = question.api_version.rpartition("/")
    return (Served(group, version, plural(question.kind), question.kind, namespaced),)


async def served(get: Get, question: KindOf) -> tuple[Served, ...]:
    """The resource of a kind, from the API server's discovery."""
    group, _, version = question.api_version.rpartition("/")
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    found = await get(path, {}, "APIResourceList") or {}
    for each in found.get("resources") or ():
        if each["kind"] == question.kind and "/" not in each["name"]:
            return (Served(group, version, each["name"], question.kind, each["namespaced"]),)
    return ()


async def read(get: Get, resource: Served, question: ParamsOf) -> tuple[JSONObject, ...]:
    """The object with a name, or all objects that a selector selects."""
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
            raise InvalidAnswer("the response is not a list of objects")
        objects += items
        following = (page.get("metadata") or {}).get("continue")
        if not following:
            return tuple(objects)
        query["continue"] = following
