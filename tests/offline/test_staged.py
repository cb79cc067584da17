"""Rollouts off the request path: the goal and the stage of suites, explanations and admissions."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.offline.admitting import Admitter
from policyd.offline.explained_policies import ExplainedPolicies
from policyd.offline.explaining import Explainer
from policyd.offline.stories import PolicyStory, WebhookStory
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.model.suite import Webhook
from policyd.policy.suite import runner
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import (
    demand,
    labelling,
    map_,
    map_binding,
    policy,
    rollout_document,
    suite,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled, loaded

NEVER = "2127-03-01T00:00:00Z"
PAST = "2024-03-01T00:00:00Z"
TEAM = demand("has(object.metadata.labels)", "no team")
SHADOW: JSONObject = {"enforce": {}}


def staged(given: JSONObject = SHADOW, **spec: Any) -> JSONObject:
    return policy("team", validations=[TEAM], rollout=given, **spec)


def violations(*documents: JSONObject, enforced: bool = False) -> list[tuple[str, str]]:
    policies = compiled(*documents)
    found = Admitter(policies.enforced if enforced else policies).admit(build_review(pod()))
    return [(each.outcome, each.rollout) for each in found.violations]


@pytest.mark.parametrize(
    "documents",
    [
        [staged()],
        [vap("v", validations=[TEAM]), vap_binding(policyName="v"), rollout_document("v")],
    ],
    ids=["spec.rollout", "a document"],
)
def test_a_held_denial_is_one_violation_with_the_reason(documents: list[JSONObject]) -> None:
    assert violations(*documents) == [("would_deny", "enforce is empty")]
    assert violations(*documents, enforced=True) == [("deny", "")]


def test_without_rollouts_the_goal_is_the_set_itself() -> None:
    policies = compiled(policy())
    assert policies.enforced is policies
    assert policies.staged is policies


def test_the_stage_is_that_before_until() -> None:
    policies = compiled(staged({"enforce": {}, "until": PAST}))
    assert not Admitter(policies).admit(build_review(pod())).allowed
    assert Admitter(policies.staged).admit(build_review(pod())).allowed


def test_stages_know_the_namespaces_and_params_of_their_set() -> None:
    selected = {"enforce": {"namespaceSelector": {"matchLabels": {"stage": "canary"}}}}
    policies = compiled(staged({**selected, "until": PAST}))
    assert policies.staged.staged is policies.staged
    namespace = {"metadata": {"name": "shop", "labels": {"stage": "canary"}}}
    known = policies.with_namespaces([{"apiVersion": "v1", "kind": "Namespace", **namespace}])
    assert Admitter(policies.staged).admit(build_review(pod())).allowed
    assert not Admitter(known.staged).admit(build_review(pod())).allowed


def test_a_held_mutation_has_its_places_and_no_patch() -> None:
    documents = [map_("m", mutations=[labelling("a", "'b'")]), map_binding(), rollout_document("m")]
    found = Admitter(compiled(*documents)).admit(build_review(pod()))
    assert found.patch == ()
    assert [(e.policy, e.places, e.rollout) for e in found.held] == [
        ("m", "/metadata/labels", "enforce is empty")
    ]
    applied = Admitter(compiled(*documents).enforced).admit(build_review(pod()))
    assert (len(applied.patch), applied.held) == (1, ())


CASES: list[tuple[str, JSONObject, JSONObject]] = [
    ("the goal", {}, {"allowed": False, "message": "no team"}),
    ("over", {"rollout": "over"}, {"allowed": False}),
    ("staged", {"rollout": "staged"}, {"allowed": True, "warnings": "no team"}),
    ("staged, in another namespace", {
        "rollout": "staged", "namespaces": [{"name": "shop", "labels": {"stage": "canary"}}]},
        {"allowed": False}),
    ("staged, annotated", {"rollout": "staged"}, {"auditAnnotations": {
        "rollout.team": "would_deny: namespaceSelector does not match namespace shop"}}),
]  # fmt: skip


@pytest.mark.parametrize("until", [None, NEVER, PAST])
@pytest.mark.parametrize("traced", [False, True], ids=["plain", "traced"])
@pytest.mark.parametrize(
    ("fields", "expect"), [row[1:] for row in CASES], ids=[r[0] for r in CASES]
)
def test_cases_test_the_goal_or_the_stage_whatever_the_time(
    until: str | None, traced: bool, fields: JSONObject, expect: JSONObject
) -> None:
    selector = {"matchLabels": {"stage": "canary"}}
    given = {"enforce": {"namespaceSelector": selector}, "otherwise": ["Warn", "Audit"]}
    given |= {"until": until} if until else {}
    case = {"name": "c", "request": {"object": pod()}, "expect": expect, **fields}
    sources = loaded(staged(given), suite(cases=[case]))
    (document,) = sources.of_kind("PolicyTest")
    stories: list[WebhookStory] = []
    evaluator: SuitePolicies | ExplainedPolicies
    if traced:
        evaluator = ExplainedPolicies.of_suite(document, sources, stories.append)
    else:
        evaluator = SuitePolicies.of(document, compiled(staged(given)))
    (result,) = runner.run(document, evaluator.admit, within=evaluator.admitting)
    assert (result.mismatches, result.error) == ((), "")


def test_a_row_replaces_the_stage_of_its_case() -> None:
    rows = [
        {"name": "as the case", "expect": {"allowed": True}},
        {"name": "goal", "rollout": "over", "expect": {"allowed": False}},
    ]
    case = {"name": "c", "rollout": "staged", "request": {"object": pod()}, "table": rows}
    sources = loaded(staged(), suite(cases=[case]))
    (document,) = sources.of_kind("PolicyTest")
    policies = SuitePolicies.of(document, compiled(staged()))
    results = runner.run(document, policies.admit, within=policies.admitting)
    assert [each.mismatches for each in results] == [(), ()]


def story(
    document: JSONObject, webhook: Webhook, *, enforced: bool = False, **more: Any
) -> PolicyStory:
    explainer = Explainer.of_sources(loaded(document))
    if enforced:
        explainer = explainer.changed(lambda policies: policies.enforced)
    (found,) = explainer.explain(build_review(pod(), **more), (webhook,))
    return found.policies[0]


def test_an_explanation_has_the_branch_and_the_reason() -> None:
    held = story(staged(), "validate")
    assert held.stage is not None
    assert (held.outcome, held.stage.enforced, held.stage.why) == (
        "would deny", False, "enforce is empty",
    )  # fmt: skip
    taken = story(staged({"enforce": {"percent": 100}}), "validate")
    assert taken.stage is not None
    assert (taken.outcome, taken.stage.enforced) == ("denies", True)
    assert "is in the 100 percent" in taken.stage.why
    assert story(staged(), "validate", enforced=True).stage is None


def test_an_explanation_shows_the_patch_that_is_not_applied() -> None:
    document = policy("p", mutations=[labelling("a", "'b'")], rollout=SHADOW)
    held = story(document, "mutate")
    assert held.outcome == "would change it"
    (applied,) = held.visits[0].mutations
    assert [each["path"] for each in applied.operations] == ["/metadata/labels"]
    assert story(document, "mutate", enforced=True).outcome == "changes it"


def test_an_explanation_tells_old_violations_from_new_ones() -> None:
    document = staged({"enforce": {"newOnly": True}})
    found = story(document, "validate", old_object=pod())
    assert found.outcome == "would deny"
    (finding,) = found.visits[0].findings
    assert finding.rollout == "the old object also violates it"
    assert story(document, "validate", old_object=pod(labels={})).outcome == "denies"
