"""Which definitions policies need of a cluster, and what becomes of those that it gives."""

import copy
import json
from itertools import product

import pytest

from policyd._core.match.equivalents import Equivalents
from policyd._core.match.matcher import Hit, MatchInput
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.match_rules import match_rules
from policyd.policy.kinds.wanted_definitions import (
    EVERY,
    WantedDefinition,
    slim,
    wanted,
    with_definitions,
)
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Sources
from tests.builders.objects import widget_definition
from tests.builders.policies import PODS, demand, policy, rule, vap, vap_binding

GROUP = "e2e.policyd.dev"
WIDGETS = rule("widgets", group=GROUP)
EVERYTHING = rule("*/*", group="*", version="*", operations=["*"])
TRUE = {"validations": [demand("true", "x")]}
OVERLAY = {"mutations": [{"patchType": "Overlay", "overlay": {"spec": {"colour": "red"}}}]}


def load(*documents: JSONObject) -> Sources:
    return loader.load_text("\n---\n".join(map(json.dumps, documents)))


WANTED: dict[str, tuple[tuple[JSONObject, ...], set[WantedDefinition]]] = {
    "built in": ((policy("a", PODS, **TRUE),), set()),
    "every group, in all versions": (
        (policy("a", rule("*", group="*", version="*"), **TRUE),),
        set(),
    ),
    "every group, as it is": (
        (policy("a", rule("*", group="*"), match={"matchPolicy": "Exact"}, **TRUE),),
        set(),
    ),
    "every group": (
        (policy("a", rule("*", group="*"), **TRUE),),
        {WantedDefinition(EVERY, EVERY)},
    ),
    "a resource of every group": (
        (policy("a", rule("gadgets/status", group="*"), **TRUE),),
        {WantedDefinition(EVERY, "gadgets")},
    ),
    "what is excluded": (
        (policy("a", PODS, match={"excludeResourceRules": [WIDGETS]}, **TRUE),),
        {WantedDefinition(GROUP, "widgets")},
    ),
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


@pytest.mark.parametrize("match_policy", ["Equivalent", "Exact"])
@pytest.mark.parametrize("kind_of_rule", ["resourceRules", "excludeResourceRules"])
def test_a_definition_that_is_not_wanted_changes_no_match(
    match_policy: str, kind_of_rule: str
) -> None:
    crd = widget_definition()
    crd["spec"]["versions"] = [{"name": each, "served": True} for each in ("v1", "v1beta1")]
    without, known = Equivalents.of_crds([]), Equivalents.of_crds([crd])
    wanting, changing = 0, 0
    for groups, versions, resource in product(
        (["*"], [GROUP], [""], ["apps", GROUP]),
        (["*"], ["v1"], ["v1beta1"], ["v1", "v2"]),
        ("*", "*/*", "widgets", "widgets/*", "widgets/status", "gadgets", "pods"),
    ):
        each = rule(resource) | {"apiGroups": groups, "apiVersions": versions}
        match = {"resourceRules": [EVERYTHING], "matchPolicy": match_policy, kind_of_rule: [each]}
        needed = wanted(load(vap("a", matchConstraints=match)))
        wants = bool(
            {(EVERY, EVERY), (EVERY, "widgets"), (GROUP, EVERY), (GROUP, "widgets")} & needed
        )
        compiled = match_rules(match)
        for version, sub in product(("v1", "v1beta1"), ("", "status")):
            sent = creation(version, sub)
            one, other = (
                compiled.match(MatchInput(sent, lambda name: None, equivalents=table))
                for table in (without, known)
            )
            same = seen_as(one) == seen_as(other)
            assert wants or same, (each, version, sub)
            changing += not same
        wanting += wants
    assert wanting
    assert bool(changing) == (match_policy == "Equivalent")


def creation(version: str, sub: str) -> JSONObject:
    kind = {"group": GROUP, "version": version, "kind": "Widget"}
    resource = {"group": GROUP, "version": version, "resource": "widgets"}
    return {"operation": "CREATE", "kind": kind, "resource": resource, "subResource": sub}


def seen_as(hit: Hit | None) -> tuple[object, ...] | None:
    return None if hit is None else (hit.kind, hit.resource, hit.api_version, hit.mismatch)


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


def test_without_schemas_the_versions_of_a_definition_are_left() -> None:
    crd = widget_definition()
    sources = load(policy("a", WIDGETS, **TRUE))
    compiled = compiler.compile_sources(with_definitions(sources, [slim(crd, schemas=False)]))
    assert compiled.equivalents == compiler.compile_sources(load(crd)).equivalents
    assert "properties" not in json.dumps(slim(crd, schemas=False))


def test_the_offline_message_names_both_sources_of_a_schema() -> None:
    (problem,) = compiler.check(load(policy("a", WIDGETS, **OVERLAY)))
    assert problem.rule == "missing-schema"
    assert problem.hint == (
        f"add the CustomResourceDefinition widgets.{GROUP} to the policies "
        "(a server with --cluster reads it from there), or write a JSONPatch mutation"
    )
