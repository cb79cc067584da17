"""Comparisons with values that a field never has, or that its schema does not list."""

import pytest

from policyd.errors import Fix, Problem
from policyd.json_types import JSON, JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.enums import never_equal
from tests.builders.objects import definition
from tests.builders.policies import (
    DEPLOYMENTS,
    EVERYTHING,
    PODS,
    apply_configuration,
    demand,
    policy,
    rule,
)
from tests.policy_sets import loaded

SERVICES = rule("services")
CLAIMS = rule("persistentvolumeclaims")
ENGINES = rule("engines", group="example.com")
ENGINE = definition(
    "Engine",
    "example.com",
    {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["fast", "Safe"]},
            "modes": {"type": "array", "items": {"type": "string", "enum": ["fast", "Safe"]}},
        },
    },
)

# The rule, an expression, the value that is meant; empty: none is certain.
NEVER: list[tuple[JSONObject, str, str]] = [
    (PODS, "object.spec.containers.all(c, c.imagePullPolicy != 'always')", "Always"),
    (PODS, "object.spec.containers.all(c, c.?imagePullPolicy.orValue('') != 'always')", "Always"),
    (PODS, "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, "
           "c.imagePullPolicy != 'always')", "Always"),
    (PODS, "object.spec.containers.filter(c, has(c.ports)).all(c, c.ports.all(p, p.protocol == 'tcp'))",
     "TCP"),
    (PODS, "object.spec.?restartPolicy.orValue('Always') in ['always', 'onfailure']", "Always"),
    (PODS, "object.spec['restartPolicy'] == 'never'", "Never"),
    (PODS, "'never' == object.spec.restartPolicy", "Never"),
    (PODS, "oldObject == null || oldObject.spec.restartPolicy == 'never'", "Never"),
    (PODS, "object.?status.?phase.orValue('') != 'running'", "Running"),
    (PODS, "request.operation != 'Create'", "CREATE"),
    (PODS, "request.operation in ['create', 'update']", "CREATE"),
    (PODS, "request.operation != 'PATCH'", ""),
    (PODS, "object.kind == 'pod'", "Pod"),
    (PODS, "object.kind != 'Pods'", "Pod"),
    (PODS, "request.kind.kind != 'pod'", "Pod"),
    (PODS, "request.resource.resource != 'pod'", "pods"),
    (SERVICES, "object.spec.type == 'Loadbalancer'", "LoadBalancer"),
    (SERVICES, "object.spec.?type.orValue('ClusterIP') != 'loadBalancer'", "LoadBalancer"),
    (DEPLOYMENTS, "object.spec.strategy.type == 'rollingUpdate'", "RollingUpdate"),
    (CLAIMS, "object.spec.accessModes.all(m, m != 'ReadWriteonce')", "ReadWriteOnce"),
    (CLAIMS, "!('ReadWriteonce' in object.spec.accessModes)", "ReadWriteOnce"),
    (rule("storageclasses", group="storage.k8s.io"), "object.reclaimPolicy == 'delete'", "Delete"),
    (ENGINES, "object.spec.mode == 'safe'", "Safe"),
    (ENGINES, "object.spec.modes.exists(m, m == 'safe')", "Safe"),
]  # fmt: skip
# The rule, an expression, part of the hint.
UNKNOWN: list[tuple[JSONObject, str, str]] = [
    (PODS, "object.spec.containers.all(c, c.imagePullPolicy != 'Allways')", "did you mean 'Always'?"),
    (SERVICES, "object.spec.type == 'Public'", "the values are 'ClusterIP', 'ExternalName'"),
    (ENGINES, "object.spec.mode == 'slow'", "the values are 'Safe', 'fast'"),
]  # fmt: skip
RIGHT: list[tuple[JSONObject, str]] = [
    (PODS, "object.spec.containers.all(c, c.imagePullPolicy != 'Always')"),
    (PODS, "object.spec.containers.all(c, c.?imagePullPolicy.orValue('') != '')"),
    (PODS, "object.spec.containers.all(c, c.?imagePullPolicy.orValue('unset') != 'unset')"),
    (PODS, "object.spec.containers.all(c, c.imagePullPolicy.lowerAscii() != 'always')"),
    (PODS, "object.spec.restartPolicy in ['Always', 'always']"),  # harmless
    (PODS, "object.spec.restartPolicy == 'Always' || object.spec.restartPolicy == 'always'"),
    (PODS, "object.spec.?restartPolicy.orValue(object.metadata.name) == 'never'"),
    (PODS, "object.spec.schedulerName == 'Always'"),  # no enumeration
    (PODS, "object.metadata.?labels[?'type'].orValue('') != 'loadbalancer'"),
    (PODS, "object.kind == 'Deployment'"),  # of another kind, on purpose
    (PODS, "request.operation != 'DELETE'"),
    (PODS, "object.spec.?securityContext.seccompProfile.type != 'OCI'"),  # of 1.38 only
    (CLAIMS, "object.status.allocatedResourceStatuses.all(k, v, v != 'ControllerResizeFailed')"),  # before
    (PODS, "request.operation.lowerAscii() != 'create'"),
    (PODS, "['always'].exists(c, c == 'always')"),
    (EVERYTHING, "object.spec.type == 'Loadbalancer'"),
    (ENGINES, "object.spec.mode == 'fast'"),
    (rule("others", group="example.com"), "object.spec.mode == 'safe'"),
]  # fmt: skip


@pytest.mark.parametrize(("matched", "expression", "right"), NEVER)
def test_a_value_that_the_field_never_has_is_an_error(
    matched: JSONObject, expression: str, right: str
) -> None:
    first, *_ = found = found_in(matched, expression)
    assert {each.rule for each in found} == {"impossible-value"}
    assert first.severity == "error"
    if right:
        assert first.hint == f"write '{right}'"
        assert first.fix is not None
        assert first.fix.new == right
        assert f"'{first.fix.old}'" in expression
    else:
        assert first.fix is None


@pytest.mark.parametrize(("matched", "expression", "hint"), UNKNOWN)
def test_a_value_that_the_schema_does_not_list_is_advice(
    matched: JSONObject, expression: str, hint: str
) -> None:
    (found,) = found_in(matched, expression)
    assert (found.rule, found.severity, found.fix) == ("unknown-value", "advice", None)
    assert hint in found.hint


@pytest.mark.parametrize(("matched", "expression"), RIGHT)
def test_other_comparisons_are_right(matched: JSONObject, expression: str) -> None:
    assert found_in(matched, expression) == []


def test_a_field_that_one_of_the_kinds_lacks_is_not_checked() -> None:
    """``spec.type`` of a Service is an enumeration; a Deployment has no such field."""
    expression = "!has(object.spec.type) || object.spec.type == 'loadbalancer'"
    both = {"resourceRules": [SERVICES, DEPLOYMENTS]}
    sources = loaded(policy(matchConstraints=both, validations=[demand(expression, "no")]))
    assert list(in_policies(LintRun(sources), never_equal)) == []


def test_variables_conditions_and_mutations_are_checked_where_they_are_written() -> None:
    patch = "Object{spec: Object.spec{restartPolicy: object.spec.restartPolicy == 'never' ? 'Always' : 'Never'}}"
    sources = loaded(
        policy(
            matchConditions=[{"name": "c", "expression": "request.operation == 'create'"}],
            variables=[{"name": "policy", "expression": "object.spec.?restartPolicy.orValue('')"}],
            validations=[demand("variables.policy != 'always'", "no")],
            mutations=[apply_configuration(patch)],
        )
    )
    found = [(each.path, each.fix) for each in list(in_policies(LintRun(sources), never_equal))]
    assert found == [
        ("spec.matchConditions[0].expression", Fix("create", "CREATE")),
        ("spec.validations[0].expression", Fix("always", "Always")),
        ("spec.mutations[0].applyConfiguration.expression", Fix("never", "Never")),
    ]


@pytest.mark.parametrize("enum", [5, "safe", {"a": 1}, [], [1, None, {}], None])
def test_an_enumeration_that_lists_no_strings_is_ignored(enum: JSON) -> None:
    schema: JSONObject = {
        "type": "object",
        "properties": {"mode": {"type": "string", "enum": enum}},
    }
    expression = demand("object.spec.mode == 'safe'", "no")
    match = {"resourceRules": [ENGINES]}
    sources = loaded(
        policy(matchConstraints=match, validations=[expression]),
        definition("Engine", "example.com", schema),
    )
    assert list(in_policies(LintRun(sources), never_equal)) == []


def found_in(matched: JSONObject, expression: str) -> list[Problem]:
    match = {"resourceRules": [matched]}
    sources = loaded(policy(matchConstraints=match, validations=[demand(expression, "no")]), ENGINE)
    assert sources.problems == ()
    return list(in_policies(LintRun(sources), never_equal))
