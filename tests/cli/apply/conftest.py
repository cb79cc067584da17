"""A server that serves the contents of a cluster, and scans of it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.cluster.contents import Contents
from tests.cluster.fake import REVIEWS, ApiServer, api_server

NAMESPACES = "/api/v1/namespaces"
Run = Callable[..., Result]


@pytest.fixture
def contents() -> Contents:
    made = Contents()
    made.add(NAMESPACES, "shop", metadata={"labels": {"env": "prod"}})
    made.add(NAMESPACES, "mail")
    return made


@pytest.fixture
def server(tmp_path: Path, contents: Contents) -> Iterator[ApiServer]:
    with api_server(tmp_path, contents.answer) as running:
        yield running


@pytest.fixture
def run(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Scan with some policies; whatever happens, nothing but reading is asked."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))

    def scan(*documents: JSONObject, flags: tuple[str, ...] = ()) -> Result:
        file = tmp_path / "policies.yaml"
        file.write_text("\n---\n".join(map(json.dumps, documents)))
        done = CliRunner().invoke(policyd, ["apply", "-p", str(file), "--cluster", *flags])
        assert {(call.method, call.path) for call in server.calls if call.method != "GET"} <= {
            ("POST", REVIEWS)
        }
        return done

    return scan
