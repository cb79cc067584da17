"""Which field of the object a denial by an expression names."""

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import deployment
from tests.builders.policies import policy, vap, vap_binding
from tests.policy_sets import POD, ask, load

VARIABLES = [
    {"name": "containers", "expression": "object.spec.containers"},
    {"name": "first", "expression": "variables.containers[0]"},
    {"name": "names", "expression": "variables.containers.map(c, c.name)"},
    {"name": "user", "expression": "request.userInfo.username"},
]
# An expression that is false for the Pod, and the field.
EXPRESSIONS = [
    ("object.spec.containers.size() > 5", "spec.containers"),
    ("object.spec.containers.all(c, c.image.startsWith('x/') && c.name != '')", "spec.containers"),
    ("object.spec.containers[0].image == 'x'", "spec.containers[0].image"),
    ("has(object.spec.nodeName)", "spec.nodeName"),
    ("has(object.spec.nodeName) && object.spec.nodeName == 'a'", "spec.nodeName"),
    ("object.?spec.?nodeName.hasValue()", "spec.nodeName"),
    ("object.metadata.labels['a.io/x'] == 'x' || false", "metadata.labels[a.io/x]"),
    ("object.metadata.labels['app'] == 'x'", "metadata.labels.app"),
    ("'x' in object.metadata.labels", "metadata.labels"),
    ("object.spec.nodeName == object.spec.hostname", "spec"),
    ("object.metadata.name == object.spec.hostname", ""),
    ("object == oldObject", ""),
    ("request.operation == 'DELETE'", ""),
    ("1 == 2", ""),
    ("object.spec.containers.size() > params.most", "spec.containers"),
    ("object.metadata.name == request.userInfo.username", "metadata.name"),
    ("variables.containers.size() > 5", "spec.containers"),
    ("variables.first.image == 'x'", "spec.containers[0].image"),
    ("variables.names.exists(n, n == 'x')", "spec.containers"),
    ("variables.user == object.metadata.name", "metadata.name"),
    ("variables.user == 'x'", ""),
    ("[1].exists(object, object == 2)", ""),
    ("[1].exists(object, .object.spec.hostname == string(object))", "spec.hostname"),
    (".variables.user == .object.metadata.name", "metadata.name"),
    ("{'a': object.spec.hostname}.a == 'x'", "spec.hostname"),
    ("object.metadata.labels.all(k, v, v == k)", "metadata.labels"),
]


@pytest.mark.parametrize(("expression", "field"), EXPRESSIONS)
def test_a_denial_names_what_the_expression_reads(expression: str, field: str) -> None:
    spec: JSONObject = {"params": {"most": 9}, "variables": VARIABLES}
    obj = {**POD, "spec": {"hostname": "h", **POD["spec"]}}
    obj["metadata"] = {**POD["metadata"], "labels": {"app": "web", "a.io/x": "y"}}
    denied = ask(load(policy(validations=[{"expression": expression}], **spec)), obj)
    (cause,) = denied["status"]["details"]["causes"]
    assert cause.get("field", "") == field


def test_the_field_of_a_controller_is_in_its_template() -> None:
    only = {"expression": "object.spec.containers.size() > 5"}
    denied = ask(load(policy(validations=[only], podControllers=True)), deployment())
    (cause,) = denied["status"]["details"]["causes"]
    assert cause["field"] == "spec.template.spec.containers"


def test_a_policy_of_kubernetes_names_none_as_in_kubernetes() -> None:
    only = {"expression": "object.spec.containers.size() > 5"}
    denied = ask(load(vap("v", validations=[only]), vap_binding(policyName="v")))
    (cause,) = denied["status"]["details"]["causes"]
    assert cause.keys() == {"message"}
