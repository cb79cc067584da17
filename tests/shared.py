"""Recorded data that lives beside the project, not in it: conformance rows and AdmissionReviews.

``POLICYD_CONFORMANCE`` and ``POLICYD_REVIEWS`` name the folders; without them they are looked for
in ``../shared``, seen from the project's root. A test whose data is absent is skipped and says
which variable to set; the summary at the end of the run lists what was left out.
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
DEFAULTS = {CONFORMANCE: "../shared/conformance", REVIEWS: "../shared/reviews"}

# The rows of a real API server are policyd's own, and kept here.
OWN = ROOT / "tests/conformance/data"

# What was not found in this run, with the variable that would have told where it is.
missing: dict[str, str] = {}


def find(variable: str, path: str) -> Path:
    """The file or folder ``path`` below the folder that ``variable`` names; skips without it.

    What the project keeps in its own tree (``OWN``) is found there unless the variable is set.
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
    """The rows of a conformance file (``.jsonl``, or ``.json`` that holds a list)."""
    return rows(find(CONFORMANCE, path))


def reviews(path: str = "reviews.jsonl") -> list[dict[str, Any]]:
    """The rows of a file of recorded AdmissionReviews; ``.gz`` is unpacked."""
    return rows(find(REVIEWS, path))


def rows(file: Path) -> list[dict[str, Any]]:
    """Every row of a JSON Lines file (plain or ``.gz``), or of a JSON file that holds a list."""
    if file.suffix == ".json":
        listed: list[dict[str, Any]] = json.loads(file.read_bytes())
        return listed
    return [json.loads(line) for line in lines(file)]


def lines(file: Path) -> Iterator[bytes]:
    r"""The lines of a file, cut at ``\n`` only: U+2028 and its like occur inside JSON strings."""
    data = file.read_bytes()
    if file.suffix == ".gz":
        data = gzip.decompress(data)
    return (line for line in data.split(b"\n") if line.strip())
