"""Where a summary is written, and what is there if that fails."""

import os
import stat
from pathlib import Path
from threading import Thread

import pytest

from policyd.errors import ConfigError
from policyd.reports.rendering import FORMATS, write
from tests.builders.summaries import finding, summary


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_has_what_is_printed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "summary"
    file.write_text("former")
    write(summary(), form, file)
    write(summary(), form, None)
    assert file.read_text(encoding="utf-8") == capsys.readouterr().out
    assert [*tmp_path.iterdir()] == [file], "no temporary file is left"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


@pytest.mark.parametrize("form", FORMATS)
def test_strings_that_utf8_cannot_represent_are_written(form: str, tmp_path: Path) -> None:
    file = tmp_path / "summary"
    write(summary(findings=(finding(message="half \ud800"),)), form, file)
    assert "half " in file.read_text(encoding="utf-8")


def test_the_target_of_a_link_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("former")
    link.symlink_to(target)
    write(summary(), "json", link)
    assert link.is_symlink()
    assert target.read_text().startswith("{")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(summary(), "json", pipe)
    reader.join()
    assert read[0].endswith("}\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot write .*page\.html: No such file or directory"):
        write(summary(), "html", tmp_path / "missing" / "page.html")
    with pytest.raises(ConfigError, match=r"cannot write .*: Is a directory"):
        write(summary(), "html", tmp_path)
