"""Watches that go on whatever happens to inotify."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from policyd.server.policies import file_watch
from policyd.server.policies.file_watch import changed, contents, fingerprint


async def noticed(folder: Path, change: Callable[[], object], told: list[str]) -> bool:
    """Whether a change is noticed in time."""
    stop = asyncio.Event()
    states = changed([folder], stop, known=fingerprint([folder]), degraded=told.append)
    asyncio.get_running_loop().call_later(0.2, change)
    async with asyncio.timeout(300):
        async for _ in states:
            stop.set()
            return True
    return False


FAILURES = [
    OSError(28, "no space left on device"),
    RuntimeError("Error creating recommended watcher: Too many open files"),
    BaseException("panicked: unable to decode path"),  # as of the library's panics
]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_looks_go_on_without_inotify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def failing(*_: object, **__: object) -> Iterator[object]:
        raise failure

    monkeypatch.setattr(file_watch, "watch", failing)
    monkeypatch.setattr(file_watch, "LOOK_ANYWAY", 0.05)
    file = tmp_path / "a.yaml"
    file.write_text("one")
    told: list[str] = []
    assert asyncio.run(noticed(tmp_path, lambda: file.write_text("other"), told))
    assert len(told) == 1  # once, however often it is tried again
    assert told[0] == f"{type(failure).__name__}: {failure}"


def test_contents_count_where_times_say_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("one")
    same = fingerprint([tmp_path])
    held = contents(same)
    monkeypatch.setattr(file_watch, "fingerprint", lambda _: same)
    monkeypatch.setattr(file_watch, "LOOK_ANYWAY", 0.05)
    assert asyncio.run(noticed(tmp_path, lambda: file.write_text("two"), []))
    assert contents(same) != held


def test_permissions_that_were_put_right_are_a_change(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("one")
    file.chmod(0)
    before = fingerprint([tmp_path])
    file.chmod(0o644)
    assert fingerprint([tmp_path]) != before


def test_a_folder_that_was_made_again_is_watched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watch, "LOOK_ANYWAY", 0.1)
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.yaml").write_text("a")
    known = fingerprint([folder])
    (folder / "a.yaml").unlink()
    assert asyncio.run(removed_and_made(folder, known)) == [[], ["b.yaml"]]


async def removed_and_made(folder: Path, known: file_watch.Fingerprint) -> list[list[str]]:
    stop = asyncio.Event()
    seen: list[list[str]] = []
    folder.rmdir()
    async with asyncio.timeout(300):
        async for state in changed([folder], stop, known=known):
            seen.append([Path(row[0]).name for row in state])
            if not seen[-1]:
                folder.mkdir()
                (folder / "b.yaml").write_text("b")
            else:
                stop.set()
    return seen


def test_no_thread_is_left_when_a_watch_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("one")
    assert asyncio.run(noticed(tmp_path, lambda: file.write_text("other"), []))
    threads = [each for each in threading.enumerate() if each.name.startswith("inotify")]
    for each in threads:
        each.join(300)
    assert not any(each.is_alive() for each in threads)
