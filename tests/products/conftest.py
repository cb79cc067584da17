"""A real API server with the real Kyverno or Gatekeeper: once for all tests of a module.

The tests run with ``POLICYD_PRODUCTS=1`` (``make products`` sets it); otherwise they are skipped.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, cluster

RUN = "POLICYD_PRODUCTS"


@pytest.fixture(scope="module", autouse=True)
def _asked_for() -> None:
    if os.environ.get(RUN) != "1":
        pytest.skip(f"needs Kyverno and Gatekeeper: run `make products`, or set {RUN}=1")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("product")


@pytest.fixture(scope="module")
def api(_asked_for: None, logs: Path) -> Iterator[Cluster]:
    with cluster(logs) as running:
        yield running


@pytest.fixture(scope="module")
def client(api: Cluster) -> Iterator[Client]:
    made = Client(api)
    yield made
    made.close()
