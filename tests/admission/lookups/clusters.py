"""Clusters that know one kind of thing each, and one that knows nothing. No tests here."""

import asyncio
from collections.abc import Awaitable, Callable

from policyd.admission.lookups.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.json_types import JSONObject
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.kinds.served_resource import Served

Fetch = Callable[[Attributes], Awaitable[AccessDecision | Failure]]
LIMIT = Served("limits.dev", "v1", "limits", "Limit", True)
SHOP: JSONObject = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "shop",
        "labels": {"team": "sales", "kubernetes.io/metadata.name": "shop"},
        "annotations": {"tier": "gold"},
    },
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


class Ignorant:
    """Every question fails."""

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        return Failure("nobody asked for users")

    async def namespace(self, name: str) -> JSONObject | Failure:
        return Failure("nobody asked for namespaces")

    def known_namespace(self, name: str) -> JSONObject | None:
        return None

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        return Failure("nobody asked for kinds")

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        return None

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        return Failure("nobody asked for params")

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        return None

    async def table(self, read: CompiledRead) -> ReadTable | Failure:
        return Failure("nobody asked for reads")

    def known_table(self, read: CompiledRead) -> ReadTable | Failure | None:
        return None


async def never(attributes: Attributes) -> AccessDecision:
    await asyncio.Event().wait()
    return AccessDecision(True)


class Users(Ignorant):
    """A cluster that knows users only."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        return await self._fetch(asked)


class Namespaces(Ignorant):
    """Knows the namespace shop, once it is asked for it."""

    def __init__(self, answer: JSONObject | Failure | None = None, *, known: bool = False) -> None:
        self.answer = SHOP if answer is None else answer
        self.known = known
        self.asked: list[str] = []

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        await asyncio.sleep(0)
        return AccessDecision(True, "yes")

    async def namespace(self, name: str) -> JSONObject | Failure:
        self.asked.append(name)
        await asyncio.sleep(0)
        return self.answer

    def known_namespace(self, name: str) -> JSONObject | None:
        return SHOP if self.known else None


class SilentNamespaces(Namespaces):
    """Never answers."""

    async def namespace(self, name: str) -> JSONObject | Failure:
        self.asked.append(name)
        await asyncio.Event().wait()
        return self.answer


class Params(Ignorant):
    """Knows objects and kinds; what is not there, is not there."""

    def __init__(self, *objects: JSONObject, kinds: tuple[Served, ...] = (LIMIT,)) -> None:
        self.objects = objects
        self.kinds = kinds
        self.asked: list[object] = []

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        self.asked.append(question)
        return tuple(each for each in self.kinds if each.kind == question.kind)

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        self.asked.append(question)
        await asyncio.sleep(0)
        return tuple(
            each
            for each in self.objects
            if each["kind"] == question.kind
            and each["metadata"].get("namespace", "") == question.namespace
            and question.name in ("", each["metadata"]["name"])
        )


class SilentParams(Params):
    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...]:
        await asyncio.Event().wait()
        return ()

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        return AccessDecision(True, "yes")
