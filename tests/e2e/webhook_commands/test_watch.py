"""``policyd webhooks watch`` keeps configurations of a real API server in step."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.builders.policies import CONFIG_MAPS, PODS, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.rights import bound, role
from tests.e2e.webhook import write
from tests.e2e.webhook_commands.stored_configurations import (
    API,
    MUTATING,
    VALIDATING,
    stored,
    within,
)
from tests.server.process import until
from tests.shared import ROOT

Popen = subprocess.Popen[bytes]


@contextmanager
def watching(folder: Path, kubeconfig: Path, log: Path, *flags: str) -> Iterator[Popen]:
    """`policyd webhooks watch` as a process."""
    command = [sys.executable, "-m", "policyd", "webhooks", "watch", "-p", str(folder)]
    command += [*flags, "--kubeconfig", str(kubeconfig), "--force-conflicts"]
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, stderr=output, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def test_watch_places_policies_and_restores_them(
    api: Cluster, name: str, admin: Path, tmp_path: Path, flags: list[str]
) -> None:
    path = f"{API}/validatingadmissionpolicybindings/{name}"
    placed = within(name, CONFIG_MAPS, name=name)
    folder = write(tmp_path / "policies", [placed])
    log = tmp_path / "watch.log"
    given = ["--name", name, "--in-tree", "auto", *flags]
    with watching(folder, admin, log, *given) as running:
        until(lambda: api.call("GET", path)[0] == 200, "the binding")
        # Policies that change end the wait for the API servers.
        write(folder, [placed, within(name, rule("secrets"), name="slow", timeoutSeconds=1)])
        until(lambda: "secrets" in str(api.call("GET", f"{API}/{VALIDATING}/{name}")), "the rules")
        assert api.call("DELETE", path)[0] == 200
        until(lambda: "configmaps" in str(api.call("GET", f"{API}/{VALIDATING}/{name}")), "it")
        write(folder, [placed])
        until(lambda: api.call("GET", path)[0] == 200, "the repair")
        write(folder, [within(name, CONFIG_MAPS, name=name, timeoutSeconds=1)])
        until(lambda: api.call("GET", path)[0] == 404, "the end of the binding")
        assert "configmaps" in str(stored(api, VALIDATING, name)["webhooks"][0]["rules"])
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0
    assert "Traceback" not in log.read_text()


def test_watch_follows_policies_and_drift(
    api: Cluster, name: str, admin: Path, tmp_path: Path, flags: list[str]
) -> None:
    folder = write(tmp_path / "policies", [within(name)])
    log = tmp_path / "watch.log"

    def rules() -> Any:
        status, found = api.call("GET", f"{API}/{VALIDATING}/{name}")
        return [r["resources"] for r in found["webhooks"][0]["rules"]] if status == 200 else None

    with watching(folder, admin, log, "--name", name, *flags) as running:
        until(lambda: "watching" in log.read_text(), "the watch")
        assert rules() == [["pods"]]
        write(folder, [within(name, PODS, CONFIG_MAPS)])
        until(lambda: rules() == [["configmaps", "pods"]], "the new rules")
        # Somebody changes and deletes it.
        found = stored(api, VALIDATING, name)
        found["webhooks"][0]["rules"] = [{**rule("secrets"), "scope": "*"}]
        assert api.call("PUT", f"{API}/{VALIDATING}/{name}", found)[0] == 200
        until(lambda: rules() == [["configmaps", "pods"]], "the rules being restored")
        assert api.call("DELETE", f"{API}/{VALIDATING}/{name}")[0] == 200
        until(lambda: rules() == [["configmaps", "pods"]], "the configuration being restored")
        # Invalid policies change nothing.
        write(folder, [within(name, validations=[{"expression": "1 +"}])])
        until(lambda: "are invalid" in log.read_text(), "the error")
        assert rules() == [["configmaps", "pods"]]
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
        assert log.read_text().splitlines()[-1].endswith("the configurations stay as they are")
        assert rules() == [["configmaps", "pods"]]


def test_watch_reports_that_it_may_not_watch(
    client: Client, name: str, kubeconfig: Path, tmp_path: Path, flags: list[str]
) -> None:
    """A user who may write the configurations, and not watch them."""
    writing = role(
        "only-writing",
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": [VALIDATING, MUTATING],
            "verbs": ["get", "create", "patch", "delete"],
        },
    )
    folder = write(tmp_path / "policies", [within(name)])
    log = tmp_path / "watch.log"
    with ExitStack() as stack:
        for each in (writing, bound(writing, "User", "policyd")):
            client.made(each)
            stack.callback(client.deleted, each)
        running = stack.enter_context(watching(folder, kubeconfig, log, "--name", name, *flags))
        until(lambda: log.read_text().count("cannot watch them") == 2, "both errors")
        assert f'cannot list resource "{VALIDATING}"' in log.read_text()
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
