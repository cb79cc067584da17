"""What a run creates: everything labelled, limited to a namespace, and unlike the policies."""

from typing import Any

import pytest

from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.json_types import JSONObject
from policyd.policy.model.suite import Webhook
from policyd.webhooks.rendering.options import RenderOptions
from tests.builders.objects import config_map
from tests.builders.policies import (
    ADMISSION,
    MUTATION,
    VALIDATION,
    add_label,
    map_,
    map_binding,
    policy,
    rule,
    suite,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled, loaded
from tools.crossover.planning import LABEL, CrossoverPlan, planned
from tools.crossover.webhooks import served_documents, webhook_configurations

SERVED = frozenset(
    f"{ADMISSION}/{kind}{end}"
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
    for end in ("", "Binding")
)
URL = RenderOptions(url="https://10.0.0.7:8443", excluded_namespaces=())
VALIDATE = ExportedPart("validate", (vap(), vap_binding()))
MUTATE = ExportedPart("mutate", (map_(), map_binding()))


def export(*parts: ExportedPart, name: str = "p") -> ExportedPolicy:
    return ExportedPolicy("Policy", name, "p.yaml", 1, parts)


def plan(*exports: ExportedPolicy, webhook: bool = True) -> CrossoverPlan:
    return planned(exports, "r", served=SERVED, webhook=webhook)


def test_engines_and_webhooks_have_a_namespace_each_and_one_has_no_policies() -> None:
    found = plan(export(VALIDATE), export(MUTATE, name="m"))
    assert [(each.engine, each.webhook, each.policies) for each in found.arrangements] == [
        ("none", None, ()),
        ("in-tree", "validate", ("p",)),
        ("webhook", "validate", ("p",)),
        ("in-tree", "mutate", ("m",)),
        ("webhook", "mutate", ("m",)),
    ]
    names = [each.namespace for each in found.arrangements]
    assert len(set(names)) == len(names)
    assert [each["metadata"]["name"] for each in found.namespaces] == names


def test_without_a_policyd_only_the_api_server_is_measured() -> None:
    found = plan(export(VALIDATE), webhook=False)
    assert [each.engine for each in found.arrangements] == ["none", "in-tree"]


def test_all_objects_have_the_label_of_the_run_and_names_of_their_own() -> None:
    found = plan(export(VALIDATE), export(MUTATE, name="m"))
    for each in (*found.namespaces, *found.documents):
        assert each["metadata"]["labels"] == {LABEL: "r"}
        assert each["metadata"]["name"].startswith("crossover-r-")
    names = [(each["kind"], each["metadata"]["name"]) for each in found.documents]
    assert len(set(names)) == len(names)


def test_nothing_of_the_metadata_of_a_policy_is_taken_along() -> None:
    own = vap()
    own["metadata"] |= {
        "labels": {"app.kubernetes.io/managed-by": "policyd"},
        "annotations": {"policyd.dev/policy": "p"},
    }
    found = plan(export(ExportedPart("validate", (own, vap_binding()))))
    assert {key for each in found.documents for key in each["metadata"]} == {"name", "labels"}


def test_bindings_follow_their_policies_and_the_last_is_that_of_the_marker() -> None:
    found = plan(
        export(VALIDATE),
        export(ExportedPart("validate", (vap("q"), vap_binding("q", policyName="q"))), name="q"),
    )
    names = [each["metadata"]["name"] for each in found.documents if "Binding" not in each["kind"]]
    bindings = [each for each in found.documents if "Binding" in each["kind"]]
    assert [each["spec"]["policyName"] for each in bindings] == names
    assert list(found.documents[len(names) :]) == bindings
    assert "marker" in names[-1]


def test_names_of_the_greatest_length_stay_valid() -> None:
    long = "p" * 253
    found = plan(export(ExportedPart("validate", (vap(long), vap_binding(long, policyName=long)))))
    lengths = [len(each["metadata"]["name"]) for each in found.documents]
    assert max(lengths) == 253


def test_every_policy_is_limited_to_the_namespace_of_its_arrangement() -> None:
    found = plan(export(VALIDATE), export(MUTATE, name="m"))
    policies = [each for each in found.documents if "Binding" not in each["kind"]]
    assert len(policies) == 4
    for each in policies:
        (term,) = each["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
        webhook = "validate" if each["kind"].startswith("Validating") else "mutate"
        assert term["values"] == [f"crossover-r-{webhook}-in-tree"]
    names = {each["metadata"]["name"] for each in policies}
    bindings = [each for each in found.documents if "Binding" in each["kind"]]
    assert {each["spec"]["policyName"] for each in bindings} == names


UNSERVED = vap()
UNSERVED["apiVersion"] = "admissionregistration.k8s.io/v1alpha1"


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (ExportedPart("validate", reasons=(Reason("spec.x", "no"),)), "spec.x: no"),
        (
            ExportedPart("validate", (UNSERVED, vap_binding())),
            "the cluster does not serve "
            "admissionregistration.k8s.io/v1alpha1/ValidatingAdmissionPolicy",
        ),
        (
            ExportedPart("validate", (vap("p", rule("nodes", scope="Cluster")), vap_binding())),
            "it matches cluster-scoped objects only, and a run is limited to namespaces",
        ),
        (
            ExportedPart("validate", (vap(), vap_binding(paramRef={"name": "a"}))),
            "its paramRef names no namespace, and the namespaces of a run have no parameters",
        ),
    ],
)
def test_what_cannot_be_measured_is_left_out_with_the_reason(part: ExportedPart, why: str) -> None:
    found = plan(export(part))
    assert [each.why for each in found.left_out] == [why]
    assert [each.engine for each in found.arrangements] == ["none"]
    assert found.documents == ()


def test_policyd_serves_what_is_measured_and_what_it_reads() -> None:
    both = policy("both", validations=[VALIDATION], mutations=[MUTATION])
    sources = loaded(
        both, policy("other"), config_map("settings", "shop"), suite(policies=["t.yaml"])
    )
    found = plan(export(ExportedPart("mutate", (map_(), map_binding())), name="both"))
    served = served_documents(sources, found)
    policies = [each for each in served if each["kind"] == "Policy"]
    assert [each["metadata"]["name"] for each in policies] == ["both"]
    assert "mutations" in policies[0]["spec"]
    assert "validations" not in policies[0]["spec"]
    (term,) = policies[0]["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert term["values"] == ["crossover-r-mutate-webhook"]
    kinds = [each["kind"] for each in served]
    assert "ConfigMap" in kinds
    assert "PolicyTest" not in kinds


def test_bindings_are_served_with_their_policies_only() -> None:
    sources = loaded(
        vap("p"), vap_binding("b"), vap("q"), vap_binding("c", policyName="q"), vap_binding("d")
    )
    served = served_documents(sources, plan(export(VALIDATE)))
    names = [each["metadata"]["name"] for each in served if each["kind"] != "Namespace"]
    assert names == ["p", "b", "d"]


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_policyd_is_called_in_its_namespace_only_and_a_lost_call_is_noticed(
    webhook: Webhook,
) -> None:
    part: dict[str, Any] = {"validate": {}, "mutate": {"mutations": [add_label("'b'")]}}[webhook]
    ignored = policy("p", rule("*", group="*"), failurePolicy="Ignore", **part)
    made = plan(export({"validate": VALIDATE, "mutate": MUTATE}[webhook]))
    served: list[JSONObject] = served_documents(loaded(ignored), made)
    [found] = webhook_configurations(compiled(*served), made, URL)
    assert found["metadata"] == {"name": "crossover-r", "labels": {LABEL: "r"}}
    called, marker = found["webhooks"]
    assert called["clientConfig"]["url"] == f"https://10.0.0.7:8443/{webhook}/ignore"
    for each in (called, marker):
        assert each["failurePolicy"] == "Fail"
        assert {one["scope"] for one in each["rules"]} == {"Namespaced"}
        (term,) = each["namespaceSelector"]["matchExpressions"]
        assert term["values"] == [f"crossover-r-{webhook}-webhook"]
