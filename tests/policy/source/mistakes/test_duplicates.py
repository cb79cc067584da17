"""Two bundles with policies of one name: the older one has it, whatever is edited afterwards."""

import json
from itertools import permutations

import pytest

from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import bundle_of, config_map_of
from policyd.policy.source.files import Bundle, SourceFile
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load
from tests.builders.config_maps import of_day, policy_map
from tests.builders.policies import (
    demand,
    map_,
    map_binding,
    policy,
    policy_exception,
    rollout_document,
    vap,
    vap_binding,
)


def bundle(name: str, day: int, *documents: JSONObject, version: int = 1) -> Bundle:
    """The files of a ConfigMap that was created on this day, one for each document."""
    files: dict[str, bytes | str] = {
        f"{number}.json": json.dumps(each) for number, each in enumerate(documents)
    }
    return bundle_of(of_day(policy_map(name, files, version=version), day))


def used(sources: Sources) -> list[tuple[str, str, str]]:
    """The bundle, kind and name of what is loaded without problems."""
    return sorted(
        (each.file.split("/")[1], each.kind, each.name)
        for each in sources.documents
        if each.model is not None and not each.problems
    )


def broken(sources: Sources) -> list[str]:
    return [each.name for each in sources.documents if each.problems]


def test_the_bundle_that_was_created_first_has_the_name() -> None:
    young, old = bundle("a", 2, policy("p")), bundle("b", 1, policy("p"), version=9)
    for given in permutations([young, old]):
        sources = load(given)
        assert used(sources) == [("b", "Policy", "p")]
        assert broken(sources) == [], "nothing is quarantined"
        [problem] = sources.problems
        assert (problem.file, problem.rule) == ("configmap/a/0.json", "name-taken")
        assert "Policy p is defined twice: first in configmap/b/0.json:1" in problem.message
        assert "only the policy in configmap/b/0.json is used" in problem.hint


def test_names_decide_between_bundles_of_one_second() -> None:
    for given in permutations([bundle(name, 1, policy("p")) for name in "cab"]):
        sources = load(given)
        assert used(sources) == [("a", "Policy", "p")]
        assert len(sources.problems) == 2


def test_kept_bundles_have_the_same_order() -> None:
    given = [bundle("a", 2, policy("p")), bundle("b", 1, policy("p"))]
    assert used(load([bundle_of(config_map_of(each)) for each in given])) == used(load(given))


def test_files_come_before_config_maps() -> None:
    mine = Bundle("files", (SourceFile("p/a.json", "p/a.json", json.dumps(policy("p")).encode()),))
    assert used(load([bundle("a", 1, policy("p")), mine])) == [("a.json", "Policy", "p")]


@pytest.mark.parametrize(
    ("first", "second"),
    [(policy("p"), vap("p")), (vap("p"), policy("p")), (policy("p"), map_("p"))],
)
def test_the_name_of_a_policy_is_unique_across_kinds(first: JSONObject, second: JSONObject) -> None:
    sources = load([bundle("a", 1, first), bundle("b", 2, second)])
    assert used(sources) == [("a", first["kind"], "p")]
    assert broken(sources) == []


def test_a_validating_and_a_mutating_policy_may_share_a_name() -> None:
    sources = load([bundle("a", 1, vap("p")), bundle("b", 2, map_("p"))])
    assert sources.problems == () and len(used(sources)) == 2


ABOUT = [
    vap_binding("one", policyName="p"),
    rollout_document("two", policyName="p", enforce={}),
    policy_exception("three", "p", resources=[{"names": ["x"]}]),
]
OTHERS = [
    vap("q"),
    vap_binding("four", policyName="q"),
    map_("p"),
    map_binding("five", policyName="p"),
    policy_exception("six", "q", resources=[{"names": ["x"]}]),
    policy_exception("seven", "p*", resources=[{"names": ["x"]}]),
]


def test_what_is_only_about_the_copy_is_left_out_with_it() -> None:
    """A binding would enforce the other policy, a rollout or an exception would weaken it."""
    sources = load([bundle("a", 1, vap("p")), bundle("b", 2, vap("p"), *ABOUT, *OTHERS)])
    names = [(each["kind"], each["metadata"]["name"]) for each in OTHERS]
    assert used(sources) == sorted(
        [("a", "ValidatingAdmissionPolicy", "p"), *(("b", *each) for each in names)]
    )
    assert [each.rule for each in sources.problems] == ["name-taken"]


def test_what_is_about_the_policy_that_is_used_stays() -> None:
    sources = load([bundle("a", 1, vap("p"), *ABOUT), bundle("b", 2, vap("p"))])
    assert len(used(sources)) == 1 + len(ABOUT)


def test_other_problems_of_what_is_left_out_are_reported() -> None:
    wrong = vap_binding("one", policyName="p", validationActions=["Refuse"])
    copy = policy("p", validations=[demand("true", "m", nonsense=1)])
    sources = load([bundle("a", 1, policy("p")), bundle("b", 2, copy, wrong)])
    rules = [each.rule for each in sources.problems]
    assert "name-taken" in rules and "unknown-field" in rules
    sources = load([bundle("a", 1, vap("p")), bundle("b", 2, vap("p"), wrong)])
    assert any("Refuse" in each.message for each in sources.problems)


def test_a_copy_in_the_same_bundle_is_broken() -> None:
    sources = load([bundle("a", 1, policy("p"), policy("p"))])
    assert used(sources) == [("a", "Policy", "p")]
    assert broken(sources) == ["p"], "it is quarantined: one author means one of the two"


def test_bindings_of_one_name_stay_broken() -> None:
    """Left out, the second one would leave its policy without effect."""
    one, two = vap_binding("b", policyName="p"), vap_binding("b", policyName="q")
    sources = load([bundle("a", 1, vap("p"), one), bundle("b", 2, vap("q"), two)])
    assert broken(sources) == ["b"]
