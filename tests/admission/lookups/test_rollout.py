"""Rollouts that need a cluster: the labels of a namespace, and what an old object is checked by."""

import pytest

from policyd.admission.lookups.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.lookups.wanted import wanted_lookups
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from tests.admission.lookups import clusters
from tests.admission.lookups.samples import adding, get, reviewed, validating
from tests.builders.policies import denying
from tests.policy_sets import POD, compiled

IN_SHOP: JSONObject = {**POD, "metadata": {**POD["metadata"], "namespace": "shop"}}


def selecting(team: str, **more: int) -> JSONObject:
    return {"enforce": {"namespaceSelector": {"matchLabels": {"team": team}}, **more}}


class Namespaces(clusters.Ignorant):
    """A cluster that knows the namespace ``shop``, or why it does not."""

    def __init__(self, found: JSONObject | Failure) -> None:
        self._found = found
        self.asked = 0

    async def namespace(self, name: str) -> JSONObject | Failure:
        self.asked += 1
        return self._found


@pytest.mark.parametrize(("team", "allowed"), [("sales", False), ("buyers", True)])
def test_labels_are_looked_up(team: str, allowed: bool) -> None:
    policies = compiled(denying(rollout=selecting(team)))
    assert "validate" in policies.with_lookups
    assert wanted_lookups(policies).namespaces
    assert reviewed(Namespaces(clusters.SHOP), policies, obj=IN_SHOP).allowed is allowed


@pytest.mark.parametrize(("team", "patched"), [("sales", True), ("buyers", False)])
def test_labels_are_looked_up_for_mutations(team: str, patched: bool) -> None:
    policies = compiled(adding("a", "'x'", rollout=selecting(team)))
    answer = reviewed(Namespaces(clusters.SHOP), policies, "mutate", obj=IN_SHOP)
    assert answer.allowed
    assert (answer.patch is not None) is patched


def test_a_namespace_that_cannot_be_read_is_no_reason_to_admit() -> None:
    away = Namespaces(Failure("the API server is away"))
    policies = compiled(denying(rollout=selecting("buyers")))
    answer = reviewed(away, policies, obj=IN_SHOP)
    assert not answer.allowed
    assert "failed to configure policy: rollout: cannot look up the labels of namespace" in (
        answer.message
    )
    ignoring = compiled(denying(rollout=selecting("buyers"), failurePolicy="Ignore"))
    assert reviewed(away, ignoring, obj=IN_SHOP).allowed


def test_a_namespace_outside_of_the_percentage_is_not_looked_up() -> None:
    away = Namespaces(Failure("the API server is away"))
    policies = compiled(denying(rollout=selecting("sales", percent=0)))
    assert reviewed(away, policies, obj=IN_SHOP).allowed
    assert away.asked == 0


def test_a_policy_without_a_selector_needs_no_labels() -> None:
    policies: CompiledPolicySet = compiled(denying(rollout={"enforce": {"percent": 50}}))
    assert not policies.with_lookups
    assert not wanted_lookups(policies).namespaces


def test_the_authorizer_checks_the_old_object_too() -> None:
    asked: list[str] = []

    async def may(attributes: Attributes) -> AccessDecision:
        asked.append(attributes.resource)
        return AccessDecision(False)

    check = f"object.metadata.labels.app == 'x' ? {get('one')}.allowed() : {get('two')}.allowed()"
    policies = compiled(validating("p", check, rollout={"enforce": {"newOnly": True}}))
    old = {**IN_SHOP, "metadata": {**IN_SHOP["metadata"], "labels": {"app": "x"}}}
    assert reviewed(clusters.Users(may), policies, obj=IN_SHOP, old_object=old).allowed
    assert sorted(asked) == ["one", "two"]
