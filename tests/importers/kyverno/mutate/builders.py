"""Rules of Kyverno that mutate, and what their import makes of objects. No tests here."""

from typing import Any, NamedTuple

import yaml

from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate import parts
from policyd.importers.model import ImportNotes, Refused
from policyd.json_types import JSONObject
from tests import policy_sets
from tests.builders.policies import policy
from tests.builders.policies import rule as resource_rule

_RULES = {
    "Pod": resource_rule("pods"),
    "Deployment": resource_rule("deployments", group="apps"),
    "Namespace": resource_rule("namespaces"),
    "Ingress": resource_rule("ingresses", group="networking.k8s.io"),
    "ServiceAccount": resource_rule("serviceaccounts"),
    "example.com/v1/Widget": resource_rule("widgets", group="example.com"),
}
_PRESENT = {"Pod": ("spec", "spec.containers")}


class Mutations(NamedTuple):
    """What a rule contributes to a Policy."""

    spec: JSONObject
    notes: ImportNotes


def imported(mutate: str, kind: str = "Pod", **rule: Any) -> Mutations:
    """The import of a rule whose ``mutate`` is YAML. Raises Refused."""
    body = {"match": {"any": [{"resources": {"kinds": [kind]}}]}, **rule}
    body["mutate"] = yaml.safe_load(mutate)
    scope = Vocabulary.request(present=_PRESENT.get(kind, ("spec",)))
    notes = ImportNotes()
    return Mutations(parts(body, "spec.rules[0]", scope, notes), notes)


def overlay(mutate: str, kind: str = "Pod") -> Any:
    """The overlay that a rule becomes."""
    (mutation,) = imported(mutate, kind).spec["mutations"]
    assert mutation["patchType"] == "Overlay"
    return mutation["overlay"]


def refusal(mutate: str, kind: str = "Pod") -> str:
    """Why a rule is refused, with the field."""
    try:
        found = imported(mutate, kind)
    except Refused as refused:
        return f"{refused.finding.path.removeprefix('spec.rules[0].mutate.')}: {refused}"
    raise AssertionError(found.spec)


def changed(mutate: str, obj: JSONObject, kind: str = "Pod", **rule: Any) -> JSONObject:
    """What the policy that a rule becomes makes of an object."""
    policies = policy_sets.load(policy("p", _RULES[kind], **imported(mutate, kind, **rule).spec))
    response = policy_sets.ask(policies, obj, webhook="mutate")
    assert response["allowed"], response
    return policy_sets.patched(response, obj) if "patch" in response else obj
