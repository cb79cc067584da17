"""``policyd lint --cluster`` on a cluster with other engines."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.cluster.contents import Contents
from tests.cluster.fake import ApiServer, api_server
from tests.leftovers.installed import Kyverno
from tests.migration.engines import SERVED_WITH_ENGINES

Lint = Callable[..., Result]
Findings = Callable[..., list[JSONObject]]


@pytest.fixture
def contents() -> Contents:
    return Contents(served=SERVED_WITH_ENGINES)


@pytest.fixture
def kyverno(contents: Contents) -> Kyverno:
    """Kyverno 1.19 with its webhooks, as its chart installs it."""
    made = Kyverno(contents)
    made.install("v1.19.1")
    return made


@pytest.fixture
def server(tmp_path: Path, contents: Contents) -> Iterator[ApiServer]:
    with api_server(tmp_path, contents.answer) as running:
        running.hides_webhooks = False
        yield running


@pytest.fixture
def lint(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    """Run it; whatever happens, nothing but reading is requested."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        done = CliRunner().invoke(policyd, ["lint", "--cluster", *arguments])
        assert {call.method for call in server.calls} <= {"GET"}
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return run


@pytest.fixture
def findings(lint: Lint) -> Findings:
    def found(*arguments: str) -> list[JSONObject]:
        result: list[JSONObject] = json.loads(lint("--format", "json", *arguments).stdout)
        return result

    return found
