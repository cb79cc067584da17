"""Programs of others that tests run: helm, kubectl, promtool. No tests here.

``tests/node/cluster/programs.sh`` builds them into ``build/node/bin``; ``$POLICYD_NODE_BIN`` names
another folder. kubectl is built with the API server, too.
"""

import os
from pathlib import Path

import pytest

from tests import kubernetes
from tests.e2e.cluster import BUILT
from tests.shared import ROOT

FOLDER = "POLICYD_NODE_BIN"


def folder() -> Path:
    """Where the programs are, if they were built."""
    return Path(os.environ.get(FOLDER) or ROOT / "build/node/bin")


def program(name: str) -> str:
    """The path of a program; skips the test if it was not built."""
    for found in (folder() / name, BUILT / kubernetes.chosen() / name):
        if found.exists():
            return str(found)
    pytest.skip(f"needs {name}: tests/node/cluster/programs.sh builds it, or set {FOLDER}")
