"""Every policy that comes with policyd is well-formed, named, described and tested: its suite holds, judged
by the policies beside it. The runner itself sees to it that what was mutated is left alone when it comes
again.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite import runner
from tests.shared import ROOT

FOLDERS = sorted(each.parent for each in (ROOT / "policies").rglob("policy.yaml"))
IDS = [str(each.relative_to(ROOT / "policies")) for each in FOLDERS]
# What policies read besides the object, as an example of what a cluster has.
PARAMETERS = {"ConfigMap", "Namespace"}
SEVERITIES = {"low", "medium", "high"}


@cache
def loaded(folder: Path) -> Sources:
    return loader.load([folder])


def one_of(folder: Path, kind: str) -> Document:
    (found,) = loaded(folder).of_kind(kind)
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_folder_holds_a_policy_and_its_suite(folder: Path) -> None:
    sources = loaded(folder)
    assert [str(each) for each in sources.problems] == []
    kinds = {each.kind for each in sources.documents}
    assert kinds - PARAMETERS == {"Policy", "PolicyTest"}
    names = {each.name for each in sources.documents if each.kind not in PARAMETERS}
    assert names in ({folder.name}, {f"{folder.parent.name}-{folder.name}"})


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_policy_is_described(folder: Path) -> None:
    policy = one_of(folder, "Policy")
    annotations = policy.raw["metadata"]["annotations"]
    assert annotations["policyd.dev/category"]
    assert annotations["policyd.dev/severity"] in SEVERITIES
    assert policy.raw["spec"]["description"].endswith(".")


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_suite_has_cases_of_each_kind(folder: Path) -> None:
    """What passes, what does not (or is changed or warned about), an update, an edge, and a controller."""
    policy = one_of(folder, "Policy")
    suite = one_of(folder, "PolicyTest")
    cases = suite.raw["cases"]
    assert len({each["name"] for each in cases}) == len(cases) >= 4
    rules = policy.raw["spec"]["matchConstraints"]["resourceRules"]
    judged = {operation for rule in rules for operation in rule["operations"]}
    assert judged | {"UPDATE"} <= {each["request"]["operation"] for each in cases}
    assert any(each["expect"]["allowed"] for each in cases)
    assert any(
        not each["expect"]["allowed"] or each["expect"].keys() & {"patched", "warnings"}
        for each in cases
    )
    assert any(has_edge(each["request"]) for each in cases)
    if policy.raw["spec"].get("podControllers"):
        assert any(has_template(each["request"]) for each in cases)


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_denials_say_why(folder: Path) -> None:
    """Each case that is denied asks for a text of the policy's own, not of an error."""
    suite = one_of(folder, "PolicyTest")
    for case in suite.raw["cases"]:
        if not case["expect"]["allowed"]:
            assert case["expect"].get("message"), case["name"]


def has_edge(value: Any) -> bool:
    """Whether something is null, empty, or an init container."""
    if isinstance(value, dict):
        return "initContainers" in value or any(has_edge(each) for each in value.values())
    if isinstance(value, list):
        return not value or any(has_edge(each) for each in value)
    return value is None


def has_template(request: dict[str, Any]) -> bool:
    """Whether it is about a pod controller."""
    found = request.get("object") or {}
    return bool({"template", "jobTemplate"} & (found.get("spec") or {}).keys())


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


def results(document: Document) -> list[runner.CaseResult]:
    """The cases of a suite, judged by the policies that it names, as `policyd test` does."""
    whole = compiler.compile_strict(loader.load([Path(document.file).parent]))
    policies = SuitePolicies.of(document, whole)
    return runner.run(document, policies.admit, within=policies.admitting)


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_suites_hold(folder: Path) -> None:
    document = one_of(folder, "PolicyTest")
    found = results(document)
    assert len(found) >= 4
    wrong = [(each.name, each.error, each.mismatches) for each in found if not each.passed]
    assert wrong == []
    print(f"{len(found)} passed of {len(found)}")
