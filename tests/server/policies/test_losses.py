"""Policies that would vanish without anybody having said so."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from policyd.http.policies_in_use import Reload
from policyd.json_types import JSONObject
from policyd.policy.source.files import Bundle
from policyd.server.policies import file_watch
from policyd.server.policies import store as store_module
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.server.policies.store import Store
from tests.builders.policies import vap, vap_binding
from tests.server.fakes import load as fake_load


def write(file: Path, *documents: JSONObject) -> None:
    file.write_bytes(b"\n---\n".join(map(orjson.dumps, documents)))


def started(folder: Path, *, allow_empty: bool = False) -> Store:
    store = Store([folder], PolicyLoader().load, allow_empty=allow_empty)
    store.start()
    return store


def two(folder: Path) -> Store:
    write(folder / "a.yaml", vap("a"), vap("c"))
    write(folder / "b.yaml", vap("b"))
    return started(folder)


def loaded(store: Store) -> list[str]:
    return [policy.name for policy in store.current.policies]


def errors(store: Store) -> str:
    return "\n".join(store.reload().errors)


def test_an_emptied_folder_is_a_failed_reload(tmp_path: Path) -> None:
    store = two(tmp_path)
    for file in tmp_path.iterdir():
        file.unlink()
    assert "no longer hold policies; keeping the 3 in use" in errors(store)
    assert loaded(store) == ["a", "b", "c"]
    assert store.unready == ""


def test_an_emptied_folder_is_accepted_where_that_is_said(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", vap("a"))
    store = started(tmp_path, allow_empty=True)
    (tmp_path / "a.yaml").unlink()
    assert errors(store) == ""
    assert loaded(store) == []
    assert store.unready == ""


PARAM = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}'


@pytest.mark.parametrize("left", ["", "# nothing\n", "---\n", PARAM])
def test_a_file_that_lost_its_policies_is_named(tmp_path: Path, left: str) -> None:
    store = two(tmp_path)
    (tmp_path / "a.yaml").write_text(left)
    assert f"{tmp_path}/a.yaml: no longer holds policies" in errors(store)
    assert loaded(store) == ["a", "b", "c"]
    (tmp_path / "a.yaml").unlink()
    assert errors(store) == ""
    assert loaded(store) == ["b"]


def test_a_file_that_lost_its_bindings_is_named(tmp_path: Path) -> None:
    write(tmp_path / "p.yaml", vap())
    write(tmp_path / "b.yaml", vap_binding())
    store = started(tmp_path)
    (tmp_path / "b.yaml").write_text("")
    assert "b.yaml: no longer holds bindings" in errors(store)


def test_a_document_may_be_removed_from_a_file_that_keeps_others(tmp_path: Path) -> None:
    store = two(tmp_path)
    write(tmp_path / "a.yaml", vap("c"))
    assert errors(store) == ""
    assert loaded(store) == ["b", "c"]


def test_a_policy_may_move_to_another_file(tmp_path: Path) -> None:
    store = two(tmp_path)
    (tmp_path / "b.yaml").rename(tmp_path / "z.yaml")
    assert errors(store) == ""
    assert loaded(store) == ["a", "b", "c"]


def swap(mount: Path, version: str, **files: JSONObject | None) -> None:
    """What kubelet does to a mounted ConfigMap."""
    new = mount / f"..{version}"
    new.mkdir()
    for name, document in files.items():
        write(new / f"{name}.yaml", *([] if document is None else [document]))
    (mount / "..tmp").symlink_to(new.name)
    (mount / "..tmp").rename(mount / "..data")
    for name in files:
        if not (mount / f"{name}.yaml").is_symlink():
            (mount / f"{name}.yaml").symlink_to(f"..data/{name}.yaml")
    for link in mount.glob("*.yaml"):
        if not link.exists():
            link.unlink()


def test_keys_of_a_config_map_are_files(tmp_path: Path) -> None:
    swap(tmp_path, "v1", a=vap("a"), b=vap("b"))
    store = started(tmp_path)
    swap(tmp_path, "v2", a=vap("a"), b=None)
    assert "b.yaml: no longer holds policies" in errors(store)
    swap(tmp_path, "v3", a=vap("a"))
    assert errors(store) == ""
    assert loaded(store) == ["a"]
    swap(tmp_path, "v4")
    assert "no longer hold policies" in errors(store)
    assert loaded(store) == ["a"]


def test_a_start_without_policies_is_not_ready_until_there_are_some(tmp_path: Path) -> None:
    store = started(tmp_path)
    assert store.last is not None and not store.last.succeeded
    assert "hold no policies" in store.unready
    write(tmp_path / "a.yaml", vap("a"))
    assert store.reload().succeeded
    assert store.unready == ""


def test_what_failed_is_tried_again_without_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watch, "LOOK_ANYWAY", 0.01)
    monkeypatch.setattr(store_module, "RETRY_SECONDS", 0.01)
    (tmp_path / "a.txt").write_text("allow a")
    attempts: list[int] = []
    told: list[Reload] = []
    stop = asyncio.Event()

    def load(paths: Sequence[Path | Bundle]) -> LoadedSet:
        attempts.append(1)
        if 1 < len(attempts) < 5:
            raise OSError("no room for open files")
        return fake_load(paths)

    def tell(attempt: Reload) -> None:
        told.append(attempt)
        if len(told) == 3:
            stop.set()

    store = Store([tmp_path], load, on_reload=tell)
    store.start()
    (tmp_path / "a.txt").write_text("allow b")

    async def watching() -> None:
        async with asyncio.timeout(300):
            await store.watch(stop)

    asyncio.run(watching())
    # Three attempts failed alike: one line of the log.
    assert [each.succeeded for each in told] == [True, False, True]
    assert len(attempts) == 5
