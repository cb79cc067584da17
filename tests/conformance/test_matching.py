"""Recorded rows on what a policy matches: Kubernetes' own unit tables and a real API server.

Rows that a webhook cannot be asked are in ``NOT_FOR_A_WEBHOOK`` with the reason.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from policyd._core.match.equivalents import EQUIVALENTS, Equivalents, Family
from policyd._core.match.matcher import Hit, Index, MatchInput, MatchRules
from policyd._core.match.selectors import Selector
from tests.shared import CONFORMANCE, conformance, find

NO_SELECTOR = "objectSelector is nil, which selects nothing; the API server makes it {} on creation"
NOT_SENT = "no webhook is called for such a request, so there is no review"
NOT_FOR_A_WEBHOOK = {
    "policy-matching/no rules (just write)": NO_SELECTOR,
    "should-call-hook/no rules (just write)": "a webhook without rules; a binding without rules matches all",
    "should-call-hook/wildcard rule, match conditions do not match": "matchConditions are the engine's",
    "should-call-hook/wildcard rule, match conditions error": "matchConditions are the engine's",
    "vap-match/match-never-002.policy": NOT_SENT,
    "vap-match/match-never-002.binding": NOT_SENT,
    "vap-match/match-never-002.webhook": NOT_SENT,
    "vap-match/match-never-002.mapbinding": NOT_SENT,
}

Row = dict[str, Any]


def judged(name: str, rows: list[Row], key: str = "name") -> Iterator[Row]:
    """The rows of a file that apply; says how many those are."""
    kept = [row for row in rows if f"{name}/{row.get(key)}" not in NOT_FOR_A_WEBHOOK]
    yield from kept
    print(f"{name}: {len(kept)} passed of {len(rows)}")


def request_of(attributes: Row) -> Row:
    """The AdmissionRequest that the API server sends for these attributes."""
    return {
        "kind": attributes["kind"],
        "resource": attributes["resource"],
        "subResource": attributes["subresource"],
        **{
            key: attributes[key]
            for key in ("operation", "name", "namespace", "object", "oldObject")
        },
    }


def input_of(attributes: Row, equivalents: Equivalents = EQUIVALENTS) -> MatchInput:
    return MatchInput(request_of(attributes), lambda name: None, equivalents=equivalents)


def rules_of(criteria: Row, policy: str = "Equivalent") -> MatchRules:
    """MatchResources; ``policy`` is the matchPolicy where none is given."""
    return MatchRules(
        criteria.get("resourceRules") or [],
        criteria.get("excludeResourceRules") or [],
        criteria.get("namespaceSelector"),
        criteria.get("objectSelector"),
        criteria.get("matchPolicy") or policy,
    )


def matched(rules: MatchRules, request: MatchInput) -> Hit | None:
    """What both ways of asking say, which must agree: the rules alone and the index."""
    alone = rules.match(request)
    found = Index([(rules, "payload")]).match(request)
    assert repr([hit for _, hit in found]) == repr([alone] if alone else [])
    return alone


def test_rules_match_by_their_dimensions() -> None:
    # Kubernetes tests each dimension alone; the others are made to fit.
    fields = {
        "group": "apiGroups",
        "version": "apiVersions",
        "operation": "operations",
        "resource": "resources",
        "scope": "scope",
    }
    wildcards = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "resources": ["*/*"],
        "operations": ["*"],
    }
    for row in judged("rules", conformance("k8s-admission/rules.jsonl")):
        field = fields[row["dimension"]]
        rules = MatchRules([wildcards | {field: row["rule"][field]}], match_policy="Exact")
        hit = matched(rules, input_of(row["attributes"]))
        assert (hit is not None) == row["expect"], row


def test_object_selector() -> None:
    for row in judged("object-selector", conformance("k8s-admission/object-selector.jsonl")):
        rules = MatchRules(object_selector=row["objectSelector"])
        assert (matched(rules, input_of(row["attributes"])) is not None) == row["expect"], row


def test_namespace_labels() -> None:
    for row in judged("namespace-labels", conformance("k8s-admission/namespace-labels.jsonl")):
        known = {f"namespace{n}.Name": space for n, space in row["namespaces"].items()}
        labels = {name: space["metadata"]["labels"] for name, space in known.items()}
        request = MatchInput(request_of(row["attributes"]), labels.get)
        for value in ("1", "2"):
            rules = MatchRules(namespace_selector={"matchLabels": {"runlevel": value}})
            wanted = row["expect_labels"]["runlevel"] == value
            assert (matched(rules, request) is not None) == wanted, row


def unit_equivalents() -> Equivalents:
    """The resources that the unit tests of Kubernetes register."""
    table = json.loads(
        find(CONFORMANCE, "k8s-admission/should-call-hook.equivalents.json").read_bytes()
    )
    kinds = {
        ((*path.split("/"),), sub): (kind["group"], kind["version"], kind["kind"])
        for path, sub, kind in table["kinds"]
    }
    deployments = tuple((r["group"], r["version"], r["resource"]) for r in table["deployments"])
    widgets = tuple(("example.com", version, "widgets") for version in ("v1", "v2"))
    return Equivalents.of([Family(deployments, kinds=kinds), Family(widgets, kinds=kinds)])


@pytest.mark.parametrize(
    ("name", "criteria", "expect", "prefix"),
    [
        ("policy-matching", "criteria", "expectMatches", "expectMatch"),
        ("should-call-hook", "webhook", "expectCall", "expectCall"),
    ],
)
def test_match_policy(name: str, criteria: str, expect: str, prefix: str) -> None:
    equivalents = unit_equivalents()
    for row in judged(name, conformance(f"k8s-admission/{name}.jsonl")):
        given = row[criteria]
        given = given | {"resourceRules": given.get("resourceRules", given.get("rules"))}
        hit = matched(rules_of(given, "Exact"), input_of(row["attributes"], equivalents))
        if row.get("expectErr"):
            assert hit is not None and row["expectErr"] in hit.error, row
            continue
        assert (hit is not None) == row[expect], row
        if hit is not None:
            check_seen(hit, row.get(f"{prefix}Kind"), row.get(f"{prefix}Resource"))


def check_seen(hit: Hit, kind: Row | None, resource: Row | None) -> None:
    if kind:
        assert hit.kind == (kind["group"], kind["version"], kind["kind"])
    if resource:
        assert hit.resource == (resource["group"], resource["version"], resource["resource"])


def served() -> Equivalents:
    """What the recorded API server served beside the built-in kinds."""
    return Equivalents.of_crds(
        yaml.safe_load_all(find(CONFORMANCE, "apiserver/crds.yaml").read_bytes())
    )


def test_what_a_real_api_server_matched() -> None:
    equivalents = served()
    for row in judged("vap-match", conformance("apiserver/vap-match.jsonl"), "id"):
        for review in row.get("reviews") or [row["review"]]:
            hit = applied(row, review, equivalents)
            expect = row["expect"]
            if "changed" in expect:
                assert (hit is not None) == expect["changed"], row["id"]
                continue
            texts = [expect.get("message") or "", *expect["warnings"]]
            called = not expect["allowed"] or bool(expect["warnings"])
            assert (hit is not None) == called, row["id"]
            if hit is not None and "matched as" in "".join(texts):
                sub = f"/{review['subResource']}" if review.get("subResource") else ""
                seen = f"matched as {hit.resource[1]} {hit.resource[2]}{sub} {hit.kind[2]} {review['operation']}"
                assert any(text.endswith(seen) for text in texts), (row["id"], hit)


def applied(row: Row, review: Row, equivalents: Equivalents) -> Hit | None:
    """What the policy sees if it and one of its bindings match."""
    spaces = {space["metadata"]["name"]: space["metadata"] for space in row["namespaces"]}
    request = MatchInput(
        review, lambda name: spaces.get(name, {}).get("labels"), equivalents=equivalents
    )
    policy, *bindings = (document["spec"] for document in row["policies"])
    hit = matched(rules_of(policy["matchConstraints"]), request)
    if not any(matched(rules_of(b.get("matchResources") or {}), request) for b in bindings):
        return None
    return hit


def test_selector_alone_agrees_with_the_object_selector_rows() -> None:
    for row in conformance("k8s-admission/object-selector.jsonl"):
        objects = [row["attributes"]["object"], row["attributes"]["oldObject"]]
        labels = [o["metadata"]["labels"] for o in objects if o and "metadata" in o]
        if labels:
            selector = Selector(row["objectSelector"])
            assert any(map(selector.matches, labels)) == row["expect"], row
