"""The real kubectl, as an administrator at a terminal. No tests here."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.e2e.cluster import Cluster
from tests.shared import BINARIES

PATIENCE = 240.0  # seconds for one command


def kubeconfig_document(cluster: Cluster, authority: str, certificate: str, key: str) -> JSONObject:
    """A kubeconfig for one user, with the paths of its files."""
    return {
        "clusters": [
            {"name": "a", "cluster": {"server": cluster.server, "certificate-authority": authority}}
        ],
        "users": [
            {"name": "a", "user": {"client-certificate": certificate, "client-key": key}},
        ],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }


class Kubectl:
    """Runs kubectl with a home of its own."""

    def __init__(self, cluster: Cluster, home: Path) -> None:
        self._program = cluster.programs / "kubectl"
        if not self._program.exists():
            pytest.skip(f"the folder {BINARIES} has no kubectl")
        self._home = home
        files = [str(cluster.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
        (home / "kubeconfig").write_text(json.dumps(kubeconfig_document(cluster, *files)))

    def printed(self, *arguments: str, sent: JSONObject | None = None) -> tuple[int, str, str]:
        """The exit status, standard output and standard error of a command; ``sent`` is its
        standard input.
        """
        environment = {"HOME": str(self._home), "KUBECONFIG": str(self._home / "kubeconfig")}
        done = subprocess.run(
            [str(self._program), *arguments],
            input=json.dumps(sent),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            env={"PATH": os.environ["PATH"], **environment},
        )
        return done.returncode, done.stdout, done.stderr
