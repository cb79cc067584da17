"""Policies and objects for tests of the public API."""

from policyd.json_types import JSON, JSONObject
from tests.builders import policies
from tests.builders.objects import pod

POD = pod(namespace=None)
RULE = policies.rule("*", "pods/*", "deployments/*", operations=["*"], apiGroups=["", "apps"])


def requiring(name: str, *expressions: str, **spec: JSON) -> JSONObject:
    """A Policy of these validations, whose messages are ``NAME INDEX``."""
    demands = [policies.demand(each, f"{name} {index}") for index, each in enumerate(expressions)]
    return policies.policy(name, RULE, **({"validations": demands} if demands else {}), **spec)


def labels(name: str, **added: str) -> JSONObject:
    """A Policy that adds labels."""
    mutation = policies.overlay({"metadata": {"labels": added}})
    return policies.policy(name, RULE, mutations=[mutation])


def in_tree(name: str, expression: str, **binding: JSON) -> tuple[JSONObject, JSONObject]:
    """A ValidatingAdmissionPolicy and its binding."""
    validations = [{"expression": expression, "reason": "Forbidden"}]
    return (
        policies.vap(name, RULE, validations=validations),
        policies.vap_binding(f"{name}-binding", policyName=name, **binding),
    )
