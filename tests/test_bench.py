"""What the command of the benchmarks prints, and leaves as it was. Measures nothing."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes import Unavailable
from tools.bench import __main__ as command
from tools.bench import crowd, image
from tools.bench.core import Row


def _unavailable() -> Iterator[Row]:
    yield "work", "1 s", "2 s"
    raise Unavailable("there is no Go on this machine")


def test_a_section_without_its_programs_is_named_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = {"one": _unavailable, "two": lambda: iter([("work", "1 s", "2 s")])}
    monkeypatch.setattr(command, "SECTIONS", sections)
    command.main([])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    work = "work 1 s target 2 s"
    assert lines[:3] == ["", "one", work]
    assert lines[3:] == ["not measured: there is no Go on this machine", "", "two", work]


def test_the_image_is_measured_by_root_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "image").touch()
    monkeypatch.setattr(image, "ARCHIVE", tmp_path / "image")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [figure for _, figure, _ in image.image()] == ["not measured: chroot needs root"]


def test_later_sections_collect_garbage_as_if_they_were_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crowd, "COUNT", 2)
    usual = gc.get_threshold()
    assert len(list(crowd.crowd())) == 3
    assert gc.get_threshold() == usual
