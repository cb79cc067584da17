"""Files that suites name: those of their folders, links included, and no others."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from policyd.policy.source.loader import load
from policyd.policy.source.yaml_output import dump as text
from policyd.policy.suite import runner as suites
from policyd.policy.suite.expectations import CaseAnswer
from policyd.server.policies.policy_loader import PolicyLoader
from tests.builders.policies import policy, suite

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
GARBLED = gzip.compress(b"a: 1", mtime=0)[:12] + b"\xff" * 9
HIDDEN = "apiVersion: v1\nkind: Config\nmetadata: {name: a}\nhidden: 'open: sesame'\n"


def case(name: str) -> dict[str, Any]:
    return {"name": "c", "request": {"objectFile": name}, "expect": {"patched": {"a": 1}}}


def ran(folder: Path) -> suites.CaseResult:
    """The case of the suite in a folder."""
    (document,) = [each for each in load([folder]).documents if each.kind == "PolicyTest"]

    def admitted(review: Any, webhooks: Any, completed: suites.Completed) -> CaseAnswer:
        allowed = {"uid": "u", "allowed": True}
        return CaseAnswer(allowed, (), {}, [], review["request"]["object"])

    return suites.run(document, admitted)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of policies, beside which there is something that is none of its business."""
    (tmp_path / "hidden.yaml").write_text(HIDDEN)
    made = tmp_path / "policies"
    (made / "inner").mkdir(parents=True)
    (made / "pod.yaml").write_text(POD)
    return made


OUTSIDE = [
    "{}/hidden.yaml",
    "../hidden.yaml",
    "inner/../../hidden.yaml",
    "link.yaml",
    "inner/up/hidden.yaml",
    "/dev/stdin",
    "/proc/self/environ",
    "/etc",
    "a\0b",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_path_that_leads_out_is_refused_unread(folder: Path, name: str) -> None:
    (folder / "link.yaml").symlink_to("../hidden.yaml")
    (folder / "inner" / "up").symlink_to("../..")
    named = name.format(folder.parent)
    (folder / "suite.json").write_text(json.dumps(suite(cases=[case(named)])))
    (document,) = [each for each in load([folder]).documents if each.kind == "PolicyTest"]
    if document.model is None:  # such a text is an error already
        assert document.problems
        return
    result = ran(folder)
    assert "outside the directory of the policies" in result.error or "not a path" in result.error
    assert "sesame" not in result.error


@pytest.mark.parametrize(
    "name", ["pod.yaml", "./inner/../pod.yaml", "inner/link.yaml", "{}/pod.yaml"]
)
def test_a_path_that_stays_inside_is_read(folder: Path, name: str) -> None:
    (folder / "inner" / "link.yaml").symlink_to("../pod.yaml")
    (folder / "suite.yaml").write_text(text(suite(cases=[case(name.format(folder))])))
    assert ran(folder).error == ""


def test_a_suite_below_the_folder_reads_all_of_the_folder(folder: Path) -> None:
    (folder / "inner" / "suite.yaml").write_text(text(suite(cases=[case("../pod.yaml")])))
    assert ran(folder).error == ""
    assert "outside" in ran(folder / "inner").error


def test_links_of_a_mounted_config_map_are_followed(tmp_path: Path) -> None:
    real = tmp_path / "..2026_11_22"
    real.mkdir()
    (real / "suite.yaml").write_text(text(suite(cases=[case("pod.yaml")])))
    (real / "pod.yaml").write_text(POD)
    (tmp_path / "..data").symlink_to(real.name)
    for name in ("suite.yaml", "pod.yaml"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    assert ran(tmp_path).error == ""


def test_only_regular_files_are_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml.fifo")
    (folder / "suite.yaml").write_text(text(suite(cases=[case("pipe.yaml.fifo")])))
    assert "not a regular file" in ran(folder).error


@pytest.mark.parametrize(
    "data", [b"no gzip", b"", gzip.compress(b"a: 1" * 99, mtime=0)[:20], GARBLED]
)
def test_a_packed_file_that_is_broken_is_an_error_of_its_case(folder: Path, data: bytes) -> None:
    (folder / "pod.yaml.gz").write_bytes(data)
    (folder / "suite.yaml").write_text(text(suite(cases=[case("pod.yaml.gz")])))
    assert ran(folder).error


def test_no_policy_is_taken_away_by_naming_it_as_a_fixture(folder: Path) -> None:
    (folder / "policy.yaml").write_text(text(policy()))
    (folder / "suite.yaml").write_text(text(suite(cases=[case("policy.yaml")])))
    assert "Policy" in [each.kind for each in load([folder]).documents]


def served(folder: Path) -> list[str]:
    return [str(each) for each in PolicyLoader().load([folder]).failures]


@pytest.mark.parametrize("name", ["../hidden.yaml", "{}/hidden.yaml", "/proc/self/environ"])
def test_a_server_reads_no_policies_of_other_folders(folder: Path, name: str) -> None:
    made = suite(policies=[name.format(folder.parent)], cases=[case("pod.yaml")])
    (folder / "suite.yaml").write_text(text(made))
    (failure,) = served(folder)
    assert "outside the directory of the policies" in failure
    assert "sesame" not in failure


def test_what_a_server_says_of_a_failed_case_shows_no_values(folder: Path) -> None:
    (folder / "values.yaml").write_text(HIDDEN)
    (folder / "broken.yaml.txt").write_text("apiVersion: v1\nkind: !!int sesame\n")
    for name in ("values.yaml", "broken.yaml.txt"):
        (folder / "suite.yaml").write_text(text(suite(cases=[case(name)])))
        (failure,) = served(folder)
        assert "case 'c' failed" in failure
        assert "sesame" not in failure
