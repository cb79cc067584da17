"""Advice on expressions that are errors for objects without a field, or without an object."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from tests.builders.policies import (
    GADGETS,
    WORKLOADS,
    conditions,
    map_,
    policy,
    rule,
    vap,
    variables,
)
from tests.policy.lint.unguarded_advice import FIELD, NULL, found_in, told
from tests.policy_sets import loaded

CREATE, UPDATE, ALL = (rule(operations=[each]) for each in ("CREATE", "UPDATE", "*"))


GUARDED = [
    "object.metadata.?labels.orValue({}).exists(k, k == 'a') && object.metadata.labels['a'] == 'x'",
    "object.metadata.?labels.orValue({}).all(k, k != 'a') || object.metadata.labels['a'] == 'x'",
    "object.metadata.?labels.orValue({}).exists(k, k == 'a' && k != '') ? object.metadata.labels.a == 'x' : true",
    "object.spec.?nodeName == optional.of('x') && object.spec.nodeName == 'x'",
    "object.spec.?nodeName == optional.none() || object.spec.nodeName == 'x'",
    "object.spec.?nodeName != optional.none() ? object.spec.nodeName == 'x' : true",
    "has(object.spec.nodeName) && object.spec.nodeName == 'x'",
    "object.spec.nodeName == 'x' && has(object.spec.nodeName)",
    "!has(object.spec.nodeName) || object.spec.nodeName == 'x'",
    "has(object.spec.nodeName) ? object.spec.nodeName == 'x' : true",
    'object.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged)',
    'object.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) || !c.securityContext.privileged)',
    "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'x'",
    "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels.app == 'x'",
    'has(object.metadata.labels.app) || true',
    "object.metadata.?labels['app'].orValue('') == 'x'",
    "object.metadata.?labels.orValue({}).size() > 0 && object.metadata.labels.all(k, k != 'x')",
    'object.spec.?hostNetwork.orValue(false) && object.spec.hostNetwork',
    "object.spec.?volumes.orValue([]).exists(v, has(v.hostPath) && v.hostPath.path == '/')",
    "object.spec.?volumes.orValue([]).filter(v, has(v.hostPath)).all(v, v.hostPath.path == '/')",
    'object.spec.containers.all(c, has(c.ports)) && object.spec.containers.all(d, d.ports.size() > 0)',
    "object.spec.containers.all(c, c.image != '' && c.imagePullPolicy == 'x')",
    'object.spec.containers.all(c, c.resources.?limits.orValue({}).size() > 0)',
    "object.spec.?nodeName.hasValue() && object.spec.nodeName == 'x'",
    "object.spec.?nodeName.orValue('') != '' && object.spec.nodeName == 'x'",
    "object.spec.?nodeName.orValue('') == '' || object.spec.nodeName == 'x'",
    'object.spec.?volumes.orValue([]).size() == 0 || object.spec.volumes.size() > 1',
    'object.spec.?volumes.optMap(v, v.size() > 1).orValue(true)',
    "object.kind == 'Pod' ? true : object.spec.nodeName == 'x'",
    "object.kind != 'Pod' || true",
    "object.metadata.name != 'x' && object.metadata.namespace != 'y'",
    'object.metadata.?ownerReferences.orValue([]).exists(r, has(r.controller) && r.controller)',
    "object.metadata.?labels.orValue({}).all(k, v, v != '')",
    "object.metadata.?labels.orValue({}).all(k, object.metadata.labels[k] != '')",
    "request.operation == 'CREATE' || oldObject.metadata.name == 'x'",
    "oldObject == null || oldObject.metadata.name == 'x'",
    "request.operation != 'UPDATE' || object.spec.containers == oldObject.spec.containers",
    "request.operation in ['CREATE', 'CONNECT'] || oldObject.metadata.name == 'x'",
    '(has(object.spec.nodeName) && has(object.spec.hostname)) ? object.spec.nodeName == object.spec.hostname : true',
    'has(object.spec.securityContext.runAsUser) && object.spec.securityContext.runAsUser > 0',
    "has(object.spec.template) ? object.spec.nodeName == 'x' : true",
    "!(has(object.spec.nodeName)) || object.spec.nodeName == 'x'",
    "!(has(object.spec.nodeName) && object.spec.nodeName == 'x')",
    '(object.spec.containers + object.spec.?initContainers.orValue([])).filter(c, has(c.livenessProbe)).all(c, c.livenessProbe.periodSeconds > 1)',
    "object.spec.containers.all(c, has(c.livenessProbe) ? has(c.livenessProbe.httpGet) && c.livenessProbe.httpGet.scheme == 'x' : true)",
    "['a','b'].all(k, k in object.metadata.?labels.orValue({}) && object.metadata.labels[k] != '')",
    "(has(object.spec.volumes) ? object.spec.volumes : []).filter(v, has(v.hostPath)).all(v, v.hostPath.path != '')",
    "(has(object.spec.volumes) ? object.spec.volumes.filter(v, has(v.hostPath)) : []).all(v, v.hostPath.path != '')",
    '(!has(object.spec.volumes) ? [] : object.spec.volumes).all(v, object.spec.volumes.size() > 1)',
    "object.spec.?nodeName.orValue(null) == null || object.spec.nodeName == 'x'",
    "object.spec.?nodeName.orValue(null) != null ? object.spec.nodeName == 'x' : true",
    "(has(object.spec.nodeName) == true) && object.spec.nodeName == 'x'",
    "has(object.spec.nodeName) == false || object.spec.nodeName == 'x'",
    'size(object.spec.?volumes.orValue([])) > 0 ? object.spec.volumes.size() > 1 : true',
    'object.spec.?volumes.orValue([]).exists(v, true) && object.spec.volumes.size() > 1',
    # Ephemeral containers are another type, so the list has maps.
    "(object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])).all(c, c.image != c.name)",
    "([] + object.spec.containers + object.spec.?ephemeralContainers.orValue([])).filter(c, has(c.ports)).all(c, c.ports.size() > 0)",
    "object.spec.containers.all(c, !has(c.env) || c.env.all(e, !has(e.valueFrom) || !has(e.valueFrom.secretKeyRef) || e.valueFrom.secretKeyRef.name != 'x'))",
    "object.spec.?volumes.orValue([]).all(v, !has(v.configMap) || v.configMap.name != 'x')",
    "object.spec.containers.all(c, !c.?lifecycle.?preStop.?exec.hasValue() || c.lifecycle.preStop.exec.command.size() > 0)",
    "(object.spec.?initContainers.orValue([]) + object.spec.containers).all(c, c.image.startsWith('x'))",
    "(has(object.spec.initContainers) ? object.spec.initContainers : []).map(c, c.image).all(i, i != '')",
    "[object.spec.containers, object.spec.?initContainers.orValue([])].flatten().all(c, c.image != '')",
]  # fmt: skip


@pytest.mark.parametrize("expression", GUARDED)
def test_what_is_guarded_is_not_told(expression: str) -> None:
    assert told(expression) == []


NODE = "object.spec.nodeName may be missing"
LABELS, APP = (
    "object.metadata.labels may be missing",
    "object.metadata.labels['app'] may be missing",
)
UNGUARDED: list[tuple[str, list[str]]] = [
    ("object.spec.nodeName == 'x'", [NODE]),
    ("object.spec['nodeName'] == 'x'", [NODE]),
    ("object['spec'].nodeName == 'x'", ['object["spec"].nodeName may be missing']),
    ("object.metadata.labels['app'] == 'x'", [LABELS, APP]),
    ("has(object.metadata.labels) && object.metadata.labels['app'] == 'x'", [APP]),
    ("has(object.metadata.labels) && object.metadata.labels.app == 'x'", [APP]),
    ("has(object.metadata.labels.app)", [LABELS]),
    ("'app' in object.metadata.labels && object.metadata.labels['app'] == 'x'", [LABELS]),
    ("object.spec.containers.all(c, c.securityContext.privileged == true)",
     ["c.securityContext may be missing", "c.securityContext.privileged may be missing"]),
    ("object.spec.containers.all(c, has(c.livenessProbe) && c.livenessProbe.httpGet.path == 'x')",
     ["c.livenessProbe.httpGet may be missing"]),
    ("object.spec.initContainers.all(c, c.image != '')", ["object.spec.initContainers may be missing"]),
    ("has(object.spec.hostname) || object.spec.nodeName == 'x'", [NODE]),
    ("!has(object.spec.nodeName) && object.spec.nodeName == 'x'", [NODE]),
    ("!has(object.spec.nodeName) ? object.spec.nodeName == 'x' : true", [NODE]),
    ("has(object.spec.nodeName) == false && object.spec.nodeName == 'x'", [NODE]),
    ("has(object.spec.hostname) ? object.spec.nodeName == 'x' : true", [NODE]),
    ("object.spec.?nodeName.orValue('') == '' && object.spec.nodeName == 'x'", [NODE]),
    ("object.spec.?nodeName != optional.of('x') && object.spec.nodeName == 'x'", [NODE]),
    ("has(object.metadata.labels) && object.metadata.labels.exists(k, k == 'b') && object.metadata.labels['app'] == 'x'", [APP]),
    ("has(object.metadata.labels) && object.metadata.labels.all(k, k == 'app') && object.metadata.labels['app'] == 'x'", [APP]),
    ("has(object.metadata.labels) && object.metadata.labels.exists(k, k == 'app' || k == 'b') && object.metadata.labels['app'] == 'x'", [APP]),
    ("object.spec.?nodeName.orValue('x') == 'x' && object.spec.nodeName == 'x'", [NODE]),
    ("!object.spec.?nodeName.hasValue() && object.spec.nodeName == 'x'", [NODE]),
    ("object.spec.?volumes.orValue([]).all(v, v.hostPath.path == '/')", [
     "v.hostPath may be missing"]),
    ("object.spec.?volumes.orValue([]).size() >= 0 && object.spec.volumes.size() > 1", [
     "object.spec.volumes may be missing"]),
    ("object.spec.containers.exists(c, has(c.ports)) && object.spec.containers.all(c, c.ports.size() > 1)",
     ["c.ports may be missing"]),
    ("object.spec.containers.all(c, has(c.ports)) || object.spec.containers.all(c, c.ports.size() > 1)",
     ["c.ports may be missing"]),
    ("object.spec.containers.filter(c, has(c.ports)).all(c, has(c.lifecycle)) && "
     "object.spec.containers.all(c, c.lifecycle.size() > 1)", ["c.lifecycle may be missing"]),
    ("object.spec.containers.all(c, has(c.ports) && object.spec.?initContainers.orValue([])"
     ".all(c, c.ports.size() > 1))", ["c.ports may be missing"]),
    ("object.spec.containers.all(c, object.spec.nodeName == c.name) && has(object.spec.volumes)", [NODE]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), UNGUARDED)
def test_what_may_be_missing_is_told(expression: str, expected: list[str]) -> None:
    assert told(expression) == expected


IMAGES = "object.spec.containers.map(c, {'a': c.image})"
MADE = [
    (IMAGES, "MADE.all(m, m.a != '' && m['a'] != '') && MADE.sortBy(m, m.a)[0].a != ''"),
    (f"[{IMAGES}]", "MADE.all(l, l.all(m, m.a != '' && m['a'] != ''))"),
]


@pytest.mark.parametrize(("made", "expression"), MADE)
def test_maps_that_the_policy_makes_are_its_own(made: str, expression: str) -> None:
    assert told(expression.replace("MADE", made)) == []
    assert told(expression.replace("MADE", "variables.m"), variables=variables(m=made)) == []


VARIABLES: list[tuple[JSONObject, str, list[str]]] = [
    ({"spec": "object.spec"}, "has(object.spec.nodeName) && variables.spec.nodeName == 'x'", []),
    ({"spec": "object.spec"}, "variables.spec.nodeName == 'x'", [
        "variables.spec.nodeName may be missing"]),
    ({"on": "has(object.spec.nodeName)"}, "variables.on ? object.spec.nodeName == 'x' : true", []),
    ({"on": "has(object.spec.nodeName)"}, "variables.on || object.spec.nodeName == 'x'", [NODE]),
    ({"node": "object.spec.nodeName"}, "has(object.spec.nodeName) && variables.node == 'x'", []),
    ({"node": "object.spec.nodeName"}, "variables.node == 'x'", [NODE]),
    ({"node": "object.spec.nodeName"}, "true", []),
    ({"all": "object.spec.containers.filter(c, has(c.ports))"},
     "variables.all.all(d, d.ports.size() > 0)", []),
    ({"all": "object.spec.containers + object.spec.?initContainers.orValue([])"},
     "variables.all.all(c, has(c.ports)) && variables.all.all(d, d.ports.size() > 0)", []),
    ({"all": "object.spec.containers + object.spec.?initContainers.orValue([])"},
     "variables.all.all(c, c.ports.size() > 0)", ["c.ports may be missing"]),
    ({"all": "object.spec.containers + object.spec.?ephemeralContainers.orValue([])"},
     "variables.all.all(c, c.image != '' && c.ports.size() > 0)", ["c.ports may be missing"]),
    ({"all": "object.spec.containers + object.spec.?ephemeralContainers.orValue([])",
      "open": "variables.all.filter(c, has(c.ports))"},
     "variables.open.all(c, c.ports[0].containerPort > 1 && c.resources.limits.size() > 0)", ["c.resources.limits may be missing"]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expression", "expected"), VARIABLES)
def test_variables_are_read_as_their_expressions(
    given: dict[str, str], expression: str, expected: list[str]
) -> None:
    assert told(expression, variables=variables(**given)) == expected


def test_a_variable_is_told_where_it_is_written() -> None:
    document = policy(
        variables=variables(node="object.spec.nodeName"),
        validations=[{"expression": "variables.node == 'x'"}] * 2,
    )
    assert found_in(document) == [("spec.variables[0].expression", NODE)]


def test_conditions_guard_validations_and_each_other() -> None:
    expression = "object.spec.nodeName == 'x'"
    has = "has(object.spec.nodeName)"
    assert told(expression, matchConditions=conditions(has)) == []
    assert told("true", matchConditions=conditions(expression, has)) == []
    assert told(expression, matchConditions=conditions(f"!{has}")) == [NODE]
    other = "object.kind == 'Deployment'"
    assert told(expression, matchConditions=conditions(other)) == []


def test_earlier_validations_guard_later_ones() -> None:
    has, uses = (
        {"expression": "has(object.spec.nodeName)"},
        {"expression": "object.spec.nodeName == 'x'"},
    )
    assert found_in(policy(validations=[has, uses])) == []
    assert found_in(policy(validations=[uses, has])) == [("spec.validations[0].expression", NODE)]


def test_messages_are_made_when_the_validation_is_false() -> None:
    guarded = {
        "expression": "!has(object.spec.nodeName)",
        "messageExpression": "object.spec.nodeName",
    }
    assert found_in(policy(validations=[guarded])) == []
    wrong = {**guarded, "expression": "has(object.spec.nodeName)"}
    assert found_in(policy(validations=[wrong])) == [
        ("spec.validations[0].messageExpression", NODE)
    ]


def test_mutations_are_looked_at() -> None:
    text = "[JSONPatch{op: 'add', path: '/spec/hostname', value: object.metadata.labels['app']}]"
    document = map_(mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}])
    path = "spec.mutations[0].jsonPatch.expression"
    assert found_in(document) == [(path, LABELS), (path, APP)]


def test_kinds_are_told_apart() -> None:
    by_kind = (
        "object.kind == 'Pod' ? has(object.spec.nodeName) && object.spec.nodeName == 'x' "
        ": object.spec.template.spec.containers.size() > 0"
    )
    assert told(by_kind, rule(), WORKLOADS) == []
    by_resource = "request.resource.resource == 'pods' || object.spec.template.spec.nodeName == 'x'"
    assert told(by_resource, rule(), WORKLOADS) == [
        "object.spec.template.spec.nodeName may be missing (apps/v1 DaemonSet, apps/v1 Deployment)"
    ]
    by_field = "has(object.spec.template) ? true : object.spec.containers.size() > 0"
    assert told(by_field, rule(), WORKLOADS) == []


def test_custom_resources_lack_what_is_neither_required_nor_defaulted() -> None:
    assert told("object.spec.size > 1", GADGETS) == [
        "object.spec may be missing",
        "object.spec.size may be missing",
    ]
    assert told("object.metadata.name != object.kind", GADGETS) == []
    assert told("object.?spec.?size.orValue(2) > 1 || object.spec.size > 0", GADGETS) == []


def test_unknown_kinds_and_wildcards_are_left_out() -> None:
    anything = rule(apiGroups=["*"], apiVersions=["*"], resources=["*"])
    assert told("object.spec.nodeName == 'x'", anything) == []
    assert told("object.spec.x == 'x'", rule(apiGroups=["a.b"], resources=["things"])) == []


ON_CREATE = "oldObject is null on CREATE, so every CREATE request errors"
ON_DELETE = "object is null on DELETE, so every DELETE request errors"
SAME = "object.metadata.name == oldObject.metadata.name"
NULLS: list[tuple[str, list[JSONObject], list[str]]] = [
    (SAME, [rule()], [ON_CREATE]),
    (SAME, [UPDATE], []),
    (SAME, [CREATE], [ON_CREATE]),
    (f"has(oldObject.metadata) && {SAME}", [rule()], []),
    (f"has(oldObject.metadata) || {SAME}", [rule()], [ON_CREATE]),
    (f"oldObject.?metadata.hasValue() ? {SAME} : true", [rule()], []),
    (f"oldObject.?metadata.orValue(null) == null || {SAME}", [rule()], []),
    (f"oldObject.?spec.?hostNetwork.orValue(false) && {SAME}", [rule()], []),
    ("oldObject['metadata'] == object.metadata", [rule()], [ON_CREATE]),
    (f"oldObject == null || {SAME}", [rule()], []),
    (f"oldObject != null && {SAME}", [rule()], []),
    ("oldObject.all(k, k != '')", [UPDATE], []),
    (f"request.operation == 'UPDATE' ? {SAME} : true", [rule()], []),
    (f"request.operation != 'UPDATE' || {SAME}", [rule()], []),
    (f"request.operation in ['UPDATE'] && {SAME}", [rule()], []),
    (f"request.operation in ['CREATE'] && {SAME}", [rule()], [ON_CREATE]),
    ("object.metadata.name != 'x'", [ALL], [ON_DELETE]),
    ("object.metadata.name != 'x'", [rule(operations=["DELETE"])], [ON_DELETE]),
    ("oldObject.metadata.name != 'x'", [rule(operations=["DELETE"])], []),
    ("(object == null ? oldObject : object).metadata.name != 'x'", [rule(operations=["DELETE"])], []),
    ("request.operation == 'DELETE' || object.metadata.name != 'x'", [ALL], []),
    (SAME, [rule(apiGroups=["*"], resources=["*"])], [ON_CREATE]),
    (SAME, [rule(apiGroups=["a.b"], resources=["things"], operations=["UPDATE"])], []),
    ("object.command.size() > 0", [rule(resources=["pods/exec"], operations=["CONNECT"])], []),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "rules", "expected"), NULLS)
def test_objects_that_are_null(
    expression: str, rules: list[JSONObject], expected: list[str]
) -> None:
    assert told(expression, *rules) == expected


def test_nothing_is_mutated_on_delete() -> None:
    mutations = [
        {
            "patchType": "JSONPatch",
            "jsonPatch": {"expression": "object.metadata.name == '' ? [] : []"},
        }
    ]
    everything = {"resourceRules": [ALL]}
    assert found_in(map_(mutations=mutations, matchConstraints=everything)) == []
    document = policy(mutations=mutations, validations=..., matchConstraints=everything)
    assert found_in(document) == []


def test_conditions_on_the_operation_guard() -> None:
    assert told(SAME, matchConditions=conditions("request.operation == 'UPDATE'")) == []


NODES, EXEC = rule(resources=["nodes"]), rule(resources=["pods/exec"], operations=["CONNECT"])
REQUESTS: list[tuple[str, list[JSONObject], list[str]]] = [
    ("request.subResource == ''", [rule()], ["request.subResource may be missing"]),
    ("request.?subResource.orValue('') == ''", [rule()], []),
    ("!has(request.subResource) || request.subResource == 'exec'", [rule()], []),
    ("request.subResource == 'exec'", [EXEC], []),
    ("request.requestSubResource == ''", [rule(), EXEC], ["request.requestSubResource may be missing"]),
    ("request.userInfo.extra.size() == 0", [rule()], ["request.userInfo.extra may be missing"]),
    ("request.userInfo.username == 'x' && request.userInfo.groups.size() > 1", [rule()], []),
    ("request.namespace == 'x' && request.name == 'y'", [rule()], []),
    ("request.namespace == 'x'", [rule(resources=["namespaces"])], []),
    ("request.namespace == 'x'", [NODES], ["request.namespace may be missing"]),
    ("namespaceObject.metadata.name == 'x'", [rule()], []),
    ("namespaceObject.metadata.name == 'x'", [NODES], [
        "namespaceObject is null for v1 Node, so every request errors"]),
    ("namespaceObject == null || namespaceObject.metadata.name == 'x'", [NODES], []),
    ("namespaceObject.metadata.labels['a'] == 'x'", [rule()], [
        "namespaceObject.metadata.labels['a'] may be missing"]),
    # The API server sets this label.
    ("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'x'", [rule()], []),
    ("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'x'", [rule("*", group="*")], []),
    ("object.metadata.labels['kubernetes.io/metadata.name'] == 'x'", [rule("namespaces")], []),
    ("object.metadata.labels['a'] == 'x'", [rule("namespaces")], ["object.metadata.labels['a'] may be missing"]),
    ("object.metadata.labels['kubernetes.io/metadata.name'] == 'x'", [rule()], [
        "object.metadata.labels may be missing",
        "object.metadata.labels['kubernetes.io/metadata.name'] may be missing"]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "rules", "expected"), REQUESTS)
def test_what_requests_may_be_without(
    expression: str, rules: list[JSONObject], expected: list[str]
) -> None:
    assert told(expression, *rules) == expected


def test_conditions_know_no_namespace() -> None:
    """As recorded: there it is null, whatever the object."""
    asked = conditions("namespaceObject.metadata.name == 'x'")
    assert told("namespaceObject.metadata.name == 'x'", matchConditions=asked) == [
        "namespaceObject is null in matchConditions, so every request errors"
    ]


def test_params_are_left_out() -> None:
    expression = "params.data['x'] == 'y' && params.data.list.split(',').all(x, x != '')"
    ref = {"name": "p", "parameterNotFoundAction": "Deny"}
    of = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "paramRef": ref}
    assert told(expression, **of) == []


def test_names_of_rules() -> None:
    document = vap(validations=[{"expression": f"{SAME} && object.spec.nodeName == ''"}])
    assert [each.rule for each in list(in_policies(LintRun(loaded(document)), unguarded))] == [
        NULL,
        FIELD,
    ]
