"""Advice on expressions that do not fit the schemas of the objects they are about."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.kinds.object_types import KindSchemas
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import type_check
from policyd.policy.lint.types.kinds import kinds_of
from policyd.policy.model.kinds import Policy
from tests.builders.objects import gadget_definition
from tests.builders.policies import DEPLOYMENTS, GADGETS, PODS, WORKLOADS, policy, rule, vap
from tests.policy_sets import loaded


def checked(*rules: JSONObject, **fields: Any) -> list[str]:
    """The advice on a policy with these rules, less the caret."""
    document = policy(matchConstraints={"resourceRules": list(rules)}, **fields)
    found = list(in_policies(LintRun(loaded(document, gadget_definition())), type_check))
    assert all(each.rule == "type-check" and each.severity == "advice" for each in found)
    assert all(each.line > 0 and "^" in each.excerpt for each in found)
    return [each.message for each in found]


def check_one(expression: str, *rules: JSONObject, **fields: Any) -> list[str]:
    return checked(*(rules or (PODS,)), validations=[{"expression": expression}], **fields)


RIGHT = [
    "object.metadata.?labels.orValue(null) == null || object.metadata.labels.size() > 1",
    "object.spec.containers.all(c, c.image.startsWith('x'))",
    "object.spec.containers.all(c, has(c.securityContext) && c.securityContext.privileged == true)",
    "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, c.image != '')",
    "(object.spec.containers + object.spec.ephemeralContainers).all(c, c.image != '')",
    "object['spec']['hostNetwork'] == true",
    "object.spec['containers'][0].image == 'x'",
    "object.spec.all(field, field != 'nodeName')",
    "'hostNetwork' in object.spec && object.spec.size() > 1",
    "object.metadata == oldObject.metadata && object != null",
    "object.metadata.?labels.orValue({}).all(k, v, v != '')",
    "object.metadata.?annotations[?'a'].orValue('') == ''",
    "quantity(object.spec.containers[0].resources.limits['cpu']).isLessThan(quantity('1'))",
    "timestamp(object.metadata.creationTimestamp) > timestamp('2020-01-01T00:00:00Z')",
    "(has(object.spec.nodeName) ? object.spec : object.metadata).size() > 0",
    "object.spec.containers[0].ports[0].containerPort > 80",
    "object.spec.containers[0].livenessProbe.httpGet.port == 'http'",
    "object.spec.volumes.exists(v, has(v.hostPath)) ? true : dyn(object.spec)['x'] == 1",
    "object.spec.securityContext == {} || [object.spec, {}].size() == 2",
]
WRONG = [
    ("object.spec.containers.all(c, c.imgae != '')", "undefined field 'imgae'"),
    ("object.spec['contianers'][0].image == 'x'", "undefined field 'contianers'"),
    (
        "(object.spec.containers + object.spec.initContainers).all(c, c.imgae != '')",
        "undefined field 'imgae'",
    ),
    ("object.spec.hostNetwork == 'true'", "'_==_' applied to '(bool, string)'"),
    ("object == 1", "'_==_' applied to '(Pod, int)'"),
    ("object.spec + 1 == 2", "'_+_' applied to '(Pod.spec, int)'"),
    ("object.metadata.creationTimestamp > timestamp(1)", "'_>_' applied to '(string, timestamp)'"),
    ("object.spec.containers[0].resources.limits.cpu > 1", "'_>_' applied to '(string, int)'"),
    ("object.spec.containers.all(c, c.ports.all(p, p.port > 1))", "undefined field 'port'"),
    ("object.spec.containers.exists(c, c == 'x')", "'_==_' applied to '(Pod.spec.containers.@idx"),
]


@pytest.mark.parametrize("expression", RIGHT)
def test_what_is_right_when_it_runs_is_not_warned_about(expression: str) -> None:
    assert check_one(expression) == []


@pytest.mark.parametrize(("expression", "told"), WRONG)
def test_mistakes(expression: str, told: str) -> None:
    found = check_one(expression)
    assert len(found) == 1
    assert found[0].startswith("v1 Pod: ")
    assert told in found[0]


def test_each_place_with_an_error_has_its_own_advice() -> None:
    text = "object.sepc.a == 1 &&\nobject.metadata.labesl.size() > 0 && object.spec == 1"
    validations = [{"expression": text, "message": "no"}]
    document = policy(
        matchConstraints={"resourceRules": [PODS, DEPLOYMENTS]}, validations=validations
    )
    found = list(in_policies(LintRun(loaded(document)), type_check))
    assert [each.message for each in found] == [
        "v1 Pod, apps/v1 Deployment: undefined field 'sepc'",
        "v1 Pod, apps/v1 Deployment: undefined field 'labesl'",
        "v1 Pod: found no matching overload for '_==_' applied to '(Pod.spec, int)'; "
        "apps/v1 Deployment: found no matching overload for '_==_' applied to "
        "'(Deployment.spec, int)'",
    ]
    assert [each.excerpt.splitlines()[1].index("^") for each in found] == [9, 18, 52]
    assert [each.hint for each in found][:2] == ["did you mean spec?", "did you mean labels?"]


def test_expressions_with_reads_are_checked_as_well() -> None:
    reads = [{"name": "quotas", "apiVersion": "v1", "kind": "ResourceQuota"}]
    assert check_one("reads.quotas.size() < object.spec.containers.size()", reads=reads) == []
    for wrong in ("reads.quotas[object.metadata.namespace]", "reads.quotas[object.spec.nodeNme]"):
        assert len(check_one(f"{wrong} != null", reads=reads)) == 1


def test_custom_resources() -> None:
    assert check_one("object.spec.size > 1 && object.spec.port == 'x'", GADGETS) == []
    assert check_one("object.spec.open.b == 1 && object.spec.open.a == 'a'", GADGETS) == []
    assert check_one("object.spec.template.metadata.name == object.metadata.name", GADGETS) == []
    assert "'(int, string)'" in check_one("object.spec.size == '1'", GADGETS)[0]
    assert "'(string, int)'" in check_one("object.spec.open.a == 1", GADGETS)[0]


def test_variables_are_of_the_types_of_their_expressions() -> None:
    variables = [
        {"name": "spec", "expression": "object.spec"},
        {"name": "first", "expression": "variables.spec.containers[0]"},
        {"name": "wrong", "expression": "object.spec.nowhere"},
    ]
    assert check_one("variables.first.image == 'x'", variables=variables) == []
    assert check_one("variables.wrong.anything == 1", variables=variables) == []
    assert "'imgae'" in check_one("variables.first.imgae == 'x'", variables=variables)[0]


def test_messages_are_checked_and_conditions_are_not() -> None:
    validations = [{"expression": "object.kind == 'Pod'", "messageExpression": "object.spec.no"}]
    conditions = [{"name": "a", "expression": "object.spec.no == 1"}]
    found = checked(PODS, validations=validations, matchConditions=conditions)
    assert [each.rpartition(": ")[2] for each in found] == ["undefined field 'no'"]


def test_params_of_a_known_kind() -> None:
    fields = {
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Gadget"},
        "paramRef": {"name": "a", "parameterNotFoundAction": "Deny"},
    }
    assert check_one("params.spec.size > 1", **fields) == []
    assert "'szie'" in check_one("params.spec.szie > 1", **fields)[0]
    assert check_one("params.anything > 1", params={"a": 1}) == []


def test_several_kinds() -> None:
    """What a policy may tell apart itself is a mistake only if it is one for all kinds."""
    found = check_one("object.spec.replicsa > 1", WORKLOADS)
    assert found == ["apps/v1 DaemonSet, apps/v1 Deployment: undefined field 'replicsa'"]
    assert "DaemonSet" in check_one("object.spec.replicas > 1", WORKLOADS)[0]
    assert check_one("!has(object.spec.replicas) || object.spec.replicas > 1", WORKLOADS) == []
    assert check_one("object.kind == 'DaemonSet' || object.spec.replicas > 1", WORKLOADS) == []
    assert len(check_one("has(object.spec.replicsa)", WORKLOADS)) == 1


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([PODS], ["/v1, Kind=Pod"]),
        ([WORKLOADS, PODS], ["/v1, Kind=Pod", "apps/v1, Kind=DaemonSet", "apps/v1, Kind=Deployment"]),
        ([rule(apiGroups=["*"])], []),
        ([rule(apiVersions=["*"])], []),
        ([rule(resources=["*"])], []),
        ([rule("*", "pods/status", "nodes/status")], ["/v1, Kind=Node", "/v1, Kind=Pod"]),
        ([rule("pods/exec", "pods/ephemeralcontainers", "pods/eviction", operations=["*"])], [
            "/v1, Kind=Pod", "/v1, Kind=PodExecOptions", "policy/v1, Kind=Eviction"]),
        ([rule("pods/exec", "pods/log", "pods/*")], []),
        ([rule("pods/exec", group="apps", operations=["CONNECT"])], []),
        ([rule("*/scale", group="*", version="*")], ["autoscaling/v1, Kind=Scale"]),
        ([rule("gadgets/status", group="example.com")], ["example.com/v1, Kind=Gadget"]),
        ([rule(resources=["nothing"])], []),
        ([GADGETS], ["example.com/v1, Kind=Gadget"]),
        ([rule(apiGroups=["autoscaling"], resources=["horizontalpodautoscalers"])], [
            "autoscaling/v1, Kind=HorizontalPodAutoscaler"]),
    ],
)  # fmt: skip
def test_kinds(rules: list[JSONObject], expected: list[str]) -> None:
    sources = loaded(policy(matchConstraints={"resourceRules": rules}))
    model = sources.documents[0].model
    assert isinstance(model, Policy)
    found = kinds_of(model, KindSchemas([gadget_definition()]))
    assert [str(gvk) for gvk in found] == expected


SEEN = [
    (True, ["CREATE", "UPDATE"], ["Pod"]),
    (True, ["UPDATE"], ["Pod"]),
    (True, ["CREATE", "DELETE"], ["Pod", "Deployment"]),  # of a DELETE, oldObject
    (True, ["*"], ["Pod", "Deployment"]),
    (False, ["CREATE", "UPDATE"], ["Pod", "Deployment"]),
]


@pytest.mark.parametrize(("controllers", "operations", "kinds"), SEEN)
def test_a_controller_is_seen_as_its_pod(
    controllers: bool, operations: list[str], kinds: list[str]
) -> None:
    named = [rule(), {**DEPLOYMENTS, "operations": operations}]
    made = policy(matchConstraints={"resourceRules": named}, podControllers=controllers)
    model = loaded(made).documents[0].model
    assert isinstance(model, Policy)
    assert [gvk.kind for gvk in kinds_of(model, KindSchemas([]))] == kinds


def test_at_most_ten_kinds() -> None:
    names = (
        "pods services secrets configmaps endpoints events nodes namespaces limitranges bindings"
    )
    many = rule(resources=[*names.split(), "serviceaccounts", "podtemplates"])
    sources = loaded(policy(matchConstraints={"resourceRules": [many, DEPLOYMENTS]}))
    model = sources.documents[0].model
    assert isinstance(model, Policy)
    found = kinds_of(model, KindSchemas([]))
    # The tenth is the Event of events.k8s.io, which the rule does not match.
    assert [gvk.kind for gvk in found] == [
        "Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "Pod",
        "PodTemplate",
    ]  # fmt: skip


def test_kinds_of_all_groups_are_among_the_ten_of_the_core_group() -> None:
    names = (
        "configmaps cronjobs daemonsets deployments endpoints ingresses jobs pods replicasets "
        "secrets services statefulsets"
    )
    groups = ["", "apps", "batch", "networking.k8s.io"]
    rules = [rule(apiGroups=groups, resources=names.split())]
    model = loaded(policy(matchConstraints={"resourceRules": rules})).documents[0].model
    assert isinstance(model, Policy)
    found = kinds_of(model, KindSchemas([]))
    assert [gvk.kind for gvk in found] == [
        "ConfigMap", "Endpoints", "Pod", "Secret", "DaemonSet", "Deployment", "ReplicaSet",
        "CronJob", "Job", "Ingress",
    ]  # fmt: skip


CONNECT = ["CONNECT"]
SUBRESOURCES: list[tuple[JSONObject, str, str]] = [
    (rule("deployments/scale", group="apps"), "object.spec.replcas > 1",
     "autoscaling/v1 Scale: undefined field 'replcas'"),
    (rule("*/scale", group="*", version="*"), "object.spec.template.spec.size() > 0",
     "autoscaling/v1 Scale: undefined field 'template'"),
    (rule("pods/binding"), "object.target.nodeName != 'x'",
     "v1 Binding: undefined field 'nodeName'"),
    (rule("pods/eviction"), "object.spec.size() > 0",
     "policy/v1 Eviction: undefined field 'spec'"),
    (rule("serviceaccounts/token"), "object.spec.audience == 'x'",
     "authentication.k8s.io/v1 TokenRequest: undefined field 'audience'"),
    (rule("pods/exec", operations=CONNECT), "object.spec.containers.size() > 1",
     "v1 PodExecOptions: undefined field 'spec'"),
    (rule("pods/exec", operations=["*"]), "object.metadata.name != 'x'",
     "v1 PodExecOptions: undefined field 'metadata'"),
    (rule("pods/exec", operations=CONNECT), "object.command == 'sh'",
     "v1 PodExecOptions: found no matching overload for '_==_' applied to '(list(string), string)'"),
    (rule("pods/attach", operations=CONNECT), "object.tti",
     "v1 PodAttachOptions: undefined field 'tti'"),
    (rule("pods/portforward", operations=CONNECT), "object.ports.exists(p, p == '80')",
     "v1 PodPortForwardOptions: found no matching overload for '_==_' applied to '(int, string)'"),
    (rule("services/proxy", operations=CONNECT), "object.paths != '/'",
     "v1 ServiceProxyOptions: undefined field 'paths'"),
    (rule("pods/ephemeralcontainers"), "object.spec.foo == 1",
     "v1 Pod: undefined field 'foo'"),
    (rule("pods/resize"), "object.spec.containers[0].resource.limits.size() > 0",
     "v1 Pod: undefined field 'resource'"),
    (rule("deployments/status", group="apps"), "object.status.readyReplica > 0",
     "apps/v1 Deployment: undefined field 'readyReplica'"),
    (rule("gadgets/status", group="example.com"), "object.spec.szie > 0",
     "example.com/v1 Gadget: undefined field 'szie'"),
    (rule("gadgets/scale", group="example.com"), "object.spec.size > 0",
     "autoscaling/v1 Scale: undefined field 'size'"),
]  # fmt: skip


@pytest.mark.parametrize(("subresource", "expression", "expected"), SUBRESOURCES)
def test_subresources(subresource: JSONObject, expression: str, expected: str) -> None:
    assert [each.split("\n")[0] for each in check_one(expression, subresource)] == [expected]


@pytest.mark.parametrize(
    ("subresources", "expression"),
    [
        ([rule("deployments/scale", group="apps")], "object.spec.replicas + object.status.replicas > 1"),
        ([rule("pods/exec", operations=CONNECT)], "object.stdin && object.command.all(c, c != object.container)"),
        ([rule("pods/exec", "pods/attach", operations=CONNECT)],
         "!has(object.command) || object.command[0] == 'sh'"),
        ([rule("pods/exec")], "object.nothing"),  # it gets CONNECT only
        ([rule("pods/*", operations=["*"])], "object.command == 'x'"),
        ([rule("deployments", "deployments/scale", group="apps")],
         "request.subResource == 'scale' || object.spec.?template.hasValue()"),
    ],
)  # fmt: skip
def test_what_fits_a_subresource(subresources: list[JSONObject], expression: str) -> None:
    assert check_one(expression, *subresources) == []


@pytest.mark.parametrize("kind", ["exec", "attach", "portforward", "proxy"])
@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("object.metadata.name != 'db-0'", "write request.name"),
        ("object.metadata.?namespace.orValue('') != 'db'", "write request.namespace"),
        ("object.?metadata.?name.orValue('') != 'db-0'", "write request.name"),
        ("object.metadata.labels.size() > 0", "request.name and request.namespace identify"),
        ("has(object.metadata)", "request.name and request.namespace identify"),
    ],
)
def test_connections_have_their_names_in_the_request(kind: str, expression: str, hint: str) -> None:
    rules = [rule(f"pods/{kind}", operations=CONNECT)]
    document = policy(
        matchConstraints={"resourceRules": rules}, validations=[{"expression": expression}]
    )
    (found,) = list(in_policies(LintRun(loaded(document)), type_check))
    assert hint in found.hint


EVERY = rule("*", group="*", version="*")
ANY_KIND: list[tuple[JSONObject, str, list[str]]] = [
    (EVERY, "object.metadata.lables == {}",
     ["any kind: undefined field 'lables'"]),
    (EVERY, "object.metadata.labels == 'x'",
     ["any kind: found no matching overload for '_==_' applied to '(map(string, string), string)'"]),
    (EVERY, "oldObject.metadata.?generation.orValue(0) == '2'",
     ["any kind: found no matching overload for '_==_' applied to '(int, string)'"]),
    (EVERY, "object.spec.anything == 1 && object.data.x == 'y' && object.kind != 'Pod'", []),
    (EVERY, "object.metadata.?labels[?'a'].orValue('') == 'x' && object['metadata'].name != ''", []),
    (EVERY, "object.all(k, k != 'x') && 'spec' in object && object == oldObject", []),
    (rule("*/status", group="*", version="*"), "object.metadata.nam == ''",
     ["any kind: undefined field 'nam'"]),
    (rule("unknowns", group="a.b"), "object.metadata.nam == ''",
     ["any kind: undefined field 'nam'"]),
    (rule("pods/*", operations=CONNECT), "object.metadata.nam == ''", []),
]  # fmt: skip


@pytest.mark.parametrize(("every", "expression", "expected"), ANY_KIND)
def test_metadata_is_that_of_every_kind(
    every: JSONObject, expression: str, expected: list[str]
) -> None:
    assert check_one(expression, every) == expected


def test_metadata_of_kinds_with_and_without_schemas() -> None:
    """A mistake is reported once, for the kinds that are named."""
    (found,) = check_one("object.metadata.lables == {}", PODS, EVERY)
    assert found.startswith("v1 Pod: ")
    assert check_one("object.kind == 'Pod' || object.metadata.lables == {}", PODS, EVERY) != []
    assert check_one("object.spec.imgae == ''", PODS, EVERY) != []


def test_what_does_not_compile_is_left_to_the_compiler() -> None:
    assert check_one("nothing == object.spec.nowhere") == []
    assert check_one("object.spec.") == []


def test_a_validating_admission_policy_is_checked_too() -> None:
    found = list(
        in_policies(
            LintRun(loaded(vap(validations=[{"expression": "object.spec.nope == 1"}]))), type_check
        )
    )
    assert [each.path for each in found] == ["spec.validations[0].expression"]


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("metrics", "autoscaling/v2 has what the expression reads: write v2 in apiVersions"),
        (
            "nowhere",
            "known fields: maxReplicas, minReplicas, scaleTargetRef, targetCPUUtilizationPercentage",
        ),
    ],
)
def test_another_version_that_has_the_field_is_suggested(field: str, hint: str) -> None:
    scalers = rule("horizontalpodautoscalers", group="autoscaling", version="v1")
    validations = [{"expression": f"object.spec.{field}.size() > 0", "message": "no"}]
    sources = loaded(policy(matchConstraints={"resourceRules": [scalers]}, validations=validations))
    (found,) = list(in_policies(LintRun(sources), type_check))
    assert found.hint == hint
