"""The rows of Kubernetes' own unit tests of webhooks: what is called, as what, and errors."""

import json
from typing import Any

from policyd._core.match.equivalents import Equivalents, Family
from policyd.json_types import JSONObject
from policyd.webhooks.calls import Calls, called, hooks_of
from tests.builders.webhook_configurations import KINDS, RULE, configuration, hook
from tests.shared import CONFORMANCE, conformance, find

Row = dict[str, Any]
NO_SELECTOR = "no rules (just write)"  # its objectSelector is null, which the API server defaults
# The outcomes of conditions as expressions.
OUTCOMES = {True: "true", False: "false", None: "object.absent == 1"}
ERROR = "expression 'object.absent == 1' resulted in error: no such key: absent"


def request_of(attributes: Row) -> JSONObject:
    """The AdmissionRequest that the API server sends for these attributes."""
    keys = ("operation", "name", "namespace", "object", "oldObject")
    kind, resource = attributes["kind"], attributes["resource"]
    return {
        "uid": "1",
        # Some rows have none.
        "kind": kind if kind["kind"] else {"group": "", "version": "v1", "kind": "Thing"},
        "resource": resource | {"version": resource["version"] or "v1"},
        "subResource": attributes["subresource"],
        **{key: attributes[key] for key in keys},
    }


def calls_of(row: Row, webhook: Row, **options: Any) -> Calls:
    given = {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Exact", **webhook}
    return called(
        hooks_of([configuration(KINDS[0], hook(**given))]), request_of(row["attributes"]), **options
    )


def unit_equivalents() -> Equivalents:
    """The resources that the unit tests of Kubernetes register."""
    file = find(CONFORMANCE, "k8s-admission/should-call-hook.equivalents.json")
    table = json.loads(file.read_bytes())
    kinds = {
        ((*path.split("/"),), sub): (kind["group"], kind["version"], kind["kind"])
        for path, sub, kind in table["kinds"]
    }
    deployments = tuple((r["group"], r["version"], r["resource"]) for r in table["deployments"])
    widgets = tuple(("example.com", version, "widgets") for version in ("v1", "v2"))
    return Equivalents.of([Family(deployments, kinds=kinds), Family(widgets, kinds=kinds)])


def test_should_call_hook() -> None:
    equivalents = unit_equivalents()
    for row in conformance("k8s-admission/should-call-hook.jsonl"):
        if row["name"] == NO_SELECTOR:
            continue
        webhook = dict(row["webhook"])
        if "matchConditions" in webhook:
            outcome = None if "matchError" in row else row["matchResult"]
            webhook["matchConditions"] = [{"name": "test1", "expression": OUTCOMES[outcome]}]
            row["attributes"]["object"] = {"metadata": {}}
        found = calls_of(row, webhook, equivalents=equivalents)
        assert bool(found.validating) == row["expectCall"], row["name"]
        if row.get("expectErr"):
            assert found.rejection is not None
            assert row["expectErr"].replace("test error", ERROR) in found.rejection.message
        elif row["expectCall"]:
            (call,) = found.validating
            assert call.resource == tuple(row["expectCallResource"].values()), row["name"]
            assert call.kind == tuple(row["expectCallKind"].values()), row["name"]


def test_rules() -> None:
    fields = {"group": "apiGroups", "version": "apiVersions", "operation": "operations",
              "resource": "resources", "scope": "scope"}  # fmt: skip
    anything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    for row in conformance("k8s-admission/rules.jsonl"):
        field = fields[row["dimension"]]
        found = calls_of(row, {"rules": [{**anything, field: row["rule"][field]}]})
        assert bool(found.validating) == row["expect"], row
        assert len(found.others) == (not row["expect"]), row


def test_object_selector() -> None:
    for row in conformance("k8s-admission/object-selector.jsonl"):
        rule = {**RULE, "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
                "resources": ["*/*"]}  # fmt: skip
        row["attributes"]["resource"]["resource"] = "nodes"
        found = calls_of(row, {"rules": [rule], "objectSelector": row["objectSelector"]})
        assert bool(found.validating) == row["expect"], row


def test_namespace_labels() -> None:
    for row in conformance("k8s-admission/namespace-labels.jsonl"):
        named = row["attributes"]["namespace"].removesuffix(".Name").removeprefix("namespace")
        known = row["namespaces"].get(named, {}).get("metadata", {}).get("labels", {})
        name = row["attributes"]["namespace"]
        space = {"kind": "Namespace", "metadata": {"name": name, "labels": known}}
        for value in ("1", "2"):
            webhook = {
                "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
                           "operations": ["*"]}],
                "namespaceSelector": {"matchLabels": {"runlevel": value}},
            }  # fmt: skip
            wanted = row["expect_labels"]["runlevel"] == value
            found = calls_of(row, webhook, namespaces=[space])
            assert bool(found.validating) == wanted, (row["name"], found)


def test_match_conditions() -> None:
    for row in conformance("k8s-admission/match-conditions.jsonl"):
        if row["evaluator_throws"]:
            continue  # an error of the evaluator itself
        conditions = [
            {"name": f"c{number}", "expression": OUTCOMES[each.get("result")]}
            for number, each in enumerate(row["evaluations"])
        ]
        webhook = hook(matchConditions=conditions, failurePolicy=row["failurePolicy"])
        request = {
            "uid": "1", "operation": "CREATE", "name": "web", "namespace": "shop",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "object": {"metadata": {"name": "web"}},
        }  # fmt: skip
        found = called(hooks_of([configuration(KINDS[0], webhook)]), request)
        expect = row["expect"]
        assert bool(found.validating) == expect["matches"], row
        assert (found.rejection is not None) == bool(expect["error"]), row
        if expect["failedCondition"]:
            failed = [each.get("result") for each in row["evaluations"]].index(False)
            assert [each.reason for each in found.others] == [
                f"matchCondition 'c{failed}' is false"
            ]
