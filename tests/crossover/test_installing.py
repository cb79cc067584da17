"""What a run created is removed, or named. The real API server is in tests/e2e/test_crossover.py."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.json_types import JSONObject
from tests.builders.policies import vap, vap_binding
from tools.crossover.installing import Installation
from tools.crossover.model import Arrangement
from tools.crossover.planning import CrossoverPlan, namespace_object, placed_documents

EMPTY = Arrangement("none", None, "n")
PLAN = CrossoverPlan(
    "r",
    (EMPTY,),
    (namespace_object("n", "r"),),
    tuple(placed_documents([vap(), vap_binding()], "r", "n")),
    (),
)
Failing = Callable[[str, str], ObjectError | None]


class Remembering:
    """An API server that stores what is created; ``fail`` says which request fails."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.deleted: list[str] = []
        self.fail: Failing = lambda method, path: None

    async def create(self, path: str, body: JSONObject, *, dry_run: bool = False) -> JSONObject:
        await self._requested("POST", path)
        if not dry_run:
            self.stored.append(f"{path}/{body['metadata']['name']}")
        return body

    async def delete(self, path: str) -> JSONObject:
        await self._requested("DELETE", path)
        if path not in self.stored:
            raise ObjectError("gone", 404, "NotFound")
        self.stored.remove(path)
        self.deleted.append(path)
        return {}

    async def _requested(self, method: str, path: str) -> None:
        await asyncio.sleep(0)
        error = self.fail(method, path)
        if error is not None:
            raise error


class Run:
    """An installation, and what it reported."""

    def __init__(self) -> None:
        self.server = Remembering()
        self.reports: list[str] = []
        client = cast(ObjectClient, self.server)
        self.installation = Installation(client, "r", self.reports.append)

    async def install(self) -> None:
        await self.installation.namespaces(PLAN, [])
        await self.installation.policies(PLAN, [])


@pytest.fixture
def run() -> Run:
    return Run()


def failing(method: str, part: str, status: int) -> Failing:
    def fail(requested: str, path: str) -> ObjectError | None:
        failed = requested == method and part in path
        return ObjectError("no", status) if failed else None

    return fail


def test_the_last_is_removed_first(run: Run) -> None:
    async def scenario() -> None:
        await run.install()
        created = run.server.stored.copy()
        assert len(created) == 5
        await run.installation.remove()
        assert run.server.deleted == created[::-1]

    asyncio.run(scenario())
    assert run.reports == []


def test_what_is_gone_already_is_no_error(run: Run) -> None:
    async def scenario() -> None:
        await run.install()
        run.server.stored.clear()
        await run.installation.remove()

    asyncio.run(scenario())
    assert run.reports == []


def test_an_object_whose_answer_is_lost_is_removed_too(run: Run) -> None:
    async def scenario() -> None:
        path = "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        run.server.fail = failing("POST", path, 0)
        with pytest.raises(ObjectError):
            await run.install()
        run.server.fail = lambda method, requested: None
        lost = f"{path}/{PLAN.documents[0]['metadata']['name']}"
        run.server.stored.append(lost)  # it was created all the same
        await run.installation.remove()
        assert lost in run.server.deleted
        assert run.server.stored == []

    asyncio.run(scenario())


def test_a_removal_that_is_refused_does_not_keep_the_others(run: Run) -> None:
    async def scenario() -> None:
        await run.install()
        run.server.fail = failing("DELETE", "bindings/", 403)
        await run.installation.remove()

    asyncio.run(scenario())
    assert [path for path in run.server.stored if "bindings/" not in path] == []
    assert run.reports[-1] == (
        "2 objects are left; remove them with: "
        "kubectl delete validatingadmissionpolicybindings -l policyd.dev/crossover=r"
    )


def test_without_an_answer_what_is_left_is_named_at_once(run: Run) -> None:
    requests: list[str] = []

    def unreachable(method: str, path: str) -> ObjectError:
        requests.append(path)
        return ObjectError("the API server cannot be reached")

    async def scenario() -> None:
        await run.install()
        run.server.fail = unreachable
        await run.installation.remove()

    asyncio.run(scenario())
    assert len(requests) == 1
    assert run.reports[-1] == (
        "5 objects are left; remove them with: kubectl delete validatingadmissionpolicybindings,"
        "validatingadmissionpolicies,namespaces -l policyd.dev/crossover=r"
    )


def test_what_is_left_when_the_removal_is_cancelled_is_named(run: Run) -> None:
    async def scenario() -> None:
        await run.install()
        removing: asyncio.Task[Any] = asyncio.create_task(run.installation.remove())
        while len(run.server.deleted) < 2:
            await asyncio.sleep(0)
        removing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await removing

    asyncio.run(scenario())
    assert run.reports[-1].startswith("3 objects are left; remove them with: kubectl delete ")
