"""``serve --policy-configmaps``: the real process, and a fake API server."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

import pytest

from policyd.server.policies.last_good_config_map import LastGoodConfigMap
from tests.builders.config_maps import BROKEN, NAMESPACE, forbidding
from tests.builders.policies import CONFIG_MAPS, policy
from tests.server.config_maps import (
    PolicyCluster,
    flags,
    message,
    policy_cluster,
    reading,
    shown,
)
from tests.server.process import Process, until
from tests.server.serve import DENY, write_policy
from tests.server.waiting import Waiting, started


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PolicyCluster]:
    with policy_cluster(tmp_path) as made:
        yield made


def enforces(server: Process, key: str, end: str) -> bool:
    return message(server, **{key: "x"}).endswith(end)


def test_an_edit_is_enforced_by_all_replicas_on_one_generation(cluster: PolicyCluster) -> None:
    cluster.put("team-b", p=forbidding("one"))
    cluster.put("team-a", p=forbidding("two", "worse"))
    with ExitStack() as stack:
        servers = [
            stack.enter_context(reading(cluster, log=f"server{number}.log")) for number in (1, 2)
        ]
        for server in servers:
            assert message(server, bad="x").endswith("one: no bad")
            assert message(server, worse="x").endswith("two: no worse")
            assert server.get("/readyz") == (200, "ok")
        cluster.put("team-b", p=forbidding("one", "worst"))
        began = time.monotonic()
        for server in servers:
            until(partial(enforces, server, "worst", "one: no worst"), "the edit")
        print(f"enforced by both after {time.monotonic() - began:.2f} s")
        first, second = map(shown, servers)
        assert first["generation"] == second["generation"]
        assert first["configMaps"] == [
            {"name": "configmap/team-a", "resourceVersion": "3", "files": 1},
            {"name": "configmap/team-b", "resourceVersion": "4", "files": 1},
        ]
        assert [each["source"] for each in first["policies"]] == [
            "configmap/team-b/p.yaml",
            "configmap/team-a/p.yaml",
        ]
        assert servers[0].metric('policyd_policy_configmaps{state="current"}') == 2
        assert servers[0].metric('policyd_watch_healthy{watch="configmaps"}') == 1
        assert servers[0].metric('policyd_cluster_cache_objects{cache="configmaps"}') == 2


def test_a_broken_edit_keeps_its_own_config_map_only(cluster: PolicyCluster) -> None:
    cluster.put("a", p=forbidding("one"))
    cluster.put("b", p=forbidding("two", "worse"))
    with reading(cluster) as server:
        cluster.put("b", p=BROKEN)
        until(lambda: not shown(server)["lastReload"]["succeeded"], "the refusal")
        cluster.put("a", p=forbidding("one", "worst"))
        until(lambda: message(server, worst="x"), "the edit of the other team")
        assert message(server, worse="x").endswith("two: no worse")
        assert shown(server)["configMaps"] == [
            {"name": "configmap/a", "resourceVersion": "5", "files": 1},
            {"name": "configmap/b", "resourceVersion": "3", "files": 1, "heldVersion": "4"},
        ]
        assert server.metric('policyd_policy_configmaps{state="held"}') == 1
        said = "the previous content of configmap/b stays in use"
        until(lambda: said in server.lines("reload")[-1]["message"], "the line of the log")
        line = server.lines("reload")[-1]
        assert line["level"] == "error" and line["held"] == ["configmap/b"]
        cluster.put("b", p=forbidding("two", "bad"))
        until(lambda: message(server, bad="x").endswith("two: no bad"), "the corrected edit")
        assert server.metric('policyd_policy_configmaps{state="held"}') == 0


def test_policies_come_from_files_too(cluster: PolicyCluster, tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policies", "filed", DENY).parent
    cluster.put("a", p=forbidding("one"))
    with reading(cluster, "-p", str(folder)) as server:
        assert message(server, forbidden="x") and message(server, bad="x")
        write_policy(folder, "filed", DENY.replace("forbidden", "filed"))
        until(lambda: message(server, filed="x"), "the edited file")
        cluster.remove("a")
        until(lambda: not message(server, bad="x"), "the deletion")
        assert message(server, filed="x")


def test_the_last_state_stays_while_the_api_server_is_away(cluster: PolicyCluster) -> None:
    cluster.put("a", p=forbidding("one"))
    with reading(cluster) as server:
        cluster.away = True
        cluster.labelled.cut()
        until(lambda: server.metric('policyd_watch_healthy{watch="configmaps"}') == 0, "the fault")
        assert message(server, bad="x") and server.get("/readyz") == (200, "ok")
        assert server.metric('policyd_cluster_cache_staleness_seconds{cache="configmaps"}') > 0
        cluster.put("a", p=forbidding("one", "worse"))
        cluster.away = False
        until(lambda: message(server, worse="x"), "the edit made meanwhile")
        until(lambda: server.metric('policyd_watch_healthy{watch="configmaps"}') == 1, "health")


@pytest.fixture
def waiting(cluster: PolicyCluster) -> Iterator[Callable[[], Waiting]]:
    """Start a server that is not ready; it is gone in the end."""
    with ExitStack() as stack:
        log = cluster.server.folder / "waiting.log"
        yield lambda: stack.enter_context(started(flags(cluster), log))


def test_a_start_without_config_maps_accepts_no_requests(
    cluster: PolicyCluster, waiting: Callable[[], Waiting]
) -> None:
    """Whoever deleted them meanwhile: the webhooks are still registered, and an empty set allows."""
    server = waiting()
    said = server.line("waiting")["message"]
    assert said == "not ready: the sources hold no policies, and --allow-empty is not set"
    assert not server.listens()
    cluster.put("a", p=forbidding("one"))
    server.line("listening")


def test_a_start_without_an_api_server_is_not_ready_and_serves_nothing(
    cluster: PolicyCluster, waiting: Callable[[], Waiting]
) -> None:
    cluster.away = True
    server = waiting()
    said = server.line("waiting")["message"]
    assert "not ready: the ConfigMaps of policies could not be read: " in said
    assert "etcd is away" in said and not server.listens()
    cluster.put("a", p=forbidding("one"))
    cluster.away = False
    server.line("listening")
    server.child.terminate()
    assert server.child.wait(300) == 0


def test_a_start_can_be_ended_while_it_waits(
    cluster: PolicyCluster, waiting: Callable[[], Waiting]
) -> None:
    cluster.away = True
    server = waiting()
    until(lambda: cluster.server.calls, "the first request")
    server.child.terminate()
    assert server.child.wait(300) == 0, server.log.read_text()
    assert not server.listens()
    assert '"event":"closed"' not in server.log.read_text(), "there was no client"


def test_broken_policies_at_start_are_waited_for_not_exited_for(
    cluster: PolicyCluster, waiting: Callable[[], Waiting]
) -> None:
    cluster.put("a", p="kind: [")
    server = waiting()
    line = server.line("waiting")
    assert line["message"] == "not ready: no policy could be loaded"
    assert "configmap/a/p.yaml" in line["errors"][0]
    cluster.put("a", p=forbidding("one"))
    server.line("listening")
    assert server.child.poll() is None


KEPT = "configmap/kept"


def test_the_last_good_policies_are_kept_in_a_config_map(cluster: PolicyCluster) -> None:
    cluster.put("a", p=forbidding("one"))
    cluster.put("b", p=forbidding("two", "worse"))
    with reading(cluster, "--last-good", KEPT) as server:
        until(lambda: cluster.writes, "the ConfigMap")
        made = cluster.others["kept"]
        assert made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "policyd"
        assert "policyd.dev/policies" not in made["metadata"]["labels"]
        with reading(cluster, "--last-good", KEPT, log="second.log"):
            pass
        assert cluster.writes == ["kept"]  # the same again is not written
        cluster.put("b", p=BROKEN)
        until(lambda: not shown(server)["lastReload"]["succeeded"], "the refusal")
        generation = shown(server)["generation"]
    with reading(cluster, "--last-good", KEPT) as server:
        assert shown(server)["servesLastGood"] is True
        assert shown(server)["generation"] == generation
        assert message(server, bad="x") and message(server, worse="x")
        line = server.lines("reload")[0]
        assert "the last good policies, kept in configmap/kept, are served" in line["message"]
        cluster.put("a", p=forbidding("one", "worst"))
        until(lambda: message(server, worst="x"), "the edit of the other team")
        assert message(server, worse="x") and shown(server)["servesLastGood"] is False


def test_what_could_not_be_kept_is_kept_later(cluster: PolicyCluster) -> None:
    cluster.refuses_writes = True
    cluster.put("a", p=forbidding("one"))
    with reading(cluster, "--last-good", KEPT) as server:
        (line,) = until(lambda: server.lines("last-good"), "the error")
        assert "configmap/kept cannot be written" in line["message"]
        assert "configmaps are not yours to patch" in line["message"]
        cluster.refuses_writes = False
        until(lambda: cluster.writes, "the ConfigMap")


def test_only_the_replica_that_may_write_writes(cluster: PolicyCluster) -> None:
    may = [False]
    kubeconfig = cluster.server.kubeconfig()
    place = LastGoodConfigMap("kept", NAMESPACE, kubeconfig, 5.0, lambda: may[0])
    assert place.write(b"one") is False and cluster.server.calls == []
    assert place.read() is None
    may[0] = True
    assert place.write(b"one") is True and place.read() == b"one"
    assert place.write(b"one") is True and cluster.writes == ["kept"]
    assert place.write(b"two") is True and place.read() == b"two"


def test_policies_that_do_not_fit_a_config_map_are_an_error_in_the_log(
    cluster: PolicyCluster, tmp_path: Path
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    noise = f"# {Random(0).randbytes(2**20 + 1).hex()}\n"
    (folder / "p.yaml").write_text(noise + json.dumps(policy("one", CONFIG_MAPS)))
    cluster.put("a", p=forbidding("two"))
    with reading(cluster, "--last-good", KEPT, "-p", str(folder)) as server:
        (line,) = until(lambda: server.lines("last-good"), "the error")
        assert "a ConfigMap holds 1048576; keep them in a file" in line["message"]
        assert message(server, bad="x") and cluster.writes == []


@pytest.mark.parametrize("damage", ["?", "bm8=", ""])
def test_a_damaged_config_map_is_said_and_replaced(cluster: PolicyCluster, damage: str) -> None:
    cluster.others["kept"] = {"binaryData": {"policies.gz": damage}}
    cluster.put("a", p=forbidding("one"))
    cluster.put("b", p=BROKEN)
    with reading(cluster, "--last-good", KEPT) as server:
        (line,) = server.lines("last-good")
        assert "configmap/kept cannot be used: its key policies.gz is damaged" in line["message"]
        cluster.put("b", p=forbidding("two"))
        until(lambda: cluster.writes, "the ConfigMap")


def test_the_last_good_file_serves_while_the_api_server_is_away(
    cluster: PolicyCluster, tmp_path: Path
) -> None:
    kept = str(tmp_path / "kept")
    cluster.put("a", p=forbidding("one"))
    with reading(cluster, "--last-good", kept):
        pass
    cluster.away = True
    with reading(cluster, "--last-good", kept) as server:
        assert message(server, bad="x") and server.get("/readyz") == (200, "ok")
        assert shown(server)["servesLastGood"] is True
        assert "could not be read" in shown(server)["lastReload"]["errors"][0]
        cluster.put("a", p=forbidding("one", "worse"))
        cluster.away = False
        until(lambda: message(server, worse="x"), "the ConfigMaps")
        assert shown(server)["servesLastGood"] is False


def test_an_edit_is_enforced_by_all_workers(cluster: PolicyCluster) -> None:
    cluster.put("team-a", p=forbidding("one"))
    with reading(cluster, "--workers", "2") as server:
        until(lambda: server.lines("workers"), "all workers")
        assert server.get("/readyz") == (200, "ok")
        cluster.put("team-a", p=forbidding("one", "worst"))
        until(lambda: server.metric('policyd_reloads_total{result="success"}') == 4, "the edit")
        assert server.metric("policyd_worker_generations") == 1
        for _ in range(6):
            assert enforces(server, "worst", "one: no worst")
