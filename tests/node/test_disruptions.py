"""Nothing is lost, and nothing wrongly admitted, whatever happens to the replicas.

Half of the Pods of each stream are bad. A create that policyd did not decide is refused by the API
server (failurePolicy Fail), and counts as lost.
"""

import time
from collections.abc import Callable

from tests.node.installation import REPLICAS, SELECTOR, Installation
from tests.node.load import Load
from tests.node.machine import until
from tests.node.report import Report


def under(
    policyd: Installation, report: Report, what: str, rate: float, disrupt: Callable[[], object]
) -> None:
    """Disrupt under a stream of creates, wait until all is as before, and count."""
    with Load(policyd.node, rate) as load:
        time.sleep(2)
        disrupt()
        policyd.settle()
    report.disruption(what, rate, load.outcome)


def test_rolling_restart(policyd: Installation, report: Report) -> None:
    under(policyd, report, "rolling restart", 20, lambda: restart(policyd))


def test_three_restarts_in_a_row(policyd: Installation, report: Report) -> None:
    def thrice() -> None:
        for _ in range(3):
            restart(policyd)

    under(policyd, report, "three restarts in a row", 100, thrice)


def restart(policyd: Installation) -> None:
    policyd.kubectl("rollout", "restart", "deployment/policyd")
    policyd.kubectl("rollout", "status", "deployment/policyd", "--timeout=120s")


def test_killed_replica(policyd: Installation, report: Report) -> None:
    """The kubelet restarts the container; until then its connections are refused."""
    before = policyd.processes()

    def kill() -> None:
        policyd.node.inside("kill", "-KILL", before[0])
        until(lambda: len({*policyd.processes()} - {*before}) == 1, "the new process")

    under(policyd, report, "kill -9 of a replica", 20, kill)


def test_pod_deleted_by_force(policyd: Installation, report: Report) -> None:
    name = policyd.names()[0]
    under(
        policyd,
        report,
        "a Pod deleted by force",
        20,
        lambda: policyd.kubectl("delete", "pod", name, "--force", "--grace-period=0"),
    )


def test_all_replicas_deleted_at_once(policyd: Installation, report: Report) -> None:
    """The old Pods serve until new ones are ready, although all of them are terminating."""
    under(
        policyd,
        report,
        "all replicas deleted at once",
        20,
        lambda: policyd.kubectl("delete", "pods", "-l", SELECTOR, "--wait=false"),
    )


def test_drain_of_the_node(policyd: Installation, report: Report) -> None:
    """The PodDisruptionBudget keeps all replicas but one on the only node there is."""

    def drain() -> None:
        command = ["drain", "node", "--delete-emptydir-data", "--pod-selector", SELECTOR]
        done = policyd.node.run("kubectl", *command, "--timeout=20s")
        assert done.status
        assert "Cannot evict pod as it would violate the pod's disruption budget" in done.err
        running = [each for each in policyd.pods() if each["status"]["phase"] == "Running"]
        assert len(running) >= REPLICAS - 1
        policyd.node.kubectl("uncordon", "node")

    under(policyd, report, "drain of the node", 20, drain)


def test_scaled_down_and_up(policyd: Installation, report: Report) -> None:
    def scale() -> None:
        for replicas in (1, REPLICAS):
            policyd.kubectl("scale", "deployment/policyd", f"--replicas={replicas}")
            policyd.kubectl("rollout", "status", "deployment/policyd", "--timeout=120s")
            until(lambda count=replicas: len(policyd.names()) == count, "the Pods")  # type: ignore[misc]

    under(policyd, report, "scaled to one and back", 20, scale)
