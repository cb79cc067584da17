"""The second round of mutating policies: what is matched anew, what is invoked, whose errors count."""

from typing import Any

import pytest

from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import map_, map_binding, rule
from tests.policy_sets import ask, load, patched

OBJECT = config_map("c", data={"log": ""})
OBJECT["metadata"]["labels"] = {"app": "x"}
RULES: JSONObject = {"resourceRules": [rule("configmaps", "namespaces", operations=["CREATE"])]}
UNLABEL = "JSONPatch{op: 'remove', path: '/metadata/labels/app'}"
RELABEL = "JSONPatch{op: 'add', path: '/metadata/labels/app', value: 'y'}"


def selecting(value: str = "x") -> JSONObject:
    return {"objectSelector": {"matchLabels": {"app": value}}}


def logging(name: str, *more: str, again: bool = True, **spec: Any) -> JSONObject:
    """A policy that writes its name, and does what ``more`` says."""
    write = f"JSONPatch{{op: 'replace', path: '/data/log', value: object.data.log + '{name}'}}"
    patch = {"expression": f"[{', '.join([write, *more])}]"}
    constraints = {**RULES, **spec.pop("constraints", {})}
    return map_(
        name,
        matchConstraints=constraints,
        mutations=[{"patchType": "JSONPatch", "jsonPatch": patch}],
        reinvocationPolicy="IfNeeded" if again else "Never",
        **spec,
    )


def bound(name: str, suffix: str = "", **spec: Any) -> JSONObject:
    return map_binding(f"{name}-b{suffix}", policyName=name, **spec)


def log(policies: PolicySet, obj: JSONObject = OBJECT) -> str:
    answer = ask(policies, obj, webhook="mutate")
    if not answer["allowed"]:
        return str(answer["status"]["message"])
    return str(patched(answer, obj)["data"]["log"])


@pytest.mark.parametrize("of_binding", [False, True])
def test_a_selector_that_fits_no_more_ends_it(of_binding: bool) -> None:
    on_policy: dict[str, Any] = {} if of_binding else {"constraints": selecting()}
    on_binding: dict[str, Any] = {"matchResources": selecting()} if of_binding else {}
    policies = load(logging("a", UNLABEL, **on_policy), bound("a", **on_binding))
    assert log(policies) == "a"


def test_a_selector_that_still_fits_invokes_once_more() -> None:
    assert log(load(logging("a"), bound("a", matchResources=selecting()))) == "aa"


def test_what_only_matches_the_second_time_is_not_invoked() -> None:
    late = logging("a", constraints=selecting("y"))
    assert log(load(late, bound("a"), logging("b", RELABEL, again=False), bound("b"))) == "b"


def test_a_binding_that_only_matches_the_second_time_is_not_invoked() -> None:
    policies = load(
        logging("a", RELABEL),
        bound("a", "1", matchResources=selecting()),
        bound("a", "2", matchResources=selecting("y")),
    )
    # The first binding relabels; the second was asked before that.
    assert log(policies) == "a"


def test_conditions_see_the_object_as_it_is_at_their_turn_in_both_rounds() -> None:
    first = [{"name": "n", "expression": "object.data.log == ''"}]
    assert log(load(logging("a", matchConditions=first), bound("a"))) == "a"
    after = [{"name": "n", "expression": "object.data.log != ''"}]
    # False the first time: it was not invoked, and is not invoked when it is true.
    policies = load(
        logging("a", matchConditions=after), bound("a"), logging("b", again=False), bound("b")
    )
    assert log(policies) == "b"


@pytest.mark.parametrize("fail", [True, False])
def test_errors_of_conditions_count_in_the_second_round_of_every_policy_that_matches(
    fail: bool,
) -> None:
    late = logging(
        "a",
        again=False,
        constraints=selecting("y"),
        matchConditions=[{"name": "n", "expression": "object.data.missing == ''"}],
        failurePolicy="Fail" if fail else "Ignore",
    )
    policies = load(late, bound("a"), logging("b", RELABEL, again=False), bound("b"))
    text = "policy 'a' with binding 'a-b' denied request: expression 'object.data.missing == ''' "
    assert log(policies) == (f"{text}resulted in error: no such key: missing" if fail else "b")


def test_params_that_only_the_second_round_misses_deny() -> None:
    late = logging("a", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    missing = {"name": "none", "namespace": "shop", "parameterNotFoundAction": "Deny"}
    binding = bound("a", matchResources=selecting("y"), paramRef=missing)
    policies = load(late, binding, logging("b", RELABEL, again=False), bound("b"))
    assert log(policies) == (
        "policy 'a' with binding 'a-b' denied request: failed to configure binding: "
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )


def test_a_denial_of_the_first_round_is_the_end() -> None:
    wrong = logging("b", "JSONPatch{op: 'remove', path: '/data/none'}")
    late = logging(
        "c",
        constraints=selecting("y"),
        matchConditions=[{"name": "n", "expression": "object.data.missing == ''"}],
    )
    policies = load(logging("a", RELABEL), bound("a"), wrong, bound("b"), late, bound("c"))
    answer = ask(policies, OBJECT, webhook="mutate")
    assert len(answer["status"]["details"]["causes"]) == 1


def test_each_param_is_invoked_once_more_on_its_own() -> None:
    params = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "shop", "labels": {"param": "y"}},
        }
        for name in ("p", "q")
    ]
    policy = logging(
        "a",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[
            {"name": "n", "expression": "params.metadata.name == 'p' || object.data.log == 'aa'"}
        ],
    )
    ref = {"selector": {"matchLabels": {"param": "y"}}, "parameterNotFoundAction": "Deny"}
    # p alone is invoked, and once more; q, whose turn comes when the log is aa, is not due.
    assert log(load(policy, bound("a", paramRef=ref), *params)) == "aa"


def test_a_namespace_is_selected_by_the_labels_that_it_has_in_each_round() -> None:
    space: JSONObject = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "n", "labels": {"app": "x"}, "annotations": {"log": ""}},
    }
    write = (
        "JSONPatch{op: 'replace', path: '/metadata/annotations/log', "
        "value: object.metadata.annotations.log + 'a'}"
    )
    policy = map_(
        "a",
        matchConstraints={**RULES, "namespaceSelector": {"matchLabels": {"app": "x"}}},
        mutations=[
            {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{write}, {UNLABEL}]"}}
        ],
        reinvocationPolicy="IfNeeded",
    )
    answer = ask(load(policy, bound("a")), space, webhook="mutate")
    assert patched(answer, space)["metadata"]["annotations"] == {"log": "a"}
