"""Nothing that happens to policyd fails a request of a real API server: reload, restart."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy
from tests.e2e.balancer import balancer
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.load import Load, load
from tests.e2e.webhook import counted, registered, serving, write
from tests.server.process import Process, until


def stamped(value: str) -> list[JSONObject]:
    """Policies that label what they see, and demand that label of what was seen."""
    same = demand("object.metadata.labels.stamp.matches('^v[0-9]$')", "no stamp")
    return [
        policy("stamp", CONFIG_MAPS, mutations=[labelling("stamp", f"'{value}'")]),
        policy("stamped", CONFIG_MAPS, validations=[same]),
    ]


def stamps(load: Load) -> set[str]:
    return {each.body["metadata"]["labels"]["stamp"] for each in load.answers}


def last_stamp(load: Load, value: str) -> bool:
    return bool(load.answers[-1].body["metadata"]["labels"]["stamp"] == value)


def test_reloads_fail_no_request(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "policies", stamped("v0"))
    with (
        serving(api, [folder], tmp_path / "log") as server,
        registered(api, server, namespace),
        load(api, namespace) as running,
    ):
        for value in ("v1", "v2", "v3"):
            write(folder, stamped(value))
            until(partial(last_stamp, running, value), value)
        (folder / "policies.yaml").write_text("broken: [")
        until(lambda: server.metric('policyd_reloads_total{result="error"}') == 1, "the refusal")
        until(running.more(20), "the former set in use")
        running.stop()
        assert running.failures == []
        assert stamps(running) == {"v0", "v1", "v2", "v3"}
        assert last_stamp(running, "v3")


@pytest.mark.parametrize("name", ["policyd", "hypercorn"])
def test_a_rolling_restart_fails_no_request(
    api: Cluster, client: Client, namespace: str, tmp_path: Path, name: str
) -> None:
    """SIGTERM, then new connections go elsewhere, as when a Service takes a pod out."""
    folder = write(tmp_path / "policies", stamped("v1"))
    with (
        serving(api, [folder], tmp_path / "old.log", drain="2s", server=name) as old,
        serving(api, [folder], tmp_path / "new.log", drain="2s", server=name) as new,
        balancer(old.port) as service,
        registered(api, old, namespace, service.port),
        load(api, namespace) as running,
    ):
        old.child.terminate()
        until(lambda: old.lines("draining"), "the drain")
        assert old.get("/readyz") == (200, "ok")
        until(running.more(10), "answers while draining")
        service.backend = new.port
        assert old.child.wait(20) == 0
        until(running.more(50), "answers of the next process")
        running.stop()
        assert running.failures == []
        assert requests(new) > 0


def test_restarts_one_after_another_reset_no_connection(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """Each SIGTERM meets requests on their way, over connections that the API server keeps."""
    folder = write(tmp_path / "policies", stamped("v1"))

    def start(stack: ExitStack, number: int) -> Process:
        return stack.enter_context(serving(api, [folder], tmp_path / f"{number}.log", drain="1s"))

    with ExitStack() as stack:
        old = start(stack, 0)
        service = stack.enter_context(balancer(old.port))
        stack.enter_context(registered(api, old, namespace, service.port))
        running = stack.enter_context(load(api, namespace, clients=24))
        for number in range(1, 5):
            new = start(stack, number)
            service.backend = new.port
            assert old.terminate() == 0
            until(running.more(50), "answers of the next process")
            assert requests(new) > 0
            old = new
        running.stop()
        assert running.failures == []


def requests(server: Process) -> float:
    """Reviews answered without an error."""
    assert counted(server, 'result="error"') == 0
    return counted(server, 'result="')
