"""``serve --capture``: what is recorded, what is left out of it, and its bounds."""

import json
import shutil
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policyd._core.json.equality import equal
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode
from policyd.cli import policyd
from policyd.errors import ConfigError
from policyd.policy.suite.reviews import build_review
from policyd.server import capture as recording
from policyd.server.capture import MAX_WAITING, Capture, line
from tests.builders.recording import unlogged
from tests.builders.reviews import body
from tests.disks import Disk
from tests.server.process import until
from tests.server.serve import serving

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: web}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: ["*"]}
  validations: [{expression: "object.metadata.name != 'forbidden'", message: not this name}]
"""
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "s",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}hush", "a": "b"},
    },
    "data": {"key": "aHVzaA=="},
    "stringData": {"other": "hush"},
    "type": "Opaque",
}


def request(obj: dict[str, Any], **more: Any) -> AdmissionRequest:
    return AdmissionRequest(build_review(obj, **more)["request"])


def allowed(patch: bytes | None = None) -> AdmissionResponse:
    return AdmissionResponse("u", True, patch=patch)


def test_values_of_secrets_are_not_written() -> None:
    text = line("mutate", request(SECRET, old_object=SECRET), allowed(b'["aHVzaA=="]'), NOW)
    assert b"hush" not in text and b"aHVzaA==" not in text
    written = json.loads(text)
    for field in ("object", "oldObject"):
        secret = written["request"][field]
        assert secret["data"] == {"key": "UkVEQUNURUQ="}
        assert secret["stringData"] == {"other": "REDACTED"}
        assert secret["metadata"]["annotations"]["a"] == "b"
    assert "patch" not in written["response"]
    assert written["captured"] == {
        "webhook": "mutate", "time": "2026-11-21T12:00:00+00:00", "redacted": True,
    }  # fmt: skip
    assert SECRET["data"] == {"key": "aHVzaA=="}  # the request itself is as it was


def test_other_objects_are_whole() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "data": {"x": "y"}}
    written = json.loads(line("validate", request(pod), allowed(), NOW))
    assert written["request"]["object"] == pod
    assert written["response"] == {"uid": "u", "allowed": True}
    assert written["captured"]["redacted"] is False


class Told(list[tuple[str, Exception | None]]):
    def __call__(self, outcome: str, error: Exception | None) -> None:
        self.append((outcome, error))


def test_files_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    told = Told()
    capture = Capture(tmp_path, 80_000, told, unlogged())
    for number in range(400):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}}
        capture.record("validate", request(pod), allowed(), 500)
    capture.close(20)
    assert told == [("written", None)] * 400
    files = sorted(tmp_path.iterdir())
    assert 1 < len(files) <= 8
    assert sum(file.stat().st_size for file in files) <= 80_000
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    last = files[-1].read_text().splitlines()[-1]
    assert json.loads(last)["request"]["object"]["metadata"]["name"] == "p399"
    names = [
        json.loads(each)["request"]["name"] for f in files for each in f.read_text().splitlines()
    ]
    assert names == [f"p{number}" for number in range(400 - len(names), 400)]


def test_what_there_is_no_room_for_is_dropped_and_told(tmp_path: Path) -> None:
    told = Told()
    capture = Capture(tmp_path, 80_000, told, unlogged())
    capture.record("validate", request(SECRET), allowed(), MAX_WAITING + 1)
    assert told == [("dropped", None)]
    capture.close(20)


def test_a_disk_that_fails_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    capture = Capture(tmp_path / "capture", 8, told, unlogged())
    shutil.rmtree(tmp_path / "capture")
    (tmp_path / "capture").write_text("")  # each review begins a file, and there can be no folder
    for _ in range(3):
        capture.record("validate", request(SECRET), allowed(), 500)
    capture.close(20)
    assert [outcome for outcome, _ in told] == ["failed"] * 3
    assert [type(error) for _, error in told] == [FileExistsError, type(None), type(None)]


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    told = Told()
    folder = tmp_path / "capture"
    capture = Capture(folder, 80_000, told, unlogged())
    removals: list[Callable[[], None]] = [
        lambda: None,
        lambda: shutil.rmtree(folder),
        lambda: unlink_all(folder),
    ]
    for remove in removals:
        remove()
        before = len(told)
        capture.record("validate", request(SECRET), allowed(), 500)
        until(partial(more_than, told, before), "a line")
        assert sum(len(file.read_bytes().splitlines()) for file in folder.iterdir()) == 1
    capture.close(20)
    assert told == [("written", None)] * 3


def more_than(told: Told, count: int) -> bool:
    return len(told) > count


def unlink_all(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    capture = Capture(tmp_path, 80_000, told, unlogged())
    disk = Disk(monkeypatch, recording, room=100)
    for _ in range(2):
        capture.record("validate", request(SECRET), allowed(), 500)
    until(lambda: len(told) == 2, "the failures")
    disk.room = 1 << 20
    capture.record("validate", request(SECRET), allowed(), 500)
    capture.close(20)
    assert [outcome for outcome, _ in told] == ["failed", "failed", "written"]
    (file,) = tmp_path.iterdir()
    assert [json.loads(line)["kind"] for line in file.read_text().splitlines()] == [
        "AdmissionReview"
    ]


def test_reviews_of_any_depth_are_recorded(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(996):  # a webhook takes 1,000 levels, the encoder 254
        deep = {"a": deep}
    told = Told()
    capture = Capture(tmp_path, 80_000, told, unlogged())
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": deep}
    capture.record("validate", request(pod), allowed(), 500)
    capture.close(20)
    assert [outcome for outcome, _ in told] == ["written"]
    (file,) = tmp_path.iterdir()
    assert equal(decode(file.read_bytes().removesuffix(b"\n")).object, pod)


def test_a_folder_that_cannot_be_is_told_at_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"--capture .*file.*: (Not a directory|File exists)"):
        Capture(tmp_path / "file" / "capture", 8, Told(), unlogged())


def test_a_server_records_and_replay_reads_it(tmp_path: Path) -> None:
    policies = tmp_path / "policy.yaml"
    policies.write_text(POLICY)
    folder = tmp_path / "capture"
    with serving(tmp_path, policies, "--capture", str(folder)) as server:
        for name in ("web", "forbidden"):
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            _, answer = server.post("/validate", body(object=obj))
            assert answer["response"]["allowed"] is (name == "web")
        written = 'policyd_captured_reviews_total{result="written"}'
        until(lambda: server.metric(written) == 2, "two reviews")
        assert server.terminate() == 0
    lines = [each for file in folder.iterdir() for each in file.read_text().splitlines()]
    assert [json.loads(each)["response"]["allowed"] for each in lines] == [True, False]
    run = CliRunner().invoke
    same = run(policyd, ["replay", str(folder), "-p", str(policies)])
    assert (same.exit_code, same.stdout) == (0, "")
    (tmp_path / "new.yaml").write_text(POLICY.replace("forbidden", "web"))
    other = run(policyd, ["replay", str(folder), "-p", str(tmp_path / "new.yaml")])
    assert other.exit_code == 1
    assert "now denied          1  web     CREATE" in other.stdout
