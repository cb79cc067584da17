"""Explanations: never another decision than the engine's, and the reasons are the right ones."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from policyd.offline.explaining import Explainer
from policyd.offline.stories import PolicyStory, WebhookStory
from policyd.policy.source import loader
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import config_map, container, deployment, pod
from tests.builders.policies import json_patch, policy, rule, vap, vap_binding
from tests.conformance.apiserver_rows import authorizer, review_of, sources
from tests.sampling import sampled
from tests.shared import ROOT, conformance, reviews


@cache
def library() -> Explainer:
    return Explainer.of_sources(loader.load([ROOT / "policies"]))


def consistent(stories: list[WebhookStory]) -> None:
    """What is said of each policy is what happened to it."""
    for story in stories:
        for told in story.policies:
            applies = told.reason.applies or bool(told.controllers and told.controllers.applies)
            assert told.matched == applies, (told.policy.name, told.reason)
            denying = [each for each in findings(told) if "Deny" in each.actions]
            assert (told.outcome == "denies") == bool(denying)
        denies = any(told.outcome == "denies" for told in story.policies)
        assert story.response["allowed"] != denies


def findings(policy: PolicyStory) -> Iterator[Any]:
    yield from policy.findings
    for visit in policy.visits:
        yield from visit.findings


@pytest.mark.slow
def test_explanations_agree_with_the_engine_on_recorded_reviews() -> None:
    """A disagreement of the answers is an InternalError of the explanation itself."""
    for row in sampled(reviews()):
        consistent(library().explain(row["review"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vap-match", "vap-cel", "map"])
def test_explanations_agree_with_the_engine_on_rows_of_an_api_server(name: str) -> None:
    explained = 0
    for row in sampled(conformance(f"apiserver/{name}.jsonl")):
        try:
            explainer = Explainer.of_sources(sources(row))
        except PolicyError:
            continue
        webhook: Any = "mutate" if name == "map" else "validate"
        for request in row.get("reviews") or [row["review"]]:
            if request is not None:
                consistent(explainer.explain(review_of(request), [webhook], authorizer()))
                explained += 1
    assert explained > 25


POD = pod(container("a", "a:1"), container("b", "b"), labels={"app": "web"})
RULES = rule(operations=["CREATE"])


def explainer(*documents: JSONObject) -> Explainer:
    text = "\n---\n".join(map(json.dumps, documents))
    return Explainer.of_sources(loader.load_text(text))


def story(
    document: JSONObject, obj: JSONObject = POD, *others: JSONObject, **request: Any
) -> PolicyStory:
    """What the policy's own webhook tells."""
    mutates = "mutations" in document["spec"]
    stories = explainer(document, *others).explain(
        build_review(obj, **request), ["mutate" if mutates else "validate"]
    )
    return stories[0].policies[0]


TRUE = [{"expression": "true"}]


def test_rule_that_fits_is_named() -> None:
    other = {**RULES, "resources": ["services"]}
    found = story(policy("p", other, RULES, validations=TRUE))
    assert (found.reason.place, found.outcome) == ("resourceRules[1]", "admits")


MISSES = [
    ({"operations": ["UPDATE"]}, "operations [UPDATE], the request is CREATE"),
    ({"apiGroups": ["apps"]}, 'apiGroups [apps], the request is ""'),
    ({"apiVersions": ["v2"]}, "apiVersions [v2], the request is v1"),
    ({"resources": ["pods/exec"]}, "resources [pods/exec], the request is pods"),
    ({"scope": "Cluster"}, "scope Cluster, the request is Namespaced"),
    ({"resourceNames": ["db"]}, "resourceNames [db], the request is web"),
    (
        {"resources": ["services"], "operations": ["DELETE"]},
        "operations [DELETE], the request is CREATE; resources [services], the request is pods",
    ),
]


@pytest.mark.parametrize(("change", "text"), MISSES)
def test_part_of_a_rule_that_does_not_fit_is_named(change: JSONObject, text: str) -> None:
    found = story(policy("p", {**RULES, **change}, validations=TRUE))
    assert found.reason.text == f"resourceRules[0]: {text}"
    assert (found.matched, found.outcome) == (False, "not matched")


def test_exclude_rule_is_named() -> None:
    match = {"excludeResourceRules": [{**RULES, "resourceNames": ["db"]}, RULES]}
    found = story(policy(match=match, validations=TRUE))
    assert found.reason.place == "excludeResourceRules[1]"


def test_equivalent_resource_is_named() -> None:
    scaling = rule("horizontalpodautoscalers", group="autoscaling", operations=["CREATE"])
    scaler: JSONObject = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    scaler["metadata"] = {"name": "a", "namespace": "shop"}
    found = story(policy("p", scaling, validations=TRUE), scaler)
    assert "by matchPolicy Equivalent, as horizontalpodautoscalers.v1" in found.reason.text
    found = story(policy("p", scaling, match={"matchPolicy": "Exact"}, validations=TRUE), scaler)
    assert found.reason.text == "resourceRules[0]: apiVersions [v1], the request is v2"


def test_selectors_tell_the_labels_they_saw() -> None:
    match: JSONObject = {"objectSelector": {"matchLabels": {"app": "db"}}}
    found = story(policy(match=match, validations=TRUE))
    assert found.reason.more == (
        "labels of object: app=web",
        "  not app=db",
        "the request has no oldObject",
    )
    match = {"namespaceSelector": {"matchExpressions": [{"key": "env", "operator": "Exists"}]}}
    found = story(policy(match=match, validations=TRUE))
    assert found.reason.more == (
        "labels of namespace 'shop': kubernetes.io/metadata.name=shop",
        "  not env Exists",
    )
    namespace: JSONObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    namespace["metadata"]["labels"] = {"env": "prod"}
    known = explainer(policy(match=match, validations=TRUE)).knowing(namespace)
    assert known.explain(build_review(POD), ["validate"])[0].policies[0].matched


def test_condition_that_is_false_is_told() -> None:
    conditions = [{"name": "only-db", "expression": "object.metadata.name == 'db'"}]
    found = story(policy(matchConditions=conditions, validations=TRUE))
    assert found.outcome == "condition not met"
    (visit,) = found.visits
    assert visit.expressions[0].root.children[0].value == "web"


def test_validation_that_fails_has_its_tree_and_message() -> None:
    text = "object.spec.containers.all(c, c.image.contains(':'))"
    found = story(policy(validations=[{"expression": text, "message": "tag it"}]))
    (visit,) = found.visits
    assert [each.message for each in visit.findings] == ["tag it"]
    rounds = [each for each in visit.expressions[0].root.children if each.round]
    assert [(each.number, each.deciding) for each in rounds] == [(0, False), (1, True)]


def test_ignored_error_is_told() -> None:
    spec: JSONObject = {
        "validations": [{"expression": "object.spec.x == 1"}],
        "failurePolicy": "Ignore",
    }
    found = story(policy(**spec))
    assert found.outcome == "ignores an error"
    assert "no such key: x" in found.visits[0].ignored[0].message


def test_exception_is_named() -> None:
    lifting = [{"name": "legacy", "reason": "old", "names": ["web"]}]
    found = story(policy(validations=TRUE, exceptions=lifting))
    assert (found.outcome, found.exceptions) == ("exempt", ("legacy",))


def test_template_is_judged_as_a_pod() -> None:
    spec: JSONObject = {
        "validations": [{"expression": "object.kind == 'Pod'"}],
        "podControllers": True,
    }
    found = story(policy(**spec), deployment())
    assert found.controllers is not None
    assert found.visits[0].as_pod
    assert not found.reason.applies


def test_a_policy_for_pods_says_when_it_checks_those_of_a_controller() -> None:
    found = story(policy(validations=TRUE), deployment())
    assert found.controllers is not None
    assert not found.controllers.applies
    assert found.controllers.text == (
        "podControllers is not set: it checks the Pods, not the template"
    )
    assert story(policy(validations=TRUE)).controllers is None


VOLCANO: JSONObject = {
    "kind": {"group": "batch.volcano.sh", "version": "v1", "kind": "Job"},
    "resource": {"group": "batch.volcano.sh", "version": "v1", "resource": "jobs"},
}


@pytest.mark.parametrize(
    ("document", "request_fields"),
    [
        (policy("p", rule("services"), validations=TRUE), {}),
        (policy("p", rule("pods", "deployments", group="*"), validations=TRUE), {}),
        (policy(validations=TRUE, match={"namespaceSelector": {"matchLabels": {"a": "b"}}}), {}),
        (policy("p", rule(operations=["DELETE"]), validations=TRUE), {}),
        (policy(validations=TRUE), {"operation": "DELETE"}),
        (policy(validations=TRUE), {"overrides": VOLCANO}),
        (policy(validations=TRUE), {"overrides": {"operation": "UPDATE", "subResource": "status"}}),
    ],
)
def test_other_reasons_are_not_hidden_by_pod_controllers(
    document: JSONObject, request_fields: dict[str, Any]
) -> None:
    assert story(document, deployment(), **request_fields).controllers is None


def test_mutations_tell_what_each_changed() -> None:
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: 'y'}]"
    found = story(policy(mutations=[json_patch(patch)]))
    assert found.outcome == "changes it"
    (applied,) = found.visits[0].mutations
    assert applied.operations == ({"op": "add", "path": "/metadata/labels/x", "value": "y"},)


def test_bindings_and_params_are_told() -> None:
    demanded = [{"expression": "params.data.max == '1'"}]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    bound = vap("sample", RULES, validations=demanded, paramKind=kind)
    ref = {"name": "limits", "namespace": "shop", "parameterNotFoundAction": "Deny"}
    binding = vap_binding("first", policyName="sample", paramRef=ref)
    found = story(bound, POD, binding)
    assert found.params == (("first", 0),)
    assert "no params found" in found.findings[0].message
    param = config_map("limits", data={"max": "2"})
    found = story(bound, POD, binding, param)
    assert found.params == (("first", 1),)
    assert found.visits[0].param["metadata"]["name"] == "limits"
    binding["spec"]["matchResources"] = {"resourceRules": [{**RULES, "operations": ["UPDATE"]}]}
    found = story(bound, POD, binding, param)
    assert found.outcome == "not bound"
    assert found.bindings[0][1].text.startswith("resourceRules[0]: operations [UPDATE]")
