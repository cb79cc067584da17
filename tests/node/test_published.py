"""From a registry: containerd pulls the image by digest, Helm installs and upgrades the chart that names it."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.node.installation import (
    NAMESPACE,
    RELEASE,
    Installation,
    first_denial,
    helm,
    managed,
    uninstall,
)
from tests.node.load import Load
from tests.node.machine import Failed, Node, until
from tests.node.report import Report
from tests.publishing.registry import configuration
from tests.shared import ROOT
from tools.image import settings

HOST = "127.0.0.1:5000"  # in the network of the node, where nothing else is
CHARTS = f"{HOST}/team/charts"
CHART = f"oci://{CHARTS}/policyd"
OLDER = "0.0.1"
PUBLISHED_WITHIN = 600.0  # a dozen runs of cosign, on a busy machine


@dataclass(frozen=True, slots=True)
class Published:
    """What is in the registry of a node."""

    node: Node
    image: str

    def helm(self, command: str, version: str) -> None:
        """Install or upgrade the chart of the registry, with values of which none is about the image."""
        words = [command, RELEASE, CHART, "--plain-http", "--version", version]
        more = ["--create-namespace"] if command == "install" else ["--wait", "--timeout", "180s"]
        helm(self.node, *words, *more, values=managed())

    def images(self) -> set[str]:
        pods = self.node.get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=policyd")
        return {each["spec"]["containers"][0]["image"] for each in pods}


@pytest.fixture(scope="module", name="published")
def _published(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """A registry in the network of the node, with image and chart; policyd is not installed."""
    folder = tmp_path_factory.mktemp("registry")
    file = configuration(folder, HOST)
    with suppress(Failed):
        uninstall(node)
    with (folder / "log").open("w") as log:
        server = node.start_process(["registry", "serve", str(file)], log=log)
    try:
        until(lambda: not node.run("crane", "catalog", "--insecure", HOST).status, "the registry")
        image, _ = publish(node, folder)
        push_older(node, folder, image)
        forget(node, image)
        yield Published(node, image)
        uninstall(node)
        node.load(settings.BUILD / f"policyd-{settings.version()}.oci.tar")
    finally:
        server.terminate()
        server.wait()


def publish(node: Node, folder: Path) -> list[str]:
    """Publish image and chart, as a publisher without a network does; both by digest."""
    node.run("env", "COSIGN_PASSWORD=", "cosign", "generate-key-pair", cwd=folder)
    options = ["--key", str(folder / "cosign.key"), "--offline", "--http"]
    command = [sys.executable, "-m", "tools.publish", f"{HOST}/team", *options]
    done = node.run("env", "COSIGN_PASSWORD=", *command, cwd=ROOT, within=PUBLISHED_WITHIN)
    assert done.status == 0, done.err
    return done.out.splitlines()


def forget(node: Node, image: str) -> None:
    """Remove what the node has of this image, by any name, so that all of it is pulled."""
    _, _, digest = image.partition("@")
    images = ["ctr", "-n", "k8s.io", "images"]
    names = [each.split()[0] for each in node.inside(*images, "ls").splitlines() if digest in each]
    assert names, f"{digest} is not what was loaded"
    node.inside(*images, "rm", "--sync", *names)


def push_older(node: Node, folder: Path, image: str) -> None:
    """Push the chart as it was before its last change, for the same image."""
    log = ["git", "log", "--format=%H", "-2", "--", "deploy/chart"]
    found = subprocess.run(log, cwd=ROOT, check=True, capture_output=True, text=True)
    *_, commit = found.stdout.split()
    archive = ["git", "archive", commit, "deploy/chart"]
    with subprocess.Popen(archive, cwd=ROOT, stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "-x", "-C", folder], stdin=packed.stdout, check=True)
    repository, _, digest = image.partition("@")
    values = folder / "deploy/chart/values.yaml"
    text = values.read_text().replace("  repository: policyd\n", f"  repository: {repository}\n")
    values.write_text(text.replace('  digest: ""\n', f"  digest: {digest}\n"))
    for words in (
        ["package", str(values.parent), "--version", OLDER, "--destination", str(folder)],
        ["push", "--plain-http", str(folder / f"policyd-{OLDER}.tgz"), f"oci://{CHARTS}"],
    ):
        done = node.run("helm", *words)
        assert done.status == 0, done.err


def test_install_from_a_registry(published: Published, report: Report) -> None:
    node = published.node
    begin = time.monotonic()
    published.helm("install", settings.version())
    seconds = first_denial(node) - begin
    report.figure("helm install oci:// to the first denied Pod, with the pull", f"{seconds:.1f} s")
    Installation(node).settle()
    assert published.images() == {published.image}
    events = node.get("events", "-n", NAMESPACE, "--field-selector=reason=Pulled")
    assert any(
        f'Successfully pulled image "{published.image}"' in each["message"] for each in events
    )


def test_helm_test(published: Published) -> None:
    printed = helm(published.node, "test", RELEASE, "--timeout", "120s")
    assert "Phase:          Succeeded" in printed


def test_upgrade_from_an_older_chart_and_back(published: Published, report: Report) -> None:
    """Under load: no review is lost, whichever way."""
    node = published.node
    uninstall(node)
    published.helm("install", OLDER)
    first_denial(node)
    Installation(node).settle()

    def upgrade() -> None:
        published.helm("upgrade", settings.version())

    def rollback() -> None:
        helm(node, "rollback", RELEASE, "--wait", "--timeout", "180s")

    for what, change, version in (
        ("upgrade from an older chart", upgrade, settings.version()),
        ("rollback to it", rollback, OLDER),
    ):
        with Load(node, 20) as load:
            time.sleep(2)
            change()
            Installation(node).settle()
        (release,) = json.loads(helm(node, "list", "-o", "json"))
        assert release["chart"] == f"policyd-{version}"
        report.disruption(f"helm {what}", 20, load.outcome)
