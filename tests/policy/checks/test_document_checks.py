"""What each kind of document must say; texts as the API server words them."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import (
    MUTATION,
    PODS,
    VALIDATION,
    map_,
    map_binding,
    policy,
    rule,
    suite,
    vap,
    vap_binding,
)
from tests.policy_sets import loaded, wrongs


def matching(**fields: Any) -> JSONObject:
    return {"resourceRules": [PODS], **fields}


def selector(**fields: Any) -> JSONObject:
    return {"matchExpressions": [{"key": "a", **fields}]}


REFUSED: list[tuple[str, JSONObject, str]] = [
    # rules
    ("no constraints", vap(matchConstraints=...), "spec.matchConstraints: Required value"),
    ("no rules", vap(matchConstraints={}), "spec.matchConstraints.resourceRules: Required value"),
    (
        "no operations",
        vap(matchConstraints={"resourceRules": [rule(operations=[])]}),
        "resourceRules[0].operations: Required value",
    ),
    (
        "star beside others",
        vap(matchConstraints={"resourceRules": [rule(apiGroups=["", "*"])]}),
        'apiGroups: Invalid value: ["", "*"]: if \'*\' is present, must not specify other API',
    ),
    (
        "empty version",
        vap(matchConstraints={"resourceRules": [rule(apiVersions=[""])]}),
        "apiVersions[0]: Required value",
    ),
    (
        "pods/* and pods/exec",
        vap(matchConstraints={"resourceRules": [rule(resources=["pods/*", "pods/exec"])]}),
        "resources[1]: Invalid value: \"pods/exec\": if 'pods/*' is present",
    ),
    (
        "*/exec and pods/exec",
        vap(matchConstraints={"resourceRules": [rule(resources=["*/exec", "pods/exec"])]}),
        "if '*/exec' is present, must not specify pods/exec",
    ),
    (
        "*/* and pods",
        vap(matchConstraints={"resourceRules": [rule(resources=["*/*", "pods"])]}),
        "if '*/*' is present, must not specify other resources",
    ),
    (
        "* and pods",
        vap(matchConstraints={"resourceRules": [rule(resources=["*", "pods"])]}),
        "if '*' is present, must not specify other resources without subresources",
    ),
    (
        "lower case operation",
        vap(matchConstraints={"resourceRules": [rule(operations=["create"])]}),
        'operations[0]: Unsupported value: "create": supported values: "*", "CONNECT"',
    ),
    (
        "scope",
        vap(matchConstraints={"resourceRules": [rule(scope="Galaxy")]}),
        'scope: Unsupported value: "Galaxy": supported values: "*", "Cluster", "Namespaced"',
    ),
    (
        "resource name",
        vap(matchConstraints={"resourceRules": [rule(resourceNames=["a/b", "x", "x"])]}),
        'resourceNames[2]: Duplicate value: "x"',
    ),
    ("matchPolicy", vap(matchConstraints=matching(matchPolicy="Fuzzy")), "Unsupported value"),
    # selectors
    (
        "In without values",
        vap(matchConstraints=matching(objectSelector=selector(operator="In"))),
        "values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ),
    (
        "Exists with values",
        vap(matchConstraints=matching(objectSelector=selector(operator="Exists", values=["a"]))),
        "values: Forbidden: may not be specified when `operator` is 'Exists'",
    ),
    (
        "no operator",
        vap(matchConstraints=matching(objectSelector=selector())),
        "operator: Required value",
    ),
    (
        "unknown operator",
        vap(matchConstraints=matching(objectSelector=selector(operator="Bad"))),
        'operator: Invalid value: "Bad": not a valid selector operator',
    ),
    (
        "label key",
        vap(matchConstraints=matching(namespaceSelector={"matchLabels": {"a b": "x"}})),
        "matchLabels[a b]: Invalid value",
    ),
    (
        "label value",
        vap(matchConstraints=matching(namespaceSelector={"matchLabels": {"a": "-x"}})),
        'matchLabels.a: Invalid value: "-x"',
    ),
    # conditions, variables, validations
    (
        "65 conditions",
        vap(matchConditions=[{"name": f"n{i}", "expression": "true"} for i in range(65)]),
        "spec.matchConditions: Too many: 65: must have at most 64 items",
    ),
    (
        "condition name",
        vap(matchConditions=[{"name": "a/b/c", "expression": "true"}]),
        'matchConditions[0].name: Invalid value: "a/b/c": a valid label key must consist',
    ),
    ("empty condition", vap(matchConditions=[{"name": "a", "expression": " "}]), "Required value"),
    (
        "same condition",
        vap(matchConditions=[{"name": "a", "expression": "true"}] * 2),
        'matchConditions[1].name: Duplicate value: "a"',
    ),
    (
        "variable name",
        vap(variables=[{"name": "for", "expression": "1"}]),
        'variables[0].name: Invalid value: "for": must be a valid CEL identifier',
    ),
    ("nothing to do", vap(validations=[]), "validations or auditAnnotations must contain"),
    ("blank expression", vap(validations=[{"expression": "\n"}]), "expression is not specified"),
    (
        "line break",
        vap(validations=[{**VALIDATION, "message": "a\nb"}]),
        'message: Invalid value: "a\\nb": must not contain line breaks',
    ),
    (
        "blank message",
        vap(validations=[{**VALIDATION, "messageExpression": " "}]),
        'messageExpression: Invalid value: " ": must be non-empty if specified',
    ),
    (
        "reason",
        vap(validations=[{**VALIDATION, "reason": "Unauthorized"}]),
        'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ),
    (
        "21 annotations",
        vap(auditAnnotations=[{"key": f"k{i}", "valueExpression": "'v'"} for i in range(21)]),
        "must not have more than 20 auditAnnotations",
    ),
    (
        "annotation key",
        vap(auditAnnotations=[{"key": "a/b", "valueExpression": "'v'"}]),
        'auditAnnotations[0].key: Invalid value: "p/a/b"',
    ),
    (
        "long annotation",
        vap(auditAnnotations=[{"key": "k", "valueExpression": "'" + "v" * 5120 + "'"}]),
        "must not exceed 5120 bytes",
    ),
    ("failurePolicy", vap(failurePolicy="fail"), 'supported values: "Fail", "Ignore"'),
    # params
    ("paramKind", vap(paramKind={"apiVersion": "a/b/c", "kind": "X"}), "unexpected GroupVersion"),
    ("paramKind kind", vap(paramKind={"apiVersion": "v1"}), "spec.paramKind.kind: Required value"),
    ("paramKind group", vap(paramKind={"apiVersion": "A/v1", "kind": "X"}), "RFC 1123 subdomain"),
    (
        "paramRef of nothing",
        vap_binding(paramRef={"parameterNotFoundAction": "Deny"}),
        "spec.paramRef: Required value: one of name or selector must be specified",
    ),
    (
        "paramRef of both",
        vap_binding(
            paramRef={"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"},
        ),
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
    ),
    (
        "no action",
        vap_binding(paramRef={"name": "a"}),
        "spec.paramRef.parameterNotFoundAction: Required value",
    ),
    # bindings
    ("no policyName", vap_binding(policyName=...), "spec.policyName: Required value"),
    ("no actions", vap_binding(validationActions=[]), "at least one validation action"),
    ("twice", vap_binding(validationActions=["Audit", "Audit"]), "[1]: Duplicate value"),
    ("Deny and Warn", vap_binding(validationActions=["Deny", "Warn"]), "both Deny and Warn"),
    # MAP
    (
        "DELETE",
        map_(matchConstraints={"resourceRules": [rule(operations=["DELETE"])]}),
        'operations[0]: Unsupported value: "DELETE"',
    ),
    (
        "binding with DELETE",
        map_binding(matchResources={"resourceRules": [rule(operations=["DELETE"])]}),
        'operations[0]: Unsupported value: "DELETE"',
    ),
    ("no mutations", map_(mutations=[]), "mutations must contain at least one item"),
    ("no reinvocation", map_(reinvocationPolicy=...), "spec.reinvocationPolicy: Required value"),
    ("no patchType", map_(mutations=[{}]), "mutations[0].patchType: Required value"),
    (
        "other field",
        map_(mutations=[{**MUTATION, "applyConfiguration": {"expression": "Object{}"}}]),
        "applyConfiguration: Invalid value: must not be specified when patchType is JSONPatch",
    ),
    (
        "missing field",
        map_(mutations=[{"patchType": "ApplyConfiguration"}]),
        "applyConfiguration: Required value: must be specified when patchType is Apply",
    ),
    (
        "Overlay",
        map_(mutations=[{"patchType": "Overlay"}]),
        'mutations[0].patchType: Unsupported value: "Overlay": supported values: "ApplyConf',
    ),
    # Policy
    ("nothing at all", policy(validations=...), "a policy needs validations, mutations or audit"),
    (
        "params and paramKind",
        policy(params={}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
        "spec.paramKind: Forbidden: params and paramKind/paramRef are mutually exclusive",
    ),
    (
        "paramRef alone",
        policy(paramRef={"name": "a", "parameterNotFoundAction": "Deny"}),
        "spec.paramKind: Required value: must be specified with paramRef",
    ),
    ("timeout", policy(timeoutSeconds=0), "must be more than 0 and at most 30 seconds"),
    ("long timeout", policy(timeoutSeconds=31), "must be more than 0 and at most 30 seconds"),
    (
        "podControllers",
        policy(
            podControllers=True,
            matchConstraints={"resourceRules": [rule(resources=["services"])]},
        ),
        "spec.podControllers: Invalid value: true: no resource rule matches pods",
    ),
    (
        "same variable",
        policy(variables=[{"name": "a", "expression": "1"}] * 2),
        'spec.variables[1].name: Duplicate value: "a"',
    ),
    ("hiding", policy(variables=[{"name": "_", "expression": "1"}]), "is misleading"),
    (
        "same validation",
        policy(validations=[{**VALIDATION, "name": "a"}] * 2),
        'spec.validations[1].name: Duplicate value: "a"',
    ),
    ("nameless", policy(exceptions=[{"names": ["a"]}]), "exceptions[0].name: Required value"),
    ("empty", policy(exceptions=[{"name": "a", "names": []}]), "exceptions[0].names: Required"),
    (
        "date",
        policy(exceptions=[{"name": "a", "until": "2027-02-30"}]),
        'exceptions[0].until: Invalid value: "2027-02-30": must be a date like 2027-03-31',
    ),
    (
        "unknown validation",
        policy(exceptions=[{"name": "a", "validations": ["nope"]}]),
        'exceptions[0].validations[0]: Not found: "nope"',
    ),
    # suites
    ("no cases", suite(cases=[]), "cases: Required value"),
    ("no expectation", suite(cases=[{"name": "a", "request": {"object": {}}}]), "expect: Required"),
    ("no request", suite(cases=[{"name": "a", "expect": {"code": 1}}]), "request: Required"),
    (
        "message of no text",
        suite(cases=[{"name": "a", "request": {"object": {}}, "expect": {"message": 5}}]),
        "cases[0].expect.message: expected a list, got 5",
    ),
    (
        "object twice",
        suite(
            cases=[
                {
                    "name": "a",
                    "request": {"object": {}, "objectFile": "x"},
                    "expect": {"allowed": True},
                }
            ]
        ),
        "objectFile: Forbidden: object and objectFile are mutually exclusive",
    ),
]


@pytest.mark.parametrize(
    ("document", "message"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED]
)
def test_what_the_rules_refuse(document: JSONObject, message: str) -> None:
    found = wrongs(document)
    assert any(message in text for text in found), found


ACCEPTED: list[tuple[str, JSONObject]] = [
    ("VAP", vap()),
    ("VAP of v1beta1", {**vap(), "apiVersion": "admissionregistration.k8s.io/v1beta1"}),
    ("only annotations", vap(validations=..., auditAnnotations=[{"key": "k", "valueExpression": "'v'"}])),
    ("two variables of one name", vap(variables=[{"name": "a", "expression": "1"}] * 2)),
    ("a variable called object", vap(variables=[{"name": "object", "expression": "1"}])),
    ("trailing line break", vap(validations=[{**VALIDATION, "message": "a\n"}])),
    ("null is absent", vap(paramKind=None, variables=None, failurePolicy=None)),
    ("null in a list of texts", vap(matchConstraints={"resourceRules": [rule(apiGroups=[None])]})),
    ("* before a subresource", vap(matchConstraints={"resourceRules": [rule(resources=["*", "pods/log"])]})),
    ("pods/exec before pods/*", vap(matchConstraints={"resourceRules": [rule(resources=["pods/exec", "pods/*"])]})),
    ("status", {**vap(), "status": {"observedGeneration": 1, "anything": []}}),
    (
        "exported metadata",
        {
            **vap(),
            "metadata": {
                "name": "p",
                "uid": "x",
                "creationTimestamp": None,
                "generation": 1,
                "managedFields": [{"manager": "kubectl"}],
                "annotations": {"policyd.dev/category": "Best Practices"},
            },
        },
    ),
    ("binding", vap_binding(matchResources=matching(), validationActions=["Warn", "Audit"])),
    ("MAP", map_(matchConstraints={"resourceRules": [rule(operations=["*"])]})),
    ("MAP binding", map_binding(paramRef={"selector": {}, "parameterNotFoundAction": "Allow"})),
    ("Policy with all of it", policy(
        description="d", podControllers=True, params={"a": 1}, timeoutSeconds=0.5, mutations=[MUTATION],
        validationActions=["Warn", "Audit"], reinvocationPolicy="IfNeeded",
        validations=[{**VALIDATION, "name": "v"}],
        exceptions=[{"name": "e", "reason": "r", "namespaces": ["legacy-*"], "names": ["a"], "until": "2027-03-31",
                     "objectSelector": {"matchLabels": {"a": "b"}}, "users": ["u"], "groups": ["g"],
                     "operations": ["CREATE"], "validations": ["v"]}],
    )),
    ("suite", suite()),
]  # fmt: skip


@pytest.mark.parametrize("document", [pytest.param(row[1], id=row[0]) for row in ACCEPTED])
def test_what_the_rules_accept(document: JSONObject) -> None:
    sources = loaded(document)
    assert sources.problems == ()
    assert sources.documents[0].model is not None


def test_defaults_are_those_of_kubernetes() -> None:
    from policyd.policy.model.kinds import Policy, ValidatingAdmissionPolicy

    model = loaded(vap()).documents[0].model
    assert isinstance(model, ValidatingAdmissionPolicy)
    assert model.spec.failure_policy == "Fail"
    assert model.spec.match_constraints.match_policy == "Equivalent"
    assert model.spec.match_constraints.resource_rules[0].scope == "*"
    own = loaded(policy()).documents[0].model
    assert isinstance(own, Policy)
    assert own.spec.validation_actions == ("Deny",)
    assert own.spec.reinvocation_policy == "Never"


def test_the_plain_value_is_camel_case_without_absent_fields() -> None:
    from policyd.policy.model.kinds import ValidatingAdmissionPolicy

    model = loaded(vap(matchConstraints=matching(matchPolicy="Exact"))).documents[0].model
    assert isinstance(model, ValidatingAdmissionPolicy)
    plain = model.spec.match_constraints.plain()
    assert plain["matchPolicy"] == "Exact"
    assert plain["resourceRules"][0]["apiGroups"] == [""]
    assert None not in plain.values()
