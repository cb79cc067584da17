"""A rendered configuration in front of policyd changes no decision: random policies and requests.

What policies would do is asked of the engine, each policy alone: it denies or changes every request
that it applies to.
"""

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyd.admission.engine import review
from policyd.admission.review import AdmissionRequest
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from policyd.webhooks.validation.configurations import problems
from tests.builders import policies as build
from tests.policy_sets import loaded
from tests.sampling import examples
from tests.webhooks.api_server import calls

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), excluded_namespaces=())
NAMESPACES = {"shop": {"team": "a"}, "bank": {"team": "b", "tier": "x"}}
KINDS = {
    ("", "v1", "pods"): "Pod",
    ("apps", "v1", "deployments"): "Deployment",
    ("", "v1", "namespaces"): "Namespace",
    ("", "v1", "nodes"): "Node",
    ("", "v1", "events"): "Event",
    ("events.k8s.io", "v1", "events"): "Event",
    ("autoscaling", "v1", "horizontalpodautoscalers"): "HorizontalPodAutoscaler",
    ("autoscaling", "v2", "horizontalpodautoscalers"): "HorizontalPodAutoscaler",
    ("example.com", "v1", "gadgets"): "Gadget",
    ("example.com", "v2", "gadgets"): "Gadget",
    ("authorization.k8s.io", "v1", "subjectaccessreviews"): "SubjectAccessReview",
}
LABELS: list[JSONObject] = [{}, {"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"}]


def some(*values: str, most: int = 2) -> st.SearchStrategy[list[str]]:
    """A few of the values; a wildcard stands alone."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True).map(
        lambda found: ["*"] if "*" in found else found
    )


RULES = st.sampled_from([build.PODS, build.EVERYTHING]) | st.fixed_dictionaries(
    {
        "apiGroups": some("", "*", "apps", "events.k8s.io", "autoscaling", "example.com"),
        "apiVersions": some("v1", "*", "v2"),
        "operations": some("*", "CREATE", "UPDATE", "DELETE", "CONNECT", most=3),
        "resources": st.sampled_from(
            [
                ["pods"],
                ["pods/status"],
                ["pods/*"],
                ["pods", "pods/status"],
                ["deployments"],
                ["events"],
                ["horizontalpodautoscalers"],
                ["gadgets"],
                ["namespaces"],
                ["nodes", "pods"],
                ["*"],
                ["*/*"],
                ["*/status"],
                ["deployments", "gadgets"],
            ]
        ),
    },
    optional={
        "scope": st.sampled_from(["*", "Namespaced", "Cluster"]),
        "resourceNames": some("web", "x"),
    },
)
SELECTORS = st.one_of(
    st.sampled_from([{"matchLabels": each} for each in LABELS]),
    st.sampled_from(
        [
            {"matchExpressions": [each]}
            for each in (
                {"key": "a", "operator": "Exists"},
                {"key": "a", "operator": "DoesNotExist"},
                {"key": "a", "operator": "In", "values": ["1", "2"]},
                {"key": "b", "operator": "NotIn", "values": ["1"]},
                {"key": "team", "operator": "In", "values": ["a"]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["bank"]},
            )
        ]
    ),
)
CONDITIONS = st.sampled_from(
    [
        "true",
        "false",
        "request.operation != 'DELETE'",
        "request.namespace == 'shop'",
        "object.?metadata.?labels.?a.orValue('') == '1'",
        "object.metadata.labels.a == '1'",
        "oldObject == null || object.?spec != oldObject.?spec",
        "has(object.metadata.labels)",
        "request.userInfo.groups.exists(g, g == 'devs')",
        "object.spec.replicas > 1",
        "request.kind.kind in ['Pod', 'Event']",
        "request.resource.resource != 'pods'",
        "namespaceObject == null",
        "request.resource.group == '' && request.name == 'web'",
    ]
)


def resources(rules: st.SearchStrategy[JSON], least: int) -> st.SearchStrategy[JSONObject]:
    """MatchResources with at least so many rules."""
    return st.fixed_dictionaries(
        {"resourceRules": st.lists(rules, min_size=least, max_size=2)},
        optional={
            "excludeResourceRules": st.lists(rules, max_size=2),
            "namespaceSelector": SELECTORS,
            "objectSelector": SELECTORS,
            "matchPolicy": st.sampled_from(["Exact", "Equivalent"]),
        },
    )


SPECS = st.fixed_dictionaries(
    {"matchConstraints": resources(RULES, 1)},
    optional={
        "failurePolicy": st.sampled_from(["Fail", "Ignore"]),
        "matchConditions": st.lists(CONDITIONS, max_size=2, unique=True).map(
            lambda texts: [{"name": f"c{i}", "expression": each} for i, each in enumerate(texts)]
        ),
    },
)
BINDINGS = st.lists(
    st.fixed_dictionaries({}, optional={"matchResources": resources(RULES, 0)}),
    max_size=2,
)
UNREACHABLE = (
    ("it has no binding",),
    ("the API server sends no request that it matches to webhooks",),
)
DENY = {"validations": [build.demand("false", "no")]}
CHANGE = {
    "mutations": [
        build.json_patch("[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'x': 'y'}}]")
    ]
}


def _about_pods(spec: JSONObject) -> bool:
    return any(
        {"", "*"} & set(rule["apiGroups"]) and {"pods", "pods/*"} & set(rule["resources"])
        for rule in spec["matchConstraints"]["resourceRules"]
    )


@st.composite
def documents(draw: st.DrawFn, number: int) -> list[JSONObject]:
    """A policy of any kind with its bindings."""
    spec: JSONObject = copy.deepcopy(dict(draw(SPECS)))
    name = f"p{number}"
    kind = draw(st.sampled_from(["vap", "map", "validating", "mutating", "both"]))
    if kind == "map":  # these may not name DELETE
        for rule in spec["matchConstraints"]["resourceRules"]:
            rule["operations"] = [each for each in rule["operations"] if each != "DELETE"] or ["*"]
    if kind in ("vap", "map"):
        make, bind = (
            (build.vap, build.vap_binding) if kind == "vap" else (build.map_, build.map_binding)
        )
        own = DENY if kind == "vap" else CHANGE
        bindings = [
            bind(f"b{number}-{i}", policyName=name, **each) for i, each in enumerate(draw(BINDINGS))
        ]
        return [make(name, **own, **spec), *bindings]
    more: JSONObject = {"podControllers": draw(st.booleans()) and _about_pods(spec)}
    acts = {"validating": DENY, "mutating": CHANGE, "both": {**DENY, **CHANGE}}[kind]
    return [build.document("policyd.dev/v1", "Policy", name, {**spec, **acts, **more})]


@st.composite
def requests(draw: st.DrawFn) -> JSONObject:
    """A request as the client sent it."""
    group, version, resource = draw(
        st.one_of(st.just(("", "v1", "pods")), st.sampled_from(sorted(KINDS)))
    )
    operation = draw(st.sampled_from(["CREATE", "UPDATE", "DELETE", "CONNECT"]))
    namespaced = resource not in ("namespaces", "nodes", "subjectaccessreviews")
    namespace = draw(st.sampled_from(sorted(NAMESPACES)))
    name = draw(st.sampled_from(["web", "other"]))
    kind = {"group": group, "version": version, "kind": KINDS[group, version, resource]}
    where = {"group": group, "version": version, "resource": resource}

    def thing() -> JSONObject:
        labels = draw(st.sampled_from(LABELS))
        head = {"apiVersion": f"{group}/{version}".strip("/"), "kind": kind["kind"]}
        spec: JSONObject = {"replicas": draw(st.integers(0, 3))}
        template_labels = draw(st.sampled_from(LABELS))
        spec["template"] = {"metadata": {"labels": template_labels}, "spec": {}}
        return {**head, "metadata": {"name": name, "labels": labels}, "spec": spec}

    request: JSONObject = {
        "uid": "u",
        "kind": kind,
        "resource": where,
        "requestKind": kind,
        "requestResource": where,
        "operation": operation,
        "name": name,
        "userInfo": draw(
            st.sampled_from([{"username": "ann", "groups": ["devs"]}, {"username": "bob"}])
        ),
        "object": None if operation == "DELETE" else thing(),
        "oldObject": thing() if operation in ("UPDATE", "DELETE") else None,
    }
    if resource != "events" and draw(st.integers(0, 3)) == 0:  # events have no subresources
        request["subResource"] = request["requestSubResource"] = "status"
    if namespaced:
        request["namespace"] = namespace
    elif resource == "namespaces":
        request["namespace"] = name
    return request


def acts(
    policies: CompiledPolicySet, request: JSONObject, webhook: Any, only: CompiledPolicy
) -> str:
    """Return what one policy does with a request: ``denies``, ``changes`` or nothing."""
    response = review(
        policies,
        AdmissionRequest(copy.deepcopy(request), ""),
        webhook=webhook,
        only=lambda policy: policy is only,
    )
    if not response.allowed:
        return "denies"
    return "changes" if response.patch else ""


def check(found: list[JSONObject], sent: list[JSONObject]) -> None:
    """Check that whatever a policy would do with these requests is done through the webhooks."""
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in NAMESPACES.items()
    ]
    policies = compiler.compile_sources(loaded(*found, *spaces))
    configurations = render(policies, OPTIONS)
    assert [str(each) for found in configurations for each in problems(found)] == []
    # What is rendered reaches every policy; one without a binding is reached by nothing.
    for reached in reach(policies, configurations):
        assert reached.state == "reached" or reached.gaps in UNREACHABLE, (reached, configurations)
    for request in sent:
        _check_one(policies, configurations, request)


def _check_one(
    policies: CompiledPolicySet, configurations: list[JSONObject], request: JSONObject
) -> None:
    called = {
        (each.webhook, each.path.rpartition("/")[2]): each
        for each in calls(configurations, request, NAMESPACES)
    }
    denied = {key for key, each in called.items() if each.failed}
    for policy in policies.policies:
        for webhook in ("mutate", "validate"):
            does = acts(policies, request, webhook, policy)
            key = (webhook, "fail" if policy.fail else "ignore")
            if does:
                assert key in called, (policy.name, webhook, does, configurations)
            if does == "denies":
                denied.discard(key)
    assert not denied, ("denied without a policy that denies", denied, configurations)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_nothing_that_policies_decide_is_missed(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    found = [each for number in range(count) for each in data.draw(documents(number))]
    check(found, data.draw(st.lists(requests(), min_size=1, max_size=8)))
