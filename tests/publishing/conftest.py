"""What ``python -m tools.publish`` pushed to a registry of this machine: once for all tests here.

The tests run with ``POLICYD_REHEARSAL=1`` (``make rehearsal`` sets it); otherwise they are skipped.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.publishing import registry
from tests.publishing.registry import Tools
from tools.image import settings

RUN = "POLICYD_REHEARSAL"
SOURCE = "git+https://example.com/policyd"


@dataclass(frozen=True, slots=True)
class Published:
    """Where image and chart are."""

    host: str
    image: str
    chart: str


@pytest.fixture(scope="session", autouse=True)
def _asked_for() -> None:
    if os.environ.get(RUN) != "1":
        pytest.skip(f"needs an image and a registry: run `make rehearsal`, or set {RUN}=1")


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def published(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    archive = settings.BUILD / f"policyd-{settings.version()}.oci.tar"
    assert archive.exists(), "run make image"
    with registry.running(tmp_path_factory.mktemp("registry")) as host:
        yield publish(tools, host)


def publish(tools: Tools, host: str, key: str = "release") -> Published:
    """Run the command, with a key of this name."""
    tools.key(key)
    options = ["--key", str(tools.home / f"{key}.key"), "--offline", "--http"]
    command = [sys.executable, "-m", "tools.publish", f"{host}/team", "--source", SOURCE]
    image, chart = tools.output(*command, *options).splitlines()
    return Published(host, image, chart)


@pytest.fixture
def chart(tools: Tools, published: Published, tmp_path: Path) -> Path:
    """The package of the chart, pulled by helm."""
    address, _, _ = published.chart.partition("@")
    words = ["helm", "pull", "--plain-http", f"oci://{address}", "--version", settings.version()]
    tools.output(*words, "--destination", str(tmp_path))
    return tmp_path / f"policyd-{settings.version()}.tgz"
