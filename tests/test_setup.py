"""How setup.py writes modules: whole or not at all."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT


@pytest.fixture(name="build")
def _build(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["setup.py", "--version"])
    monkeypatch.setenv("POLICYD_COMPILED", "1")
    return runpy.run_path("setup.py")["Build"]


def linked(content: str, killed: bool) -> Callable[..., None]:
    """A linker that may be killed when its file is open."""

    def link(objects: list[str], file: str, **options: object) -> None:
        Path(file).write_text("" if killed else content)
        if killed:
            raise KeyboardInterrupt

    return link


def test_a_module_is_linked_whole_or_not_at_all(build: Any, tmp_path: Path) -> None:
    module = tmp_path / "a.so"
    with pytest.raises(KeyboardInterrupt):
        build._whole(linked("new", killed=True))([], str(module))
    assert not module.exists()
    module.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        build._whole(linked("new", killed=True))([], str(module))
    assert module.read_text() == "old"
    build._whole(linked("new", killed=False))([], str(module))
    assert [each.name for each in tmp_path.iterdir()] == ["a.so"]
    assert module.read_text() == "new"
