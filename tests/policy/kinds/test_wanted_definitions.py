"""Which definitions policies need of a cluster, and what becomes of those that it gives."""

import copy
import json

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.kinds.wanted_definitions import (
    EVERY,
    WantedDefinition,
    slim,
    wanted,
    with_definitions,
)
from policyd.policy.source import loader
from policyd.policy.source.documents import Sources
from tests.builders.objects import widget_definition
from tests.builders.policies import PODS, demand, policy, rule, vap, vap_binding

GROUP = "e2e.policyd.dev"
WIDGETS = rule("widgets", group=GROUP)
TRUE = {"validations": [demand("true", "x")]}
OVERLAY = {"mutations": [{"patchType": "Overlay", "overlay": {"spec": {"colour": "red"}}}]}


def load(*documents: JSONObject) -> Sources:
    return loader.load_text("\n---\n".join(map(json.dumps, documents)))


WANTED: dict[str, tuple[tuple[JSONObject, ...], set[WantedDefinition]]] = {
    "built in": ((policy("a", PODS, **TRUE),), set()),
    "every group": ((policy("a", rule("*", group="*"), **TRUE),), set()),
    "custom": ((policy("a", WIDGETS, PODS, **TRUE),), {WantedDefinition(GROUP, "widgets")}),
    "a subresource": (
        (policy("a", rule("widgets/scale", "widgets", group=GROUP), **TRUE),),
        {WantedDefinition(GROUP, "widgets")},
    ),
    "every resource": (
        (policy("a", rule("*/*", group=GROUP), **TRUE),),
        {WantedDefinition(GROUP, EVERY)},
    ),
    "given by a document": ((policy("a", WIDGETS, **TRUE), widget_definition()), set()),
    "a broken policy": (
        (policy("a", WIDGETS, validations=[{"nope": 1}]),),
        {WantedDefinition(GROUP, "widgets")},
    ),
    "a binding": (
        (
            vap("v", **TRUE),
            vap_binding("b", policyName="v", matchResources={"resourceRules": [WIDGETS]}),
        ),
        {WantedDefinition(GROUP, "widgets")},
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_what_policies_want(name: str) -> None:
    documents, want = WANTED[name]
    assert wanted(load(*documents)) == want


def described(schema: JSONObject) -> JSONObject:
    return {"description": "prose", **schema}


def test_a_definition_of_the_cluster_is_like_a_document_and_documents_win() -> None:
    sources = load(policy("a", WIDGETS, **OVERLAY))
    crd = widget_definition()
    assert compiler.compile_sources(sources).quarantined
    full = with_definitions(sources, [crd])
    policies = compiler.compile_sources(full)
    assert not policies.problems
    assert policies.equivalents == compiler.compile_sources(load(crd)).equivalents
    assert full.generation != sources.generation
    assert with_definitions(sources, [copy.deepcopy(crd)]).generation == full.generation
    other = widget_definition()
    other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "string"
    }
    changed = with_definitions(sources, [other])
    assert changed.generation != full.generation
    assert compiler.compile_sources(changed, policies).quarantined
    given = load(policy("a", WIDGETS, **OVERLAY), crd)
    assert with_definitions(given, [other]) is given


def test_a_definition_whose_form_is_unknown_is_left_out() -> None:
    sources = load(policy("a", WIDGETS, **OVERLAY))
    crd = widget_definition()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = []
    assert with_definitions(sources, [crd]) is sources
    assert with_definitions(sources, [{"spec": None}]) is sources


def test_prose_is_left_out_but_no_property_of_that_name() -> None:
    crd = widget_definition()
    version = crd["spec"]["versions"][0]
    bare = copy.deepcopy(version["schema"]["openAPIV3Schema"])
    bare["properties"]["description"] = {"type": "string"}
    bare["properties"]["any"] = {"type": "object", "additionalProperties": True}
    version["schema"]["openAPIV3Schema"] = described(
        {**bare, "properties": {name: described(each) for name, each in bare["properties"].items()}}
    )
    assert slim(crd)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == bare


def test_the_offline_message_names_both_sources_of_a_schema() -> None:
    (problem,) = compiler.check(load(policy("a", WIDGETS, **OVERLAY)))
    assert problem.rule == "missing-schema"
    assert problem.hint == (
        f"add the CustomResourceDefinition widgets.{GROUP} to the policies "
        "(a server with --cluster reads it from there), or write a JSONPatch mutation"
    )
