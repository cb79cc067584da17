"""The set in use, its replacement, and what counts as a change of files."""

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from policyd.errors import PolicyError, Problem
from policyd.http.policies_in_use import Reload
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import Bundle
from policyd.server.policies import file_watch
from policyd.server.policies import store as store_module
from policyd.server.policies.file_watch import changed, fingerprint
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.store import Store
from policyd.versions import NEWEST, OLDEST
from tests.server.fakes import FakeSet, load


def source(folder: Path, line: str, name: str = "a") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.txt"
    file.write_text(line)
    return file


def test_store_is_empty_before_it_starts(tmp_path: Path) -> None:
    store = Store([tmp_path], load)
    assert not store.loaded
    with pytest.raises(LookupError):
        _ = store.current


def test_reload_of_the_same_sources_keeps_the_set(tmp_path: Path) -> None:
    source(tmp_path, "allow one")
    store = Store([tmp_path], load)
    store.start()
    first = store.current
    assert store.reload().succeeded
    assert store.current is first


def test_reloads_that_were_asked_for_do_not_queue_up(tmp_path: Path) -> None:
    """One may be under way; one more sees all that came after it had begun."""
    source(tmp_path, "allow one")
    begun, go_on = threading.Semaphore(0), threading.Event()
    loads: list[str] = []

    def slowly(paths: Sequence[Path | Bundle]) -> LoadedSet:
        made = load(paths)
        loads.append(cast(FakeSet, made.policies).policies[0].text)
        if len(loads) > 1:
            begun.release()
            go_on.wait()
        return made

    async def ask() -> None:
        first = asyncio.create_task(store.renew())
        await asyncio.to_thread(begun.acquire)
        source(tmp_path, "allow two")
        others = [asyncio.create_task(store.renew()) for _ in range(100)]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(first, *others)

    store = Store([tmp_path], slowly)
    store.start()
    asyncio.run(ask())
    assert loads[-1] == "two"
    assert len(loads) <= 4  # at start, then two reloads; one read twice, for its files changed


def test_failing_suite_refuses_a_new_set_but_not_the_first(tmp_path: Path) -> None:
    source(tmp_path, "allow one")
    failures = [Problem("case 'x' failed")]
    store = Store([tmp_path], lambda paths: load(paths, failures=failures))
    store.start()
    assert store.last is not None and store.last.errors == ("case 'x' failed",)
    first = store.current
    source(tmp_path, "allow two")
    assert not store.reload().succeeded
    assert store.current is first
    failures.clear()
    assert store.reload().succeeded
    assert store.current is not first


def test_another_version_of_kubernetes_is_told_even_if_the_errors_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources that are retried in vain are no news, but a swap always is."""
    monkeypatch.setattr(file_watch, "LOOK_ANYWAY", 0.01)
    monkeypatch.setattr(store_module, "RETRY_SECONDS", 0.01)
    source(tmp_path, "broken")
    version = OLDEST
    told: list[Reload] = []
    store = Store([tmp_path], lambda paths: load(paths, version), on_reload=told.append)
    store.start()

    async def upgraded() -> None:
        nonlocal version
        stop = asyncio.Event()
        watching = asyncio.create_task(store.watch(stop))
        version = NEWEST
        async with asyncio.timeout(300):
            while store.current.version != NEWEST:
                await asyncio.sleep(0.01)
        stop.set()
        await watching

    asyncio.run(upgraded())
    assert len(told) == 2 and told[0].errors == told[1].errors != ()


def test_sources_that_change_while_they_are_read_are_read_again(tmp_path: Path) -> None:
    file = source(tmp_path, "allow 0")
    reads = []

    def load_slowly(paths: Sequence[Path | Bundle]) -> LoadedSet:
        made = load(paths)
        reads.append(made)
        if len(reads) < 3:
            file.write_text("allow " + "x" * len(reads))
        return made

    store = Store([tmp_path], load_slowly)
    store.start()
    assert len(reads) == 3
    assert store.loaded_set == reads[-1]


def test_sources_that_never_rest_are_an_error(tmp_path: Path) -> None:
    file = source(tmp_path, "allow")

    def load_and_change(paths: Sequence[Path | Bundle]) -> LoadedSet:
        file.write_text(file.read_text() + "x")
        return load(paths)

    with pytest.raises(PolicyError, match="change faster than they are read"):
        Store([tmp_path], load_and_change).start()


def test_error_in_the_sources_is_one_but_advice_is_not(tmp_path: Path) -> None:
    source(tmp_path, "allow")

    class Advised(FakeSet):
        @property
        def problems(self) -> tuple[Problem, ...]:
            return (Problem("use less", severity="advice"),)

    def load_advised(paths: Sequence[Path | Bundle]) -> LoadedSet:
        made = cast(FakeSet, load(paths).policies)
        return LoadedSet(cast(CompiledPolicySet, Advised(made.generation, made.policies)))

    store = Store([tmp_path], load_advised)
    store.start()
    assert store.reload().succeeded


def test_fingerprint_sees_what_policies_are_made_of(tmp_path: Path) -> None:
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    file = source(tmp_path / "sub", "one")
    first = fingerprint([tmp_path])
    assert [Path(row[0]) for row in first] == [file]
    (tmp_path / "sub" / ".git" / "index").write_text("x")
    (tmp_path / ".hidden").write_text("x")
    assert fingerprint([tmp_path]) == first
    os.utime(file, ns=(1, 1))
    assert fingerprint([tmp_path]) != first
    assert fingerprint([file]) == fingerprint([tmp_path])
    assert fingerprint([tmp_path / "nowhere"]) == ()


def test_fingerprint_follows_symlinks(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        os.utime(source(tmp_path / f"..{version}", "same"), ns=(7, 7))
    mount = tmp_path / "mount"
    mount.mkdir()
    (mount / "..data").symlink_to("../..v1")
    (mount / "a.txt").symlink_to("..data/a.txt")
    first = fingerprint([mount])
    assert len(first) == 1
    (mount / "..data").unlink()
    (mount / "..data").symlink_to("../..v2")
    assert fingerprint([mount]) != first


async def next_state(paths: list[Path], change: Any) -> bool:
    """Whether a change is noticed."""
    stop = asyncio.Event()
    known = fingerprint(paths)
    change()
    async with asyncio.timeout(300):
        async for state in changed(paths, stop, known=known):
            stop.set()
            return state != known
    return False


def test_change_before_the_watch_is_set_up_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watch, "LOOK_ANYWAY", 0.1)
    file = source(tmp_path, "one")
    assert asyncio.run(next_state([file], lambda: file.write_text("other")))
