"""An API server that ends and starts again: what is kept of it stays, and is followed on."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from policyd.cluster import kubeconfig as connecting
from policyd.cluster import watching
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched
from tests.builders.objects import config_map
from tests.cluster.running import first_list
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.restarting import Restarting

SLACK = 60.0
PATH = "api/v1/namespaces/default/configmaps"


def kubeconfig(api: Cluster) -> Path:
    files = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    file = api.folder / "kubeconfig"
    file.write_text(json.dumps(kubeconfig_document(api, *files)))
    return file


async def until(condition: Callable[[], object], what: str) -> float:
    """Wait; how long that took."""
    began = perf_counter()
    while not condition():
        assert perf_counter() < began + SLACK, what
        await asyncio.sleep(0.005)
    return perf_counter() - began


@pytest.mark.usefixtures("api")  # which skips where there is no API server
def test_a_list_is_followed_through_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LONGEST_PAUSE_SECONDS", 1.0)
    server = Restarting(tmp_path)

    def write(api: Cluster, name: str) -> None:
        client = Client(api)
        client.made(config_map(name, "default"))
        client.close()

    async def scenario(api: Cluster) -> None:
        made = ObjectClient(connecting.configuration(kubeconfig(api)), 5.0)
        reflector, stop = Reflector(made, Watched(PATH)), asyncio.Event()
        task = asyncio.create_task(reflector.run(stop))
        assert await first_list(reflector), reflector.problem
        await asyncio.to_thread(server.stop)
        await until(lambda: reflector.problem, "the loss")
        assert ("default", "before") in reflector.objects
        assert reflector.usable
        assert reflector.staleness > 0
        api = await asyncio.to_thread(server.start)
        took = await until(lambda: not reflector.problem, "the API server")
        await asyncio.to_thread(write, api, "after")
        await until(lambda: ("default", "after") in reflector.objects, "the event")
        print(f"ready to followed again: {took:.2f} s")
        stop.set()
        await task
        await made.close()

    with server.store():
        api = server.start()
        write(api, "before")
        asyncio.run(scenario(api))
