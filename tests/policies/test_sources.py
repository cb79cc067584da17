"""Every policy that comes with policyd is well-formed, named, described and tested."""

from pathlib import Path

import pytest

from policyd.policy import loader
from tests.shared import ROOT

FOLDERS = sorted(each.parent for each in (ROOT / "policies").rglob("policy.yaml"))
IDS = [str(each.relative_to(ROOT / "policies")) for each in FOLDERS]
# What policies read besides the object, as an example of what a cluster has.
PARAMETERS = {"ConfigMap", "Namespace"}
SEVERITIES = {"low", "medium", "high"}


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_folder_holds_a_policy_and_its_suite(folder: Path) -> None:
    sources = loader.load([folder])
    assert [str(each) for each in sources.problems] == []
    kinds = {each.kind for each in sources.documents}
    assert kinds - PARAMETERS == {"Policy", "PolicyTest"}
    names = {each.name for each in sources.documents if each.kind not in PARAMETERS}
    assert names in ({folder.name}, {f"{folder.parent.name}-{folder.name}"})


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_policy_is_described(folder: Path) -> None:
    (policy,) = loader.load([folder / "policy.yaml"]).documents
    annotations = policy.raw["metadata"]["annotations"]
    assert annotations["policyd.dev/category"]
    assert annotations["policyd.dev/severity"] in SEVERITIES
    assert policy.raw["spec"]["description"].endswith(".")


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_suite_admits_changes_and_leaves_alone(folder: Path) -> None:
    """At least: what passes, what does not (or is changed), an update, and an edge."""
    (suite,) = loader.load([folder / "suite.yaml"]).documents
    cases = suite.raw["cases"]
    assert len({each["name"] for each in cases}) == len(cases) >= 4
    operations = {each["request"]["operation"] for each in cases}
    assert {"CREATE", "UPDATE"} <= operations
    assert any(each["expect"]["allowed"] for each in cases)
    assert any(not each["expect"]["allowed"] or each["expect"].get("patched") for each in cases)


def test_names_are_unique() -> None:
    sources = loader.load([ROOT / "policies"])
    assert sources.problems == ()
    policies = [each.name for each in sources.documents if each.kind == "Policy"]
    assert len(set(policies)) == len(policies) == len(FOLDERS)


def test_the_config_map_of_the_deployment_loads() -> None:
    (config_map,) = loader.load([ROOT / "deploy" / "base" / "policies.yaml"]).documents
    for key, text in config_map.raw["data"].items():
        (policy,) = loader.load_text(text, key).documents
        assert policy.problems == ()
        assert f"{policy.name}.yaml" == key
