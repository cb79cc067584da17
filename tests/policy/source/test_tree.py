"""Walks over directories: links, loops, and what is no regular file."""

import os
import socket
from pathlib import Path

import pytest

from policyd.policy.source import tree
from policyd.policy.source.files import read
from policyd.policy.source.tree import walk
from policyd.regular_files import NotRegular, open_regular, read_regular
from policyd.server.policies.file_watch import fingerprint


def names(folder: Path) -> list[str]:
    return [str(Path(file).relative_to(folder)) for file in walk(str(folder)).files]


def test_each_directory_is_read_once_by_whatever_links(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1")
    for link in ("l1", "l2"):
        (tmp_path / link).symlink_to(".")
    assert names(tmp_path) == ["a.yaml"]
    assert read([tmp_path])[1] == []


def test_a_ladder_of_links_is_walked_in_linear_time(tmp_path: Path) -> None:
    for step in range(40):  # 2 ** 40 paths lead to the last one
        folder = tmp_path / f"d{step:02}"
        folder.mkdir()
        for link in ("l1", "l2"):
            (folder / link).symlink_to(f"../d{step + 1:02}")
    (tmp_path / "d40").mkdir()
    (tmp_path / "d40" / "a.yaml").write_text("a: 1")
    assert len(walk(str(tmp_path)).directories) == 42
    assert len(fingerprint([tmp_path])) == 1
    assert len(read([tmp_path])[0]) == 1


def test_a_link_to_itself_is_a_fault_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a.yaml").write_text("a: 1")
    found, (problem,) = read([tmp_path])
    assert len(found) == 1
    assert str(problem) == f"{tmp_path}/loop: a symbolic link that points to itself"
    before = fingerprint([tmp_path])
    (tmp_path / "loop").unlink()
    assert fingerprint([tmp_path]) != before


def test_too_many_names_are_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_NAMES", 2)
    for name in "abc":
        (tmp_path / f"{name}.yaml").write_text("a: 1")
    (problem,) = read([tmp_path])[1]
    assert "contains more than 2 files and directories" in str(problem)


def test_what_is_no_regular_file_is_an_error_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "tty.yaml").symlink_to("/dev/tty")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s.yaml"))
        found, problems = read([tmp_path], pipes=False)
    assert found == []
    assert [str(each).removeprefix(f"{tmp_path}/") for each in problems] == [
        "fifo.yaml: cannot be read: expected a regular file, got a FIFO",
        "s.yaml: cannot be read: expected a regular file, got a socket",
        "tty.yaml: cannot be read: expected a regular file, got a character device",
        "zero.yaml: cannot be read: expected a regular file, got a character device",
    ]


def test_a_pipe_that_somebody_named_is_read_by_commands_only(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a: 1")
    os.close(writing)
    path = f"/dev/fd/{reading}"
    assert read([path], pipes=False)[0] == []
    assert [each.data for each in read([path])[0]] == [b"a: 1"]
    os.close(reading)


def test_a_name_need_not_be_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.yaml")
    (tmp_path / name).write_text("a: 1")
    (found,) = read([tmp_path])[0]
    assert found.name == f"{tmp_path}/\\xff.yaml"
    assert found.data == b"a: 1"
    assert len(fingerprint([tmp_path])) == 1


def test_reading_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 2000)
    assert len(read_regular(file, 2000)) == 2000
    with pytest.raises(ValueError, match="larger than 1 KiB"):
        read_regular(file, 1999)
    with pytest.raises(NotRegular, match="got a directory"):
        open_regular(tmp_path)
