"""Advice on overlays that replace a list which has no keys."""

from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.mutations.replaced import replaced
from policyd.policy.lint.run import LintRun
from tests.builders.objects import gadget_definition
from tests.builders.policies import DEPLOYMENTS, EVERYTHING, PODS, overlay, policy
from tests.policy_sets import loaded


def told(tree: str, *rules: JSONObject, **spec: Any) -> list[str]:
    """The lists that an overlay replaces, as the advice names them."""
    document = policy("p", *rules, mutations=[overlay(yaml.safe_load(tree))], **spec)
    sources = loaded(document, gadget_definition())
    assert compiler.compile_sources(sources).problems == ()
    found = list(in_policies(LintRun(sources), replaced))
    for each in found:
        assert (each.rule, each.severity) == ("replaced-list", "advice")
        assert "- $patch: append" in each.hint
        assert each.line
        assert each.message.endswith(" is replaced: the items that an object already has are lost")
    return [each.message.partition(" ")[0] for each in found]


@pytest.mark.parametrize(
    ("tree", "lists"),
    [
        ("spec: {tolerations: [{operator: Exists}]}", ["spec.tolerations"]),
        ("spec: {containers: [{(name): '*', args: [-v]}]}", ["spec.containers[0].args"]),
        ("spec: {containers: [{(name): '*', command: ['${object.kind}']}]}", ["spec.containers[0].command"]),
        ("spec: {containers: [{(name): '*', securityContext: {capabilities: {add: [A], drop: [B]}}}]}",
         ["spec.containers[0].securityContext.capabilities.add", "spec.containers[0].securityContext.capabilities.drop"]),
        ("{metadata: {labels: {(a): b}}, spec: {securityContext: {supplementalGroups: [1]}}}", ["spec.securityContext.supplementalGroups"]),
    ],
)  # fmt: skip
def test_lists_that_are_replaced(tree: str, lists: list[str]) -> None:
    assert told(tree) == lists


@pytest.mark.parametrize(
    "tree",
    [
        "spec: {tolerations: [{$patch: append}, {operator: Exists}]}",
        "spec: {tolerations: [{$patch: replace}, {operator: Exists}]}",
        "spec: {+(tolerations): [{operator: Exists}]}",
        "spec: {tolerations: []}",
        "spec: {tolerations: null}",
        "spec: {tolerations: [{(key): a, effect: NoExecute}]}",
        "spec: {X(tolerations): null, tolerations: [{operator: Exists}]}",
        "spec: {=(tolerations): [{key: a}], tolerations: [{operator: Exists}]}",
        "spec: {tolerations: '${object.spec.tolerations}'}",
        "spec: {tolerations: ['${object.spec.tolerations[0]}', {operator: Exists}]}",
        "spec: {containers: [{name: agent, image: a, args: [-v]}]}",
        "spec: {containers: [{(name): '*', securityContext: {capabilities: {drop: [ALL]}}}]}",
        "spec: {imagePullSecrets: [{name: a}], volumes: [{name: a, emptyDir: {}}]}",
        "metadata: {finalizers: [a/b], labels: {a: b}}",
    ],
)
def test_lists_that_are_not(tree: str) -> None:
    assert told(tree) == []


def test_conditions_and_kinds() -> None:
    tree = "spec: {tolerations: [{operator: Exists}]}"
    condition = [{"name": "a", "expression": "!has(object.spec.tolerations)"}]
    assert told(tree, matchConditions=condition) == []
    assert told("spec: {template: {spec: {tolerations: [{key: a}]}}}", DEPLOYMENTS) == [
        "spec.template.spec.tolerations"
    ]
    assert told("metadata: {labels: {a: b}}", PODS, DEPLOYMENTS) == []
    assert told(tree, EVERYTHING) == []  # no kind is named
