"""``policyd serve`` that follows what policies read: reloads, bounds, metrics, and life without them."""

from pathlib import Path

import pytest

from tests.cluster.fake import refusal
from tests.server.cluster.reading_servers import (
    FEW_PODS,
    FREE,
    KIND,
    NEITHER,
    Cluster,
    generation,
    known_kinds,
    message,
    metric,
    ready,
    serving,
    write,
)
from tests.server.process import until


def test_objects_are_followed_and_counted(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.ingress("a", "x.example.com")
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        assert message(server) == ""
        assert metric(server, "usable") == metric(server, "objects") == 1
        size = metric(server, "bytes")
        cluster.ingress("b", "shop.example.com")
        until(lambda: "taken" in message(server), "the event")
        cluster.ingress("wrong", 5)
        until(lambda: metric(server, "key_errors") == 1, "the error of a key")
        assert metric(server, "objects") == 3
        assert metric(server, "events_total") == 2
        assert metric(server, "bytes") > size > 500
        assert metric(server, "staleness_seconds") == 0
        cluster.ingresses.remove("b", "store")
        until(lambda: message(server) == "", "the deletion")
        write(tmp_path, NEITHER)
        until(cluster.ingresses.abandoned, "the end of the watch")
        until(lambda: f'kind="{KIND}"' not in server.get("/metrics")[1], "no series")


def test_a_set_with_new_reads_is_used_when_they_are_known(tmp_path: Path) -> None:
    cluster = Cluster()
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        cluster.open.clear()
        cluster.pods.put("p", "shop", spec={"nodeName": "x"})
        cluster.ingress("b", "shop.example.com")
        until(lambda: "taken" in message(server), "the event")
        write(tmp_path, FREE, FEW_PODS)
        before = generation(server)
        until(lambda: known_kinds(server) == 2, "the new read")
        assert metric(server, "usable", "Pod.v1") == 0
        assert message(server) == "policy 'wants' denied request: taken"  # at once, by the old set
        cluster.open.set()
        until(lambda: generation(server) != before, "the new set")
        assert "policy 'pods' denied request: taken" in message(server)
        write(tmp_path, FEW_PODS)
        until(cluster.ingresses.abandoned, "the end of the other watch")
        assert message(server) == "policy 'pods' denied request: taken"


def test_a_set_does_not_wait_for_ever(tmp_path: Path) -> None:
    cluster = Cluster()
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        cluster.open.clear()
        before = generation(server)
        write(tmp_path, FREE, FEW_PODS)
        until(lambda: generation(server) != before, "ten seconds")
        cluster.open.set()
        until(lambda: message(server) == "", "the list")


@pytest.mark.parametrize("what", ["list", "watch"])
def test_without_permission_the_failure_policy_decides(tmp_path: Path, what: str) -> None:
    cluster = Cluster()
    cluster.ingresses.refused[what] = refusal(403, f"policyd may not {what}")
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the refusal")
        until(lambda: f"policyd may not {what}" in message(server), "the reason")
        assert "reads.i (Ingress): " in message(server)
        assert metric(server, "usable") == 0
        cluster.ingresses.refused.clear()
        until(lambda: message(server) == "", "the permission", 60)
        assert metric(server, "usable") == 1


def test_objects_that_take_too_much_memory_are_given_up(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.ingress("a", "x.example.com")
    for at in range(100):
        cluster.pods.put(f"p{at}", "shop", spec={"nodeName": "y" * 20_000})
    flags = ("--max-read-bytes", "1MiB")
    with serving(tmp_path, cluster, FREE, FEW_PODS, flags=flags) as server:
        until(lambda: ready(server), "the first lists")
        until(lambda: metric(server, "usable", "Pod.v1") == 0, "the end of it")
        wrong = message(server)
        assert "reads.pods (Pod): they take more memory than --max-read-bytes (1 MiB)" in wrong
        (line,) = until(lambda: server.lines("cluster"), "a line of the log")
        assert line["message"] == (
            "cannot follow reads (policies that read these objects cannot be evaluated): they take "
            "more memory than --max-read-bytes (1 MiB) leaves for them next to the other reads"
        )
        cluster.ingress("b", "shop.example.com")
        until(lambda: "policy 'wants' denied request: taken" in message(server), "other reads")
        assert metric(server, "usable") == 1
        assert metric(server, "bytes") < 10_000
