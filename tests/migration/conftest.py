"""A server that serves a cluster with other engines, and imports of it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from tests.cluster.contents import Contents
from tests.cluster.fake import ApiServer, api_server
from tests.migration.engines import SERVED_WITH_ENGINES

Run = Callable[..., Result]


@pytest.fixture
def contents() -> Contents:
    return Contents(served=SERVED_WITH_ENGINES)


@pytest.fixture
def server(tmp_path: Path, contents: Contents) -> Iterator[ApiServer]:
    (tmp_path / "server").mkdir()
    with api_server(tmp_path / "server", contents.answer) as running:
        yield running


@pytest.fixture
def run(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on the cluster; whatever happens, nothing but reading is requested."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Result:
        done = CliRunner().invoke(policyd, arguments)
        assert {call.method for call in server.calls} <= {"GET"}
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return invoke
