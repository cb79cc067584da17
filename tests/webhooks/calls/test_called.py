"""Which webhooks are called for a request, in which order, and the reason for each other one."""

from typing import Any

import pytest

from policyd._core.match.equivalents import Equivalents
from policyd.admission.lookups.authorizer import StaticAuthorizer
from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject
from policyd.versions import KubernetesVersion
from policyd.webhooks.calls import Calls, called, hooks_of
from tests.builders import reviews
from tests.builders.policies import conditions
from tests.builders.webhook_configurations import KINDS, RULE, configuration, hook

VALIDATING, MUTATING = KINDS
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {},
}


def request(resource: str = "/v1/pods", kind: str = "Pod", **fields: JSON) -> JSONObject:
    return reviews.request(resource, kind, **{"uid": "1", "object": POD, **fields})


def one(webhook: JSONObject, sent: JSONObject, **options: Any) -> Calls:
    return called(hooks_of([configuration(VALIDATING, webhook)]), sent, **options)


def selector(key: str, operator: str, *values: str) -> JSONObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


UPDATE = {**RULE, "operations": ["UPDATE", "DELETE"]}
APPS = {**RULE, "apiGroups": ["apps"], "resources": ["deployments"]}
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
NAME = "kubernetes.io/metadata.name"
# Fields of the webhook, those of the request, and the reason why it is not called.
REASONS: dict[str, tuple[JSONObject, JSONObject, str]] = {
    "operation": ({"rules": [APPS, UPDATE]}, {}, "rules[1] names pods, but not CREATE"),
    "resource": ({"rules": [APPS | {"apiGroups": [""]}]}, {}, "rules[0] names deployments, not pods"),
    "subresource": ({"rules": [RULE]}, {"subResource": "exec"}, "rules[0] names pods, not pods/exec"),
    "no resources": ({"rules": [RULE | {"resources": []}]}, {}, "rules[0] names nothing, not pods"),
    "group": ({"rules": [RULE | {"apiGroups": ["apps", "batch"]}]}, {},
              "rules[0] names the groups apps, batch, not the core group"),
    "core group": ({"rules": [APPS | {"apiGroups": [""]}]},
                   {"resource": "apps/v1/deployments", "kind": "Deployment"},
                   'rules[0] names the group "", not the group apps'),
    "version": ({"rules": [RULE | {"apiVersions": ["v2"]}]}, {}, "rules[0] names pods in v2, not in v1"),
    "version and policy": ({"rules": [RULE | {"apiVersions": ["v2"]}], "matchPolicy": "Exact"}, {},
                           "rules[0] names pods in v2, not in v1, and matchPolicy is Exact"),
    "scope": ({"rules": [RULE | {"scope": "Cluster"}]}, {},
              "rules[0] names pods of scope Cluster, and the object is in a namespace"),
    "scope of a node": ({"rules": [RULE | {"scope": "Namespaced", "resources": ["nodes"]}]},
                        {"resource": "/v1/nodes", "kind": "Node", "namespace": ""},
                        "rules[0] names nodes of scope Namespaced, and the object is cluster-scoped"),
    "scope of a Namespace": ({"rules": [RULE | {"scope": "Namespaced", "resources": ["namespaces"]}]},
                             {"resource": "/v1/namespaces", "kind": "Namespace"},
                             "rules[0] names namespaces of scope Namespaced, and the object is cluster-scoped"),
    "no rules": ({"rules": []}, {}, "the webhook has no rules"),
    "namespace name": ({"namespaceSelector": selector(NAME, "NotIn", "shop")}, {},
                       f"namespaceSelector: {NAME} NotIn [shop] (namespace shop: {NAME}=shop)"),
    "unknown labels": ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, {},
                       "namespaceSelector: env=prod (the labels of namespace shop are not given)"),
    "labels": ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, {"namespace": "dev"},
               "namespaceSelector: env=prod (namespace dev: env=dev)"),
    "no label": ({"namespaceSelector": selector("tier", "Exists")}, {"namespace": "dev"},
                 "namespaceSelector: tier Exists (namespace dev has no tier)"),
    "labels of a Namespace": (
        {"rules": [EVERYTHING], "namespaceSelector": {"matchLabels": {"env": "prod"}}},
        {"resource": "/v1/namespaces", "kind": "Namespace", "name": "new", "namespace": "new",
         "object": {"metadata": {"name": "new", "labels": {"env": "test"}}}},
        "namespaceSelector: env=prod (namespace new: env=test)"),
    "object": ({"objectSelector": {"matchLabels": {"app": "db"}}}, {},
               "objectSelector: app=db (object: app=web)"),
    "object without the label": ({"objectSelector": selector("tier", "In", "a", "b")}, {},
                                 "objectSelector: tier In [a, b] (object has no tier)"),
    "options of CONNECT": (
        {"rules": [EVERYTHING], "objectSelector": selector("a", "DoesNotExist")},
        {"subResource": "exec", "operation": "CONNECT", "object": {"kind": "PodExecOptions"}},
        "objectSelector: PodExecOptions has no labels"),
    "condition": ({"matchConditions": conditions("true", "request.name == 'x'", "false")}, {},
                  "matchCondition 'c1' is false"),
    "false beats errors": ({"matchConditions": conditions("object.x == 1", "false")}, {},
                           "matchCondition 'c1' is false"),
    "ignored error": ({"failurePolicy": "Ignore", "matchConditions": conditions("object.x == 1")}, {},
                      "failurePolicy is Ignore, and expression 'object.x == 1' resulted in error: "
                      "no such key: x"),
    "its own kind": ({"rules": [EVERYTHING]},
                     {"resource": "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                      "kind": "ValidatingWebhookConfiguration"},
                     "objects of kind ValidatingWebhookConfiguration are never sent to webhooks"),
    "a review": ({"rules": [EVERYTHING]},
                 {"resource": "authentication.k8s.io/v1/tokenreviews", "kind": "TokenReview"},
                 "objects of kind TokenReview are never sent to webhooks"),
    "permissions": ({"matchConditions": conditions("authorizer.path('/x').check('get').allowed()")}, {},
                    "not known: matchCondition 'c0' checks permissions of the user"),
    "another version": ({"rules": [{**RULE, "apiGroups": ["autoscaling"], "resources": ["*"]}],
                         "matchConditions": conditions("object.spec.maxReplicas > 1")},
                        {"resource": "autoscaling/v2/horizontalpodautoscalers",
                         "kind": "HorizontalPodAutoscaler"},
                        "not known: matchCondition 'c0' needs autoscaling/v1, was sent autoscaling/v2"),
}  # fmt: skip
NAMESPACES = [{"metadata": {"name": "dev", "labels": {"env": "dev"}}}]


@pytest.mark.parametrize(("fields", "sent", "reason"), REASONS.values(), ids=REASONS)
def test_a_webhook_that_is_not_called_has_one_reason(
    fields: JSONObject, sent: JSONObject, reason: str
) -> None:
    found = one(hook(**fields), request(**sent), namespaces=NAMESPACES)
    assert [each.reason for each in found.others] == [reason]
    assert (found.validating, found.rejection) == ((), None)
    assert found.others[0].undecided == reason.startswith("not known")


def test_every_rule_has_a_reason_and_the_nearest_is_the_first() -> None:
    rules = [
        APPS,
        UPDATE,
        RULE | {"apiVersions": ["v2"], "scope": "Cluster"},
        RULE | {"resources": []},
    ]
    (other,) = one(hook(rules=rules, matchPolicy="Exact"), request()).others
    assert (other.reason, *other.others) == (
        "rules[1] names pods, but not CREATE",
        "rules[0] names deployments, not pods",
        "rules[2] names pods in v2, not in v1, and matchPolicy is Exact",
        "rules[3] names nothing, not pods",
    )


CALLED: dict[str, tuple[JSONObject, JSONObject, int]] = {
    "the rule": ({"rules": [APPS, RULE]}, {}, 1),
    "exact before equivalent": (
        {"rules": [{**EVERYTHING, "apiVersions": ["v1"]}, {**EVERYTHING, "apiVersions": ["v2"]}]},
        {"resource": "autoscaling/v2/horizontalpodautoscalers"}, 1),
    "deleted": ({"rules": [UPDATE], "objectSelector": {"matchLabels": {"app": "web"}}},
                {"operation": "DELETE", "object": None, "oldObject": POD}, 0),
    "either object": ({"rules": [UPDATE], "objectSelector": {"matchLabels": {"app": "web"}}},
                      {"operation": "UPDATE", "object": {"metadata": {}}, "oldObject": POD}, 0),
    "cluster-scoped": ({"rules": [EVERYTHING], "namespaceSelector": {"matchLabels": {"a": "b"}}},
                       {"resource": "/v1/nodes", "kind": "Node", "namespace": ""}, 0),
    "an unknown label": ({"namespaceSelector": selector("a", "NotIn", "b")}, {"namespace": "dev"}, 0),
    "conditions": ({"matchConditions": conditions("object.metadata.name == 'web'", "oldObject == null",
                                                  "namespaceObject == null")}, {}, 0),
    "a wildcard for subresources": ({"rules": [RULE | {"resources": ["*/*"]}]}, {"subResource": "status"}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "sent", "rule"), CALLED.values(), ids=CALLED)
def test_a_webhook_that_is_called_names_the_rule(
    fields: JSONObject, sent: JSONObject, rule: int
) -> None:
    found = one(hook(**fields), request(**sent), namespaces=NAMESPACES)
    assert [(call.rule, call.notes) for call in found.validating] == [(rule, ())]
    assert found.others == ()


def test_reviews_are_sent_before_1_37_only() -> None:
    sent = request("authentication.k8s.io/v1/tokenreviews", "TokenReview")
    webhook = hook(rules=[EVERYTHING])
    assert one(webhook, sent, version=KubernetesVersion(1, 36)).validating
    assert not one(webhook, sent, version=KubernetesVersion(1, 37)).validating


@pytest.mark.parametrize(
    ("version", "error"),
    [("1.36", "no such key: 1"), ("1.37", "unsupported map key type: types.Int")],
)
def test_conditions_read_the_values_of_the_version(version: str, error: str) -> None:
    for place in ("object.metadata.labels", "dyn(request)"):
        webhook = hook(matchConditions=conditions(f"{place}[1] == 'web'"))
        found = one(webhook, request(), version=KubernetesVersion.parse(version))
        assert found.rejection is not None
        assert found.rejection.message.endswith(f"resulted in error: {error}")


def test_conditions_see_what_the_authorizer_answers() -> None:
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    webhook = hook(matchConditions=conditions(check))
    allowed = StaticAuthorizer([{"verb": "get", "group": "", "resource": "pods"}])
    assert one(webhook, request(), authorizer=allowed).validating
    denied = one(webhook, request(), authorizer=StaticAuthorizer([]))
    assert [each.reason for each in denied.others] == ["matchCondition 'c0' is false"]


def test_conditions_may_not_cost_more_than_the_budget() -> None:
    costly = "[1,2,3,4,5,6,7,8,9].all(a, " * 5 + "a > 0" + ")" * 5
    webhook = hook(matchConditions=conditions(*[f"{costly} || {n} == 0" for n in range(40)]))
    found = one(webhook, request())
    assert found.rejection is not None
    assert "running out of cost budget" in found.rejection.message


def test_a_custom_resource_is_seen_in_the_version_of_the_rule() -> None:
    rule = {**EVERYTHING, "apiGroups": ["example.com"], "apiVersions": ["v1"]}
    webhook = hook(
        rules=[rule], matchConditions=conditions("object.apiVersion == 'example.com/v1'")
    )
    sent = request("example.com/v2/widgets", "Widget", object={"apiVersion": "example.com/v2"})
    names = {"plural": "widgets", "kind": "Widget"}
    versions = [{"name": name, "served": True} for name in ("v1", "v2")]
    crd = {"spec": {"group": "example.com", "names": names, "versions": versions}}
    (call,) = one(webhook, sent, equivalents=Equivalents.of_crds([crd])).validating
    assert call.resource == ("example.com", "v1", "widgets")
    assert call.kind == ("example.com", "v1", "Widget")
    (unknown,) = one(hook(rules=[rule]), sent).validating
    assert unknown.notes == ("if the cluster serves widgets.example.com in v1",)
    assert one(hook(rules=[rule], matchPolicy="Exact"), sent).validating == ()


def several(*changes: JSONObject, kind: str = MUTATING) -> JSONObject:
    """A configuration with webhooks named a, b, c …"""
    hooks = [
        hook(**{"name": f"{letter}.example.com", **each})
        for letter, each in zip("abcdef", changes, strict=False)
    ]
    return configuration(kind, *hooks)


def named(configured: JSONObject, name: str) -> JSONObject:
    return {**configured, "metadata": {"name": name}}


def test_the_order_is_that_of_names_and_then_of_the_list() -> None:
    both = [
        named(several({}, {}, kind=VALIDATING), "a"),
        named(several({}), "z"),
        named(several({"name": "z.example.com"}, {}), "b"),
    ]
    found = called(hooks_of(both), request())
    calls = [(call.hook.configuration, call.hook.name) for call in found.mutating]
    assert calls == [("b", "z.example.com"), ("b", "b.example.com"), ("z", "a.example.com")]
    assert [call.hook.configuration for call in found.validating] == ["a", "a"]


def test_those_with_reinvocation_are_called_again() -> None:
    again = {"reinvocationPolicy": "IfNeeded"}
    absent = {**again, "rules": []}
    found = called(
        hooks_of([several({}, again, absent, {"reinvocationPolicy": "Never"}, again)]), request()
    )
    assert [call.hook.name[0] for call in found.again] == ["b", "e"]


BROKEN = {"matchConditions": conditions("object.x == 1")}
ERROR = "expression 'object.x == 1' resulted in error: no such key: x"


def test_an_error_of_a_mutating_webhook_ends_the_request() -> None:
    found = called(
        hooks_of([several({}, BROKEN, {}, {"rules": []}), several({}, kind=VALIDATING)]), request()
    )
    assert [call.hook.name[0] for call in found.mutating] == ["a"]
    assert found.validating == ()
    assert found.rejection is not None
    assert (found.rejection.code, found.rejection.message) == (
        403,
        f'pods "web" is forbidden: {ERROR}',
    )
    assert [(each.hook.name[0], each.part, each.reason) for each in found.others] == [
        ("b", "matchConditions", f'the API server rejects the request: pods "web" is forbidden: {ERROR}'),
        ("c", "rejection", "the API server rejects the request at case/b.example.com"),
        ("d", "rules", "the webhook has no rules"),
        ("a", "rejection", "the API server rejects the request at case/b.example.com"),
    ]  # fmt: skip


def test_an_error_of_a_validating_webhook_ends_the_request_before_any_is_called() -> None:
    found = called(hooks_of([several({}), several({}, BROKEN, {}, kind=VALIDATING)]), request())
    assert [call.hook.name[0] for call in found.mutating] == ["a"]
    assert found.validating == ()
    assert found.rejection is not None and found.rejection.hook.name == "b.example.com"
    assert [each.part for each in found.others] == ["rejection", "matchConditions", "rejection"]


def test_the_message_names_the_group_and_what_has_a_name() -> None:
    webhook = hook(rules=[EVERYTHING], **BROKEN)
    found = one(webhook, request("apps/v1/deployments", "Deployment", name=""))
    assert found.rejection is not None
    assert found.rejection.message == f"deployments.apps is forbidden: {ERROR}"


def test_a_dry_run_is_rejected_by_a_webhook_with_side_effects() -> None:
    effects = {"sideEffects": "Some"}
    text = 'admission webhook "b.example.com" does not support dry run'
    found = called(
        hooks_of([several({}, effects, {}), several({}, kind=VALIDATING)]), request(dryRun=True)
    )
    assert [call.hook.name[0] for call in found.mutating] == ["a"]
    assert found.validating == ()
    assert found.rejection is not None
    assert (found.rejection.code, found.rejection.message) == (400, text)
    # Validating webhooks are called at the same time.
    found = called(hooks_of([several({}, effects, {}, kind=VALIDATING)]), request(dryRun=True))
    assert [call.hook.name[0] for call in found.validating] == ["a", "c"]
    assert found.rejection is not None and found.rejection.message == text
    for fine in ({"sideEffects": "None"}, {"sideEffects": "NoneOnDryRun"}):
        assert len(called(hooks_of([several(fine)]), request(dryRun=True)).mutating) == 1
    assert len(called(hooks_of([several(effects)]), request()).mutating) == 1


def test_a_dry_run_of_a_webhook_without_side_effects_follows_its_failure_policy() -> None:
    missing: JSONObject = {"sideEffects": ...}
    found = called(hooks_of([several(missing)]), request(dryRun=True))
    assert found.rejection is not None and found.rejection.code == 500
    found = called(
        hooks_of([several({**missing, "failurePolicy": "Ignore"}, {})]), request(dryRun=True)
    )
    assert (found.rejection, len(found.mutating)) == (None, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"kind": "ConfigMap", "apiVersion": "v1"}], "expected a ValidatingWebhookConfiguration or"),
        ([configuration(), configuration()], "two ValidatingWebhookConfigurations with the name 'case'"),
        ([configuration(VALIDATING, hook(rules="all"))], "cannot unmarshal string"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_an_error(given: list[JSONObject], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", "\\(")):
        called(hooks_of(given), request())


def test_fields_of_newer_api_servers_are_ignored() -> None:
    assert called(hooks_of([configuration(VALIDATING, hook(newField=1))]), request()).validating
