"""Reading sources: files, folders and streams; tests that lie beside policies, hidden or not."""

from pathlib import Path

from policyd.importers.reading import read_sources, read_tests
from tests.importers.sources import small_pod, source, write

TEST = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Test", "metadata": {"name": "t"}}
SUITE = {"apiVersion": "test.gatekeeper.sh/v1alpha1", "kind": "Suite", "metadata": {"name": "s"}}


def test_a_folder_holds_policies_tests_and_manifests(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/p.yaml": [source("one"), source("two")],
            "a/.kyverno-test/kyverno-test.yaml": TEST,
            "a/.kyverno-test/resource.yaml": small_pod("x"),
            "b/kyverno-test.yaml": {"name": "old", "policies": []},
            "c/suite.yaml": SUITE,
            "c/kustomization.yaml": {"resources": ["x"]},
            "README.md": "no YAML",
        },
    )
    read = read_sources([tmp_path])
    assert [each.name for each in read.documents] == ["one", "two"]
    assert [each.name for each in read.tests] == ["old", "s", "t"]
    assert read.problems == ()


def test_a_file_has_the_tests_beside_it(tmp_path: Path) -> None:
    write(tmp_path, {"p.yaml": source(), ".kyverno-test/kyverno-test.yaml": TEST})
    read = read_sources([tmp_path / "p.yaml"])
    assert [each.name for each in read.tests] == ["t"]


def test_a_list_is_unrolled_with_places(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: a/v1\n  kind: A\n  spec: {x: 1}\n"
    write(tmp_path, {"list.yaml": text})
    (found,) = read_sources([tmp_path]).documents
    assert (found.kind, found.place("spec.x")) == ("A", (6, 13))


def test_broken_yaml_is_a_problem_of_its_own_document(tmp_path: Path) -> None:
    write(tmp_path, {"p.yaml": "apiVersion: a/v1\nkind: A\n---\na: [\n---\nkind: {}\n"})
    read = read_sources([tmp_path])
    assert [each.kind for each in read.documents] == ["A"]
    assert [each.rule for each in read.problems] == ["syntax"]


def test_tests_are_found_without_the_manifests_beside_them(tmp_path: Path) -> None:
    write(tmp_path, {"kyverno-test.yaml": TEST, "x.yaml": "a: [", "suite.yaml": SUITE})
    tests, problems = read_tests([tmp_path])
    assert ([each.name for each in tests], problems) == (["t", "s"], [])
