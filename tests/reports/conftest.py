"""A server that serves objects and their reports, and runs of ``policyd report`` against it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.fake import ApiServer, api_server
from tests.reports.reporting import Reporter, Reporting


@pytest.fixture
def contents() -> Reporting:
    made = Reporting()
    made.add("/api/v1/namespaces", "shop", metadata={"labels": {"env": "prod"}})
    made.add("/api/v1/namespaces", "mail")
    return made


@pytest.fixture
def server(tmp_path: Path, contents: Reporting) -> Iterator[ApiServer]:
    with api_server(tmp_path, contents.answer) as running:
        yield running


@pytest.fixture
def report(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reporter:
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
    return Reporter(server, tmp_path)
