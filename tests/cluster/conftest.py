"""A separate API server for each test in this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.fake import ApiServer, api_server, status
from tests.cluster.watched import WatchedList


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    with api_server(tmp_path, lambda _: status(True)) as running:
        yield running


@pytest.fixture
def watched(server: ApiServer) -> Iterator[WatchedList]:
    """What clients of the server list and watch."""
    made = WatchedList()
    server.answer = made.answer
    yield made
    made.close()
