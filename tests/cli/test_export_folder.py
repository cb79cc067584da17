"""``policyd export -o``: a file for each policy, what former exports wrote, files of others."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.policy.source.loader import load
from tests.cli.exporting import PLAIN, SLOW, Pretend, part, pretending, run

VALIDATING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: plain}
spec: {}
"""


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the policies ``plain``, ``second`` and ``slow``."""
    (tmp_path / "policies").mkdir()
    for name, text in (("plain", PLAIN), ("second", PLAIN), ("slow", SLOW)):
        (tmp_path / "policies" / f"{name}.yaml").write_text(text.format(name=name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*arguments: str) -> None:
    status, _, errors = run("-p", "policies", "-o", "out", *arguments)
    assert status == 0, errors


@pytest.fixture(name="pretend")
def _pretend(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    return pretending(monkeypatch)


def listed(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_a_file_for_each_policy_and_a_table(folder: Path) -> None:
    status, output, errors = run("-p", "policies", "-o", "out/deep")
    assert status == 0
    assert listed(folder / "out") == ["deep/plain.yaml", "deep/second.yaml"]
    assert errors == "wrote 2 files to out/deep\n"
    assert output.splitlines()[-2] == "3 policies: 2 exported, 1 not exported"
    assert "apiVersion" not in output
    text = (folder / "out/deep/plain.yaml").read_text()
    assert text.startswith("# Written by policyd export: change the policy and run it again.\n")
    assert "# Policy plain, policies/plain.yaml:1, " in text
    everything = list(yaml.safe_load_all(run("-p", "policies")[1]))
    loaded = load([folder / "out/deep"])
    assert loaded.problems == ()
    assert [each.raw for each in loaded.documents] == everything


def test_what_is_no_longer_exported_is_removed(folder: Path) -> None:
    export()
    (folder / "policies/second.yaml").unlink()
    (folder / "policies/plain.yaml").write_text(SLOW.format(name="plain"))
    _, _, errors = run("-p", "policies", "-o", "out")
    assert errors == "removed out/plain.yaml\nremoved out/second.yaml\nwrote 0 files to out\n"
    assert listed(folder / "out") == []


def test_files_of_others_are_left_alone(folder: Path) -> None:
    (folder / "out/more").mkdir(parents=True)
    others = {
        "kustomization.yaml": "resources: [plain.yaml]\n",
        "other.yaml": VALIDATING,
        "more/deep.yaml": "# Written by policyd export: change the policy and run it again.\n",
        "empty.yaml": "",
        "notes.txt": "# Written by policyd export: change the policy and run it again.\n",
    }
    for name, text in others.items():
        (folder / "out" / name).write_text(text)
    os.mkfifo(folder / "out/pipe.yaml")  # to open it would block
    export()
    export()
    assert listed(folder / "out") == sorted([*others, "plain.yaml", "second.yaml"])
    assert {name: (folder / "out" / name).read_text() for name in others} == others


@pytest.mark.parametrize("foreign", ["file", "directory", "link"])
def test_a_file_of_somebody_else_in_the_way_changes_nothing(foreign: str, folder: Path) -> None:
    export()
    (folder / "policies/second.yaml").write_text(PLAIN.format(name="third"))
    file = folder / "out/third.yaml"
    if foreign == "file":
        file.write_text(VALIDATING)
    elif foreign == "directory":
        file.mkdir()
    else:
        file.symlink_to("nowhere")
    before = {name: (folder / "out" / name).read_bytes() for name in listed(folder / "out")}
    status, output, errors = run("-p", "policies", "-o", "out")
    assert (status, output) == (2, "")
    assert "out/third.yaml was not written by policyd export" in errors
    assert {name: (folder / "out" / name).read_bytes() for name in listed(folder / "out")} == before


def test_an_unchanged_file_is_not_written_again(folder: Path) -> None:
    export()
    file = folder / "out/plain.yaml"
    os.utime(file, ns=(1, 1))
    (folder / "policies/second.yaml").write_text(
        PLAIN.format(name="second").replace("not x", "other")
    )
    export()
    assert file.stat().st_mtime_ns == 1
    assert "message: other" in (folder / "out/second.yaml").read_text()


def test_naming_a_policy_changes_only_its_file(folder: Path) -> None:
    export()
    for name in ("plain", "second"):
        file = folder / f"policies/{name}.yaml"
        file.write_text(SLOW.format(name=name))
    export("second")
    assert listed(folder / "out") == ["plain.yaml"]


def test_static_manifests_are_in_a_folder_for_each_plugin(pretend: Pretend, folder: Path) -> None:
    pretend(part(), part("Mutating"))
    export()
    assert listed(folder / "out") == ["plain.yaml"]
    assert len(list(yaml.safe_load_all((folder / "out/plain.yaml").read_text()))) == 4
    export("--static")
    assert listed(folder / "out") == ["mutating/plain.yaml", "validating/plain.yaml"]
    kinds = {
        each["kind"]
        for each in yaml.safe_load_all((folder / "out/mutating/plain.yaml").read_text())
    }
    assert kinds == {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    export()
    assert listed(folder / "out") == ["plain.yaml"]


def test_json_names_the_files(folder: Path) -> None:
    status, output, _ = run("-p", "policies", "-o", "out", "--format", "json")
    assert status == 0
    files = {each["name"]: each["files"] for each in json.loads(output)}
    assert files == {"plain": ["out/plain.yaml"], "second": ["out/second.yaml"], "slow": []}


@pytest.mark.parametrize("inside", ["policies", "policies/in-tree"])
def test_the_next_run_must_not_load_what_this_one_writes(inside: str, folder: Path) -> None:
    status, _, errors = run("-p", "policies", "-o", inside)
    assert status == 2
    assert f"{inside} is in policies, whose policies are exported" in errors
    assert listed(folder) == ["policies/plain.yaml", "policies/second.yaml", "policies/slow.yaml"]


def test_yaml_is_for_standard_output() -> None:
    status, _, errors = run("-p", "policies", "-o", "out", "--format", "yaml")
    assert status == 2
    assert "leave out -o" in errors


def test_a_folder_that_cannot_be_made(folder: Path) -> None:
    (folder / "file").write_text("")
    status, _, errors = run("-p", "policies", "-o", "file/out")
    assert status == 2
    assert "file/out" in errors
    assert "directory" in errors


def test_a_file_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export()
    whole = Path.open

    def refused(self: Path, *arguments: Any) -> Any:
        if self.name == "plain.yaml" and self.parent.name == "out":
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, *arguments)

    monkeypatch.setattr(Path, "open", refused)
    status, output, errors = run("-p", "policies", "-o", "out")
    assert (status, output, errors) == (2, "", "out/plain.yaml: Permission denied")
