"""Documents that policyd reads: policies of all three kinds, their parts and bindings, and suites."""

from collections.abc import Iterable

from policyd.json_types import JSON, JSONObject
from tests.builders.objects import pod

ADMISSION = "admissionregistration.k8s.io/v1"


def rule(
    *resources: str,
    group: str = "",
    version: str = "v1",
    operations: Iterable[str] = ("CREATE", "UPDATE"),
    **fields: JSON,
) -> JSONObject:
    """One item of ``resourceRules``, for Pods by default."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources or ["pods"]),
        **fields,
    }


PODS = rule("pods")
CONFIG_MAPS = rule("configmaps")
DEPLOYMENTS = rule("deployments", group="apps")
WORKLOADS = rule("deployments", "daemonsets", group="apps")
GADGETS = rule("gadgets", group="example.com")  # those of objects.gadget_definition()
EVERYTHING = rule("*", group="*", version="*", operations=["*"])
VALIDATION: JSONObject = {"expression": "object.metadata.name != 'x'"}


def demand(expression: str, message: str, **more: JSON) -> JSONObject:
    """One item of ``validations``."""
    return {"expression": expression, "message": message, **more}


TEAM = demand("'team' in object.metadata.?labels.orValue({})", "no team")
NOT_PRIVILEGED = demand(
    "object.spec.containers.all(c, !c.?securityContext.?privileged.orValue(false))",
    "privileged containers are not allowed",
)


def json_patch(expression: str) -> JSONObject:
    """One item of ``mutations``."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def apply_configuration(expression: str) -> JSONObject:
    """One item of ``mutations``."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def overlay(tree: JSON) -> JSONObject:
    """One item of ``mutations``."""
    return {"patchType": "Overlay", "overlay": tree}


def add_label(value: str, name: str = "x") -> JSONObject:
    """A JSON Patch that adds one label to existing ones; its value is an expression."""
    return json_patch(f"[JSONPatch{{op: 'add', path: '/metadata/labels/{name}', value: {value}}}]")


def labelling(key: str, value: str) -> JSONObject:
    """A mutation that sets one label, whether or not there are other labels."""
    return apply_configuration(
        f"Object{{metadata: Object.metadata{{labels: {{'{key}': {value}}}}}}}"
    )


MUTATION = json_patch("[]")


def document(api_version: str, kind: str, name: str, spec: JSONObject) -> JSONObject:
    """A document; fields of the spec with the value ``...`` are left out. Tests may change its
    fields, and those of items of lists.
    """
    kept = {key: _copied(value) for key, value in spec.items() if value is not ...}
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": kept}


def _copied(value: JSON) -> JSON:
    """A copy without recursion: values of some tests are as deep as they can be."""
    if isinstance(value, list):
        return [{**each} if isinstance(each, dict) else each for each in value]
    return {**value} if isinstance(value, dict) else value


def policy(name: str = "p", *rules: JSONObject, match: JSON = None, **spec: JSON) -> JSONObject:
    """A Policy for Pods; ``match`` has more fields of matchConstraints.

    It has a validation by default, unless validations or mutations are given.
    """
    constraints = {"resourceRules": list(rules or [PODS]), **(match or {})}
    base: JSONObject = {"matchConstraints": constraints}
    if not spec.keys() & {"validations", "mutations"}:
        base["validations"] = [VALIDATION]
    return document("policyd.dev/v1", "Policy", name, {**base, **spec})


def denying(name: str = "p", message: str = "no", **spec: JSON) -> JSONObject:
    """A Policy that denies every Pod."""
    return policy(name, **{"validations": [demand("false", message)], **spec})


def vap(name: str = "p", *rules: JSONObject, **spec: JSON) -> JSONObject:
    """A ValidatingAdmissionPolicy for Pods."""
    constraints = {"resourceRules": list(rules or [PODS])}
    base = {"matchConstraints": constraints, "validations": [VALIDATION]}
    return document(ADMISSION, "ValidatingAdmissionPolicy", name, {**base, **spec})


def vap_binding(name: str = "b", **spec: JSON) -> JSONObject:
    """A binding of the policy ``p`` with the action Deny."""
    base = {"policyName": "p", "validationActions": ["Deny"]}
    return document(ADMISSION, "ValidatingAdmissionPolicyBinding", name, {**base, **spec})


def map_(name: str = "m", *rules: JSONObject, **spec: JSON) -> JSONObject:
    """A MutatingAdmissionPolicy for Pods."""
    base = {
        "matchConstraints": {"resourceRules": list(rules or [PODS])},
        "mutations": [MUTATION],
        "reinvocationPolicy": "Never",
    }
    return document(ADMISSION, "MutatingAdmissionPolicy", name, {**base, **spec})


def map_binding(name: str = "mb", **spec: JSON) -> JSONObject:
    """A binding of the policy ``m``."""
    return document(ADMISSION, "MutatingAdmissionPolicyBinding", name, {"policyName": "m", **spec})


def teams(*rules: JSONObject, **spec: JSON) -> JSONObject:
    """A Policy that wants the label team."""
    return policy("team", *rules, validations=[TEAM], **spec)


def variables(**expressions: str) -> list[JSONObject]:
    """The ``variables`` of a policy."""
    return [{"name": name, "expression": each} for name, each in expressions.items()]


def conditions(*expressions: str) -> list[JSONObject]:
    """``matchConditions``: c0, c1 …"""
    return [{"name": f"c{n}", "expression": each} for n, each in enumerate(expressions)]


def rollout(name: str = "r", of: JSON = "p", **spec: JSON) -> JSONObject:
    """A Rollout of the policies named ``of``."""
    return document("policyd.dev/v1", "Rollout", name, {"policyName": of, **spec})


def rollout_document(name: str = "p", **spec: JSON) -> JSONObject:
    """A Rollout of the policies of this name, in shadow by default."""
    return document("policyd.dev/v1", "Rollout", name, {"policyName": name, **spec})


def policy_exception(name: str = "e", *policies: JSONObject | str, **spec: JSON) -> JSONObject:
    """A PolicyException of these policies: names, or entries as they are."""
    named: JSON = [{"name": each} if isinstance(each, str) else each for each in policies]
    whole = {"policies": named, "reason": "ticket 4711", **spec}
    return document("policyd.dev/v1", "PolicyException", name, whole)


def suite(name: str = "s", **fields: JSON) -> JSONObject:
    """A suite with one case, in which a Pod is allowed."""
    case = {"name": "one", "request": {"object": pod()}, "expect": {"allowed": True}}
    head = {"apiVersion": "policyd.dev/v1", "kind": "PolicyTest", "metadata": {"name": name}}
    return {**head, "cases": [case], **fields}
