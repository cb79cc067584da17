"""``policyd configmap``: what a Pod that mounts the ConfigMap loads is what was packed."""

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.policy.source.loader import load
from tests.cli.within import answered
from tests.shared import ROOT

RULES = (
    'resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]'
)
POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: {name}}}
spec:
  # a comment that is kept
  matchConstraints: {{{rules}}}
  validations:
  - {{expression: "{expression}"}}
"""
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: suite}
cases:
- name: admitted
  request: {objectFile: pod.yaml}
  expect: {allowed: true}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


def policy_text(name: str, expression: str = "true") -> str:
    return POLICY.format(name=name, rules=RULES, expression=expression)


def run(*arguments: str) -> tuple[int, str]:
    return answered("configmap", *arguments)


def packed(*arguments: str) -> dict[str, Any]:
    status, output = run(*arguments)
    assert status == 0, output
    made: dict[str, Any] = yaml.safe_load(output)
    return made


def mounted(config_map: dict[str, Any], folder: Path) -> Path:
    """The files that kubelet makes of a ConfigMap."""
    folder.mkdir()
    for key, text in config_map.get("data", {}).items():
        (folder / key).write_text(text)
    for key, text in config_map.get("binaryData", {}).items():
        (folder / key).write_bytes(base64.b64decode(text))
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Policies as people keep them: with suites, fixtures, several documents in a file, parameters."""
    files = {
        "one/policy.yaml": policy_text("one"),
        "one/suite.yaml": SUITE,
        "one/pod.yaml": POD,
        "team/two.yaml": f"# all of a team\n{policy_text('two')}---\n{policy_text('three')}---\n{SUITE}",
        "namespaces.yaml": NAMESPACE,
    }
    for name, text in files.items():
        file = tmp_path / "policies" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "policies"


@pytest.mark.parametrize("more", [(), ("--gzip",)], ids=["plain", "gzip"])
def test_what_is_mounted_loads_as_what_was_packed(
    more: tuple[str, ...], tree: Path, tmp_path: Path
) -> None:
    found = load([mounted(packed(str(tree), *more), tmp_path / "mounted")])
    assert found.problems == ()
    labels = sorted(each.label for each in found.documents)
    assert labels == ["Namespace shop", "Policy one", "Policy three", "Policy two"]


def test_keys_are_names_of_policies_or_paths_and_comments_stay(tree: Path) -> None:
    made = packed(str(tree))
    assert made["metadata"] == {"name": "policyd-policies", "namespace": "policyd"}
    assert sorted(made["data"]) == ["namespaces.yaml", "one.yaml", "team.two.yaml"]
    assert made["data"]["one.yaml"] == policy_text("one")
    assert (
        made["data"]["team.two.yaml"]
        == f"# all of a team\n{policy_text('two')}---\n{policy_text('three')}"
    )


def test_texts_are_written_as_blocks_that_people_can_edit(tree: Path) -> None:
    file = tree / "one" / "policy.yaml"
    file.write_text(policy_text("one").replace("kept", "kept  \r"))
    assert "one.yaml: |\n    apiVersion: policyd.dev/v1" in run(str(tree))[1]


def test_blanks_that_mean_something_stay(tree: Path, tmp_path: Path) -> None:
    text = policy_text("one") + "  description: |\n    two  \n    lines\n"
    (tree / "one" / "policy.yaml").write_text(text)
    (document,) = load([mounted(packed(str(tree / "one")), tmp_path / "mounted")]).documents
    assert document.raw["spec"]["description"] == "two  \nlines\n"


def test_a_file_and_names_of_ones_own(tree: Path, tmp_path: Path) -> None:
    written = tmp_path / "made.yaml"
    status, output = run(
        str(tree / "team" / "two.yaml"), "--name=mine", "-n", "shop", "-o", str(written)
    )
    assert (status, output) == (0, f"wrote {written}\n")
    made = yaml.safe_load(written.read_text())
    assert made["metadata"] == {"name": "mine", "namespace": "shop"}
    assert list(made["data"]) == ["two.yaml"]


def test_the_library_fits_in_both_forms() -> None:
    plain, compressed = packed(str(ROOT / "policies")), packed(str(ROOT / "policies"), "--gzip")
    assert {f"{key}.gz" for key in plain["data"]} == compressed["binaryData"].keys()
    for key, text in plain["data"].items():
        raw = gzip.decompress(base64.b64decode(compressed["binaryData"][f"{key}.gz"]))
        assert raw.decode() == text


WRONG = {
    "a policy that does not compile": ({"a.yaml": policy_text("a", "object.")}, "a.yaml:8:"),
    "a syntax error": ({"a.yaml": "a: [\n"}, "a.yaml:1:4:"),
    "no policy": ({"a.yaml": NAMESPACE}, "no policies in "),
    "one key twice": (
        {"a/b.yaml": policy_text("x") + "---\n" + policy_text("z"), "a.b.yaml": NAMESPACE},
        "a second file for the key a.b.yaml; rename it",
    ),
    "too large": (
        {"a.yaml": policy_text("a") + "# " + "x" * 2**20},
        "1024 KiB of policies do not fit a ConfigMap of 1 MiB: use --gzip",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_packed(files: dict[str, str], message: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    status, output = run(str(tmp_path))
    assert status == 2
    assert message in output


def test_large_ones_need_server_side_apply(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(policy_text("a") + "# " + "x" * 2**18)
    assert "without --server-side" in run(str(tmp_path))[1]


def test_a_name_that_kubernetes_refuses(tree: Path) -> None:
    status, output = run(str(tree), "--name", "Not Valid")
    assert status == 2
    assert "Invalid value for --name: 'Not Valid' is not valid" in output


def test_labels_are_set(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(policy_text("a"))
    given = ("--label", "policyd.dev/policies=true", "-l", "team=")
    assert packed(str(tmp_path), *given)["metadata"]["labels"] == {
        "policyd.dev/policies": "true",
        "team": "",
    }
    assert "labels" not in packed(str(tmp_path))["metadata"]


@pytest.mark.parametrize("label", ["a", "=b", "a=b c", "a/b/c=d"])
def test_a_label_is_valid(tmp_path: Path, label: str) -> None:
    (tmp_path / "a.yaml").write_text(policy_text("a"))
    status, output = run(str(tmp_path), "--label", label)
    assert status == 2 and "--label" in output
