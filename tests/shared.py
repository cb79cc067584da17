"""Recorded data stored outside the project: conformance rows, AdmissionReviews, public policies.

``POLICYD_CONFORMANCE``, ``POLICYD_REVIEWS`` and ``POLICYD_IMPORT`` name the folders; the default is ``../shared``,
relative to the project's root. A test without its data is skipped and names the variable to set;
the summary at the end of the run lists the missing data.
"""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONFORMANCE = "POLICYD_CONFORMANCE"
REVIEWS = "POLICYD_REVIEWS"
IMPORT = "POLICYD_IMPORT"
DEFAULTS = {
    CONFORMANCE: "../shared/conformance",
    REVIEWS: "../shared/reviews",
    IMPORT: "../shared/import",
}

# The folder of kube-apiserver and etcd, and whether they may be built.
BINARIES = "POLICYD_APISERVER_BIN"
E2E = "POLICYD_E2E"

# The rows of a real API server are policyd's own, and kept here.
OWN = ROOT / "tests/conformance/data"

# What was not found in this run, with the variable that would have told where it is.
missing: dict[str, str] = {}


def without_apiserver() -> str:
    """Return why the tests that need a kube-apiserver are left out of this run; empty if they are not."""
    if os.environ.get(BINARIES) or os.environ.get(E2E) == "1":
        return ""
    return (
        f"tests/e2e, which needs a kube-apiserver: set {BINARIES} to the directory of kube-apiserver and "
        f"etcd, or {E2E}=1 to build them with Go (minutes)"
    )


def find(variable: str, path: str) -> Path:
    """Return ``path`` below the folder that ``variable`` names; skip the test if it is missing.

    Data in the project's own tree (``OWN``) is found there unless the variable is set.
    """
    if variable not in os.environ:
        for own in (OWN / path, OWN / f"{path}.gz"):
            if variable == CONFORMANCE and own.exists():
                return own
    found = ROOT / os.environ.get(variable, DEFAULTS[variable]) / path
    if not found.exists():
        missing[path] = variable
        pytest.skip(f"{path} not found: set {variable}")
    return found


def conformance(path: str) -> list[dict[str, Any]]:
    """Return the rows of a conformance file (``.jsonl``, or ``.json`` with a list)."""
    return rows(find(CONFORMANCE, path))


def reviews(path: str = "reviews.jsonl") -> list[dict[str, Any]]:
    """Return the rows of a file of recorded AdmissionReviews; ``.gz`` is decompressed."""
    return rows(find(REVIEWS, path))


def rows(file: Path) -> list[dict[str, Any]]:
    """Return every row of a JSON Lines file (plain or ``.gz``), or of a JSON file with a list."""
    if file.suffix == ".json":
        listed: list[dict[str, Any]] = json.loads(file.read_bytes())
        return listed
    return [json.loads(line) for line in lines(file)]


def lines(file: Path) -> Iterator[bytes]:
    r"""Split a file at ``\n`` only: JSON strings may contain U+2028 and similar characters."""
    data = file.read_bytes()
    if file.suffix == ".gz":
        data = gzip.decompress(data)
    return (line for line in data.split(b"\n") if line.strip())
