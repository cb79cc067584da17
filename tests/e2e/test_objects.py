"""Objects of a real API server: written as commands do, and followed by list and watch."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from policyd.cluster import kubeconfig as connecting
from policyd.cluster import watching
from policyd.cluster.commands import Objects, open_objects
from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.cluster.watching import Reflector, Watched
from tests.builders.objects import config_map
from tests.cluster.running import first_list
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import kubeconfig_document

SLACK = 20.0


@pytest.fixture
def admin(api: Cluster, tmp_path: Path) -> Path:
    """A kubeconfig of the administrator."""
    folder = api.folder
    document = kubeconfig_document(
        api, *(str(folder / name) for name in ("ca.crt", "admin.crt", "admin.key"))
    )
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def objects(admin: Path) -> Iterator[Objects]:
    with open_objects(admin, None, 5.0) as opened:
        yield opened


def test_objects_are_written_and_read(objects: Objects, namespace: str) -> None:
    folder = f"api/v1/namespaces/{namespace}/configmaps"
    made = objects.create(folder, config_map("a", namespace, {"x": "1"}))
    assert made["metadata"]["managedFields"][0]["manager"] == "policyd"
    made["data"] = {"x": "2"}
    newer = objects.replace(f"{folder}/a", made)
    assert newer["data"] == {"x": "2"}
    with pytest.raises(ObjectError, match="the object has been modified") as caught:
        objects.replace(f"{folder}/a", made)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    with pytest.raises(ObjectError) as caught:
        objects.create(folder, config_map("a", namespace))
    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")
    for conditions in ({"uid": "another"}, {"resource_version": "1"}):
        with pytest.raises(ObjectError) as caught:
            objects.delete(f"{folder}/a", **conditions)
        assert caught.value.reason == "Conflict"
    version = newer["metadata"]["resourceVersion"]
    objects.delete(f"{folder}/a", uid=newer["metadata"]["uid"], resource_version=version)
    with pytest.raises(ObjectError) as caught:
        objects.get(f"{folder}/a")
    assert (caught.value.status, caught.value.reason) == (404, "NotFound")


def test_server_side_apply(objects: Objects, namespace: str) -> None:
    path = f"api/v1/namespaces/{namespace}/configmaps/b"

    def applied(value: str, manager: str, **options: bool) -> Any:
        wanted = config_map("b", namespace, {"x": value})
        return objects.apply(path, wanted, manager, **{"force": False, **options})["data"]

    assert applied("1", "one", dry_run=True) == {"x": "1"}
    with pytest.raises(ObjectError, match="not found"):
        objects.get(path)
    assert applied("1", "one") == {"x": "1"}
    assert applied("1", "one") == {"x": "1"}
    with pytest.raises(ObjectError, match="conflict with") as caught:
        applied("2", "two")
    assert caught.value.reason == "Conflict"
    assert applied("2", "two", force=True) == {"x": "2"}
    with pytest.raises(ObjectError) as caught:
        objects.apply(path, {**config_map("b", namespace), "dat": {}}, "one", force=True)
    assert caught.value.status == 500  # what the API server says of unknown fields
    assert ".dat: field not declared in schema" in str(caught.value)


def test_a_collection_is_deleted_by_a_selector(objects: Objects, namespace: str) -> None:
    folder = f"api/v1/namespaces/{namespace}/configmaps"
    for name in ("a", "b", "c"):
        made = config_map(name, namespace)
        made["metadata"]["labels"] = {"mine": "no" if name == "b" else "yes"}
        objects.create(folder, made)
    objects.delete_collection(folder, "mine=yes")
    pages = [*objects.list_pages(folder)]
    assert [each["metadata"]["name"] for page in pages for each in page["items"]] == ["b"]


@asynccontextmanager
async def following(admin: Path, at: Watched) -> AsyncIterator[Reflector]:
    made = ObjectClient(connecting.configuration(admin), 5.0)
    reflector, stop = Reflector(made, at), asyncio.Event()
    task = asyncio.create_task(reflector.run(stop))
    try:
        assert await first_list(reflector), reflector.problem
        yield reflector
    finally:
        stop.set()
        await task
        await made.close()


async def becoming(condition: Callable[[], object], what: str) -> float:
    """Wait; how long that took."""
    began = perf_counter()
    while not condition():
        assert perf_counter() < began + SLACK, what
        await asyncio.sleep(0.001)
    return perf_counter() - began


@pytest.mark.parametrize("metadata_only", [False, True])
def test_a_list_is_followed(
    admin: Path,
    client: Client,
    namespace: str,
    metadata_only: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "PAGE", 3)
    for number in range(10):
        client.made(config_map(f"n{number}", namespace, {"x": "1"}))
    path = f"api/v1/namespaces/{namespace}/configmaps"

    async def scenario() -> None:
        async with following(admin, Watched(path, metadata_only=metadata_only)) as reflector:
            assert len(reflector.objects) == 10
            one = reflector.objects[namespace, "n1"]
            assert one["metadata"]["resourceVersion"]
            assert one.get("data") == (None if metadata_only else {"x": "1"})
            assert one["kind"] == ("PartialObjectMetadata" if metadata_only else "ConfigMap")
            client.made(config_map("more", namespace))
            took = await becoming(lambda: len(reflector.objects) == 11, "the new one")
            print(f"created to known: {1000 * took:.1f} ms")
            client.replace(config_map("n1", namespace, {"x": "2"}))
            await becoming(lambda: reflector.objects[namespace, "n1"] != one, "the change")
            client.deleted(config_map("n2", namespace))
            await becoming(lambda: (namespace, "n2") not in reflector.objects, "the deletion")
            assert (reflector.problem, reflector.staleness) == ("", 0.0)

    asyncio.run(scenario())


def test_the_api_server_ends_a_watch_of_its_own(
    admin: Path, client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """timeoutSeconds is what it goes by, and its last bookmark is where the next watch begins."""
    monkeypatch.setattr(watching, "WATCH_SECONDS", (1.0, 1.0))
    begun: list[str] = []

    async def scenario() -> None:
        path = f"api/v1/namespaces/{namespace}/configmaps"
        async with following(admin, Watched(path)) as reflector:
            stream = reflector.client.stream

            def counted(path: str, *request: Any) -> Any:
                begun.append(path)
                return stream(path, *request)

            monkeypatch.setattr(reflector.client, "stream", counted)
            await becoming(lambda: len(begun) > 2, "watches")
            client.made(config_map("late", namespace))
            await becoming(lambda: reflector.objects, "the new one")
            assert reflector.problem == ""

    asyncio.run(scenario())


def test_a_selector_sees_objects_come_and_go(admin: Path, client: Client, namespace: str) -> None:
    async def scenario() -> None:
        path = f"api/v1/namespaces/{namespace}/configmaps"
        async with following(admin, Watched(path, "a=b")) as reflector:
            made = config_map("it", namespace)
            client.made(made)
            made["metadata"]["labels"] = {"a": "b"}
            client.replace(made)
            await becoming(lambda: reflector.objects, "the selected")
            made["metadata"]["labels"] = {"a": "c"}
            client.replace(made)
            await becoming(lambda: not reflector.objects, "it to leave")

    asyncio.run(scenario())
