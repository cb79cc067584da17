"""What the tests of commands share."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a test, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
