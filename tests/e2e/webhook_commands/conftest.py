"""Configurations of one name, written by an administrator."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.webhook_commands.stored_configurations import API, MUTATING, VALIDATING


@pytest.fixture
def admin(api: Cluster, tmp_path: Path) -> Path:
    """A kubeconfig of the administrator."""
    files = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(kubeconfig_document(api, *files)))
    return file


@pytest.fixture
def name(namespace: str, api: Cluster) -> Iterator[str]:
    """The name of the configurations of one test, and of its namespace."""
    yield namespace
    for resource in (VALIDATING, MUTATING):
        api.call("DELETE", f"{API}/{resource}/{namespace}")


@pytest.fixture
def flags(api: Cluster) -> list[str]:
    """The options of a policyd that is not called."""
    return ["--url", "https://127.0.0.1:1", "--ca-file", str(api.folder / "ca.crt")]
