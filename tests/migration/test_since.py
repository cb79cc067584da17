"""``policyd import --cluster --since``: what changed at the sources."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from policyd.errors import ConfigError
from tests.cluster.contents import Contents
from tests.cluster.fake import refusal
from tests.importers.kyverno.classic import cluster_policy, pattern
from tests.migration.conftest import Run
from tests.migration.engines import (
    CLUSTER_POLICIES,
    CONSTRAINTS,
    EXCEPTIONS,
    LABELS,
    POLICIES,
    TEMPLATES,
    added,
    labels_exempting,
    template_spec,
)

OTHER = cluster_policy(pattern({"metadata": {"labels": {"owner": "?*"}}}))["spec"]
GENERATE = {"rules": [{"name": "r", "match": {}, "generate": {"kind": "Secret"}}]}
Change = Callable[[Contents], object]


@pytest.fixture
def imported(contents: Contents, run: Run) -> None:
    """An earlier import of four sources."""
    for name in ("one", "two"):
        added(contents, CLUSTER_POLICIES, name, spec=LABELS)
    added(contents, POLICIES, "own", "team-a", spec=LABELS)
    added(contents, TEMPLATES, "k8snolatest", spec=template_spec())
    added(contents, CONSTRAINTS, "no-latest", spec={})
    assert run("import", "--cluster", "-o", "before").exit_code == 0


def changes(run: Run, *flags: str) -> dict[str, tuple[str, str]]:
    done = run("import", "--cluster", "--since", "before", "--format", "json", *flags)
    found = json.loads(done.stdout)["changes"]
    return {each["source"]: (each["state"], each["why"]) for each in found}


def edited(contents: Contents) -> None:
    added(contents, CLUSTER_POLICIES, "one", spec=OTHER)


def exempted(contents: Contents) -> None:
    added(contents, EXCEPTIONS, "e", "team-a", spec=labels_exempting("one"))


def templated(contents: Contents) -> None:
    added(contents, TEMPLATES, "k8snolatest", spec=template_spec("object != null"))


def replaced(contents: Contents) -> None:
    contents.objects[CLUSTER_POLICIES][0]["metadata"]["uid"] = "another"


def generating(contents: Contents) -> None:
    added(contents, CLUSTER_POLICIES, "one", spec=GENERATE)


def deleted(contents: Contents) -> None:
    del contents.objects[CLUSTER_POLICIES][0]


def ready(contents: Contents) -> None:
    added(contents, CLUSTER_POLICIES, "one", spec=LABELS, status={"ready": True})


ROWS: list[tuple[Change, str, tuple[str, str]]] = [
    (edited, "ClusterPolicy/one", ("changed", "its resourceVersion is 2, and was 1")),
    (exempted, "ClusterPolicy/one", ("changed", "a related object changed, such as an exception")),
    (templated, "K8sNoLatest/no-latest", ("changed", "a related object changed, such as an exception")),
    (replaced, "ClusterPolicy/one", ("changed", "it was created again, with the same content")),
    (generating, "ClusterPolicy/one", ("changed", "it cannot be imported any more")),
    (deleted, "ClusterPolicy/one", ("gone", "")),
    (ready, "ClusterPolicy/one", ("unchanged", "")),
]  # fmt: skip


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize(("change", "source", "want"), ROWS)
def test_the_change_of_a_source_is_found(
    contents: Contents, run: Run, change: Change, source: str, want: tuple[str, str]
) -> None:
    change(contents)
    found = changes(run)
    assert found.pop(source) == want
    assert {state for state, _ in found.values()} == {"unchanged"}
    assert len(found) == 3


@pytest.mark.usefixtures("imported")
def test_only_what_is_new_or_changed_is_written(contents: Contents, run: Run) -> None:
    added(contents, CLUSTER_POLICIES, "three", spec=LABELS)
    edited(contents)
    del contents.objects[POLICIES][0]
    done = run("import", "--cluster", "--since", "before", "-o", "after")
    assert done.exit_code == 0
    assert sorted(each.name for each in Path("after").iterdir()) == ["one.yaml", "three.yaml"]
    lines = done.stdout.splitlines()
    assert lines[-4].split("  ")[0] == "changed"
    assert "ClusterPolicy/one" in lines[-4]
    assert "imported to before/one.yaml" in lines[-4]
    assert lines[-3].split() == [
        "gone", "Policy/team-a/own", "imported", "to", "before/team-a-own.yaml",
    ]  # fmt: skip
    assert lines[-2].split() == ["new", "ClusterPolicy/three"]
    assert lines[-1] == "2 sources unchanged"
    with pytest.raises(ConfigError, match=r"before/one\.yaml exists, with other content"):
        run("import", "--cluster", "--since", "before", "-o", "before")


@pytest.mark.usefixtures("imported")
def test_a_policy_that_was_edited_and_renamed_is_known_by_its_annotation(run: Run) -> None:
    file = Path("before/one.yaml")
    text = file.read_text().replace("name: one", "name: renamed")
    file.unlink()
    Path("before/mine.yaml").write_text(text.replace("[Deny]", "[Audit]"))
    assert changes(run)["ClusterPolicy/one"] == ("unchanged", "")


@pytest.mark.usefixtures("imported")
def test_what_was_not_read_is_not_gone(contents: Contents, run: Run) -> None:
    contents.special = lambda call: (
        refusal(403, "no") if call.path.startswith(CLUSTER_POLICIES) else None
    )
    assert "ClusterPolicy/one" not in changes(run)
    contents.special = lambda call: (
        refusal(403, "no") if call.path == "/apis/kyverno.io/v1" else None
    )
    assert set(changes(run)) == {"K8sNoLatest/no-latest"}
    contents.special = lambda call: None
    del contents.objects[POLICIES][0], contents.objects[CLUSTER_POLICIES][0]
    assert changes(run, "-n", "team-a") == {"Policy/team-a/own": ("gone", "")}


@pytest.mark.usefixtures("imported")
def test_an_import_of_files_has_nothing_to_compare_with(run: Run) -> None:
    file = Path("before/one.yaml")
    policy = yaml.safe_load(file.read_text())
    policy["metadata"]["annotations"]["policyd.dev/imported-from"] = "ClusterPolicy/one"
    other = {**policy, "metadata": {"name": "x", "annotations": {"policyd.dev/imported-from": "y"}}}
    file.write_text(yaml.safe_dump_all([policy, other]))
    found = changes(run)
    assert found["ClusterPolicy/one"][0] == "changed"
    assert found["ClusterPolicy/one"][1].startswith("it was imported from a file")
    assert "y" not in found
