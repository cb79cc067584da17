"""Which Kubernetes version a server evaluates as: that of its cluster, for as long as it runs."""

import asyncio
from collections.abc import Iterator
from io import BytesIO
from itertools import count
from pathlib import Path

import pytest

from policyd.cluster import connect
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.server.cluster.live_caches import LiveCaches
from policyd.server.cluster.live_definitions import PAUSE_SECONDS, LiveDefinitions
from tests.cluster.fake import ApiServer, Reply, api_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    with api_server(tmp_path, lambda call: Reply({}, 404)) as made:
        yield made


@pytest.fixture
def sink() -> BytesIO:
    """What is logged."""
    return BytesIO()


@pytest.fixture
def live(server: ApiServer, sink: BytesIO) -> Iterator[LiveDefinitions]:
    client = connect(server.kubeconfig(), 2.0)
    log = Log(sink, "text")
    now = count(0.0, PAUSE_SECONDS)
    made = LiveDefinitions(
        LiveCaches(client, 2.0, log, 2**20),
        2.0,
        PrometheusRecorder(log),
        log,
        clock=lambda: next(now),
    )
    yield made
    made.close()


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("v1.37.1", ("1.37", "")),
        ("v1.34.8-eks-1234", ("1.34", "")),
        ("v1.41.0", ("1.38", "which is newer than supported (1.30 to 1.38)")),
        ("v1.29.3", ("1.30", "which is older than supported")),
        ("dev", ("1.37", "is not known (it reported 'dev')")),
        ("", ("1.37", "is not known (the API server answered 404")),
    ],
)
def test_the_version_of_the_cluster_is_used(
    server: ApiServer, live: LiveDefinitions, sink: BytesIO, said: str, outcome: tuple[str, str]
) -> None:
    used, warning = outcome
    server.version = said
    assert str(live.version()) == used
    lines = sink.getvalue()
    assert warning in lines.decode()
    assert bool(lines) == bool(warning)
    assert str(live.version()) == used
    assert sink.getvalue() == lines  # said once


def test_what_the_cluster_said_last_holds_while_it_is_silent(
    server: ApiServer, live: LiveDefinitions, sink: BytesIO
) -> None:
    server.version = "v1.35.2"
    assert str(live.version()) == "1.35"
    server.version = ""
    assert str(live.version()) == "1.35"
    assert sink.getvalue() == b""


def test_an_upgrade_is_noticed(server: ApiServer, live: LiveDefinitions) -> None:
    server.version = "v1.36.3"
    assert str(live.version()) == "1.36"
    assert not any(looked(live, 24))
    server.version = "v1.37.1"
    assert looked(live, 12).count(True) == 1
    assert str(live.version()) == "1.37"
    assert not any(looked(live, 24))


def looked(live: LiveDefinitions, times: int) -> list[bool]:
    """Whether each of these checks found a change."""

    async def checks() -> list[bool]:
        return [await live._changed() for _ in range(times)]

    return asyncio.run(checks())
