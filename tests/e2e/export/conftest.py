"""What the tests of exported policies share."""

from collections.abc import Iterator

import pytest

from tests.conformance.apiserver_rows import recorded
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.differential.rows import FILES, Row, defined


@pytest.fixture(name="client", scope="package")
def _client(api: Cluster) -> Iterator[Client]:
    client = Client(api)
    yield client
    client.close()


@pytest.fixture(name="rows", scope="package")
def _rows(api: Cluster) -> dict[str, list[Row]]:
    return {name: recorded(name, api.version) for name in FILES}


@pytest.fixture(name="definitions", scope="package", autouse=True)
def _definitions(client: Client, rows: dict[str, list[Row]]) -> Iterator[None]:
    """The kinds of the rows, from the first test on: the API server takes half a minute to find them,
    in which other tests can run.
    """
    with defined(client, rows):
        yield
