"""Files of policies that are unreadable, half written, swapped without end, or on a full disk."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.faults.asking import Asked, ask
from tests.sampling import portion
from tests.server.load import Load
from tests.server.process import Process, until
from tests.server.serve import DENY, POLICY, command, serving, write_policy

SWAPS = portion(1000)


def refused(server: Process) -> bool:
    """Whether the policy of these tests is in force."""
    return not forbidden(server).response["allowed"]


def forbidden(server: Process) -> Asked:
    """What is answered about an object that the policy denies."""
    held = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"forbidden": "x"}}
    return ask(server, "/validate", body(object=held))


def failed(server: Process, count: int = 1, said: str = "") -> None:
    """Wait for a reload that was refused, and for this error in the log."""
    errors = 'policyd_reloads_total{result="error"}'
    until(lambda: server.metric(errors) >= count, "the refusal")
    assert server.metric("policyd_last_reload_successful") == 0
    until(lambda: said in str(server.lines("reload")[-1].get("errors")), "the error in the log")


HALVES = {
    "cut in a string": POLICY.format(name="p", failure="Fail", spec=DENY)[:-12],
    "cut in a key": POLICY.format(name="p", failure="Fail", spec="validat"),
    "empty": "",
    "zeros": "\0" * 512,
}


@pytest.mark.parametrize("half", HALVES)
def test_a_half_written_file_changes_nothing_until_it_is_whole(tmp_path: Path, half: str) -> None:
    file = write_policy(tmp_path / "policies", "p", DENY)
    write_policy(tmp_path / "policies", "other", "validations: [{expression: 'true'}]")
    with serving(tmp_path, file.parent) as server:
        file.write_text(HALVES[half])
        failed(server, said=str(file))
        assert refused(server)
        assert server.get("/readyz") == (200, "ok")
        write_policy(file.parent, "p", DENY.replace("TEXT", "more"))
        until(lambda: "no more" in forbidden(server).message, "the whole file")
        assert server.metric("policyd_last_reload_successful") == 1


def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    """A link to nothing is absent; a directory in its place, a loop or a device is an error."""
    file = write_policy(tmp_path / "policies", "p", DENY)
    write_policy(tmp_path / "policies", "other", "validations: [{expression: 'true'}]")
    with serving(tmp_path, file.parent) as server:
        for count, put in enumerate((loop, device), start=1):
            put(file)
            failed(server, count, str(file))
            assert refused(server)
        file.unlink()
        write_policy(file.parent, "p", DENY.replace("TEXT", "more"))
        until(lambda: "no more" in forbidden(server).message, "the file")


def loop(file: Path) -> None:
    link(file, file.name)


def device(file: Path) -> None:
    link(file, "/dev/zero")


def link(file: Path, target: str) -> None:
    """Replace the file in one step: without it, the policies would be others for a moment."""
    made = file.parent.parent / "made"
    made.symlink_to(target)
    made.replace(file)


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv, to be no root")
def test_a_file_without_the_right_to_read_changes_nothing(tmp_path: Path) -> None:
    """Run without the capabilities with which root reads everything."""
    file = write_policy(tmp_path / "policies", "p", DENY)
    write_policy(tmp_path / "policies", "other", "validations: [{expression: 'true'}]")
    bounded = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    with Process([*bounded, *command(file.parent)], tmp_path / "server.log") as server:
        file.chmod(0)
        failed(server, said="Permission denied")
        assert refused(server)
        file.chmod(0o644)
        until(
            lambda: server.metric("policyd_last_reload_successful") == 1,
            "the right",
        )


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of this size; skips where none can be mounted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "policyd-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount a small disk: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all that is left."""
    file = disk / "filler"
    with pytest.raises(OSError, match="No space left"), file.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    return file


def test_a_full_disk_hurts_records_and_copies_only(tmp_path: Path) -> None:
    """The capture, the last good policies and the log itself are on a disk that is full."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with small_disk(tmp_path / "disk", "256k") as disk:
        flags = ["--capture", str(disk / "seen"), "--last-good", str(disk / "good")]
        with serving(disk, policies, *flags) as server:
            until((disk / "good").exists, "the copy")
            filler = fill(disk)
            for _ in range(3):
                assert refused(server)
            lost = 'policyd_captured_reviews_total{result="failed"}'
            until(lambda: server.metric(lost) >= 3, "the records that failed")
            write_policy(policies, "p", DENY.replace("TEXT", "more"))
            until(lambda: "no more" in forbidden(server).message, "the reload")
            lines = "policyd_log_lines_lost_total"
            until(lambda: refused(server) and server.metric(lines) > 0, "the lost lines")
            assert server.get("/readyz") == (200, "ok")
            filler.unlink()
            until(lambda: written(server) > 0, "records again")
            assert server.terminate() == 0


def written(server: Process) -> float:
    assert refused(server)
    before = server.metric('policyd_captured_reviews_total{result="failed"}')
    assert refused(server)
    after = server.metric('policyd_captured_reviews_total{result="failed"}')
    return float(before == after)


def test_a_reload_from_a_disk_that_fills_up_changes_nothing(tmp_path: Path) -> None:
    """An editor that finds no room leaves a truncated file."""
    with small_disk(tmp_path / "disk", "64k") as disk:
        file = write_policy(disk / "policies", "p", DENY)
        write_policy(disk / "policies", "other", "validations: [{expression: 'true'}]")
        with serving(tmp_path, disk / "policies") as server:
            filler = fill(disk)
            with pytest.raises(OSError, match="No space left"):
                file.write_text("# more\n" * 4096 + file.read_text())
            failed(server)
            assert refused(server)
            filler.unlink()
            write_policy(disk / "policies", "p", DENY.replace("TEXT", "more"))
            until(lambda: "no more" in forbidden(server).message, "the file")


def publish(mount: Path, version: int) -> None:
    """What the kubelet does: a new folder, and one rename of ``..data``; the old folder goes."""
    new = mount / f"..{version}"
    for name in ("a", "b"):
        write_policy(new, name, DENY.replace("TEXT", f"v{version}"))
    (mount / "..data_tmp").symlink_to(new.name)
    (mount / "..data_tmp").rename(mount / "..data")
    if version == 0:
        for name in ("a", "b"):
            (mount / f"{name}.yaml").symlink_to(f"..data/{name}.yaml")
    shutil.rmtree(mount / f"..{version - 1}", ignore_errors=True)


def versions(answer: Asked) -> set[str]:
    """Which versions of the two policies decided."""
    lines = answer.message.splitlines()
    assert len(lines) == 2, answer
    return {line.rpartition(" ")[2] for line in lines}


def test_swaps_of_a_config_map_mix_nothing(tmp_path: Path) -> None:
    """Under load; among them the worst moments, because a swap comes whenever files are read."""
    mount = tmp_path / "mount"
    mount.mkdir()
    publish(mount, 0)
    seen: list[set[str]] = []
    stop = threading.Event()

    with serving(tmp_path, mount) as server, Load(server, threads=2) as load:

        def watch() -> None:
            while not stop.is_set():
                seen.append(versions(forbidden(server)))

        watching = threading.Thread(target=watch)
        watching.start()
        for version in range(1, SWAPS + 1):
            publish(mount, version)
        until(lambda: seen[-1] == {f"v{SWAPS}"}, "the last version")
        stop.set()
        watching.join()
        load.stop()
        assert load.failures == []
        assert all(len(each) == 1 for each in seen)
        assert server.get("/readyz") == (200, "ok")
        descriptors = len(os.listdir(f"/proc/{server.child.pid}/fd"))  # noqa: PTH208
        assert descriptors < 40  # neither files nor watches are left
        assert not server.lines("defect")
