"""Which engine enforces a policy: by cost, by what was exported, by what the cluster serves."""

import json
from dataclasses import replace

import pytest

from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.json_types import JSONObject
from policyd.placement.choosing import MOST_VALIDATING, choose
from policyd.placement.placed_documents import RESOURCES, ServedKinds, served_kinds, version_paths
from policyd.placement.placement import PlacementMode, PolicyPart
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loader import load_text
from policyd.versions import KubernetesVersion
from policyd.webhooks.needs.webhook_needs import webhooks_of
from tests.builders.objects import config_map
from tests.builders.policies import (
    ADMISSION,
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVERYTHING,
    PODS,
    VALIDATION,
    labelling,
    policy,
    rule,
)
from tests.policy_sets import compiled

ALL = ServedKinds(dict.fromkeys(RESOURCES, ADMISSION))
LABEL = [labelling("a", "'b'")]


def exports_of(policies: CompiledPolicySet) -> list[ExportedPolicy]:
    """Exports of everything: what is in the documents makes no difference here."""
    kinds = {"validate": "ValidatingAdmissionPolicy", "mutate": "MutatingAdmissionPolicy"}
    return [
        ExportedPolicy(
            each.kind,
            each.name,
            "",
            0,
            tuple(
                ExportedPart(
                    webhook,
                    (
                        {
                            "apiVersion": ADMISSION,
                            "kind": kinds[webhook],
                            "metadata": {"name": each.name},
                            "spec": {},
                        },
                    ),
                )
                for webhook in webhooks_of(each)
            ),
        )
        for each in policies.policies
    ]


def placed(
    *documents: JSONObject,
    mode: PlacementMode = "auto",
    minor: int = 37,
    served: ServedKinds = ALL,
    refused: dict[PolicyPart, str] | None = None,
) -> dict[str, str]:
    """``P/webhook``: why, for the parts that the API server does; others with a leading ``!``."""
    text = "\n---\n".join(map(json.dumps, documents))
    version = KubernetesVersion(1, minor)
    policies = compiler.compile_strict(load_text(text, version=version))
    found = choose(exports_of(policies), policies, served, mode, refused)
    return {
        f"{'' if each.engine == 'api-server' else '!'}{each.policy}/{each.webhook}": each.why
        for each in found.parts
    }


def test_validations_run_in_the_api_server_from_137() -> None:
    both = [policy("a"), policy("b"), policy("c", CONFIG_MAPS)]
    assert list(placed(*both)) == ["a/validate", "b/validate", "c/validate"]
    before = placed(*both, minor=36)
    assert list(before) == ["!a/validate", "!b/validate", "c/validate"]
    assert before["!a/validate"] == (
        "before Kubernetes 1.37, one webhook call costs less than 2 validating policies for its"
        " resources: it and b"
    )


@pytest.mark.parametrize(
    "other",
    [
        EVERYTHING,
        rule("*", group="apps", version="*"),
        rule("deployments", group="*", version="v1beta1"),
    ],
)
def test_policies_share_resources_whatever_their_rules_look_like(other: JSONObject) -> None:
    found = placed(policy("a", DEPLOYMENTS), policy("b", other), minor=36)
    assert list(found) == ["!a/validate", "!b/validate"]


def test_a_resource_of_two_groups_is_the_same_resource() -> None:
    core, group = rule("events"), rule("events", group="events.k8s.io")
    assert list(placed(policy("a", core), policy("b", group), minor=36)) == [
        "!a/validate",
        "!b/validate",
    ]


def test_other_operations_and_subresources_are_not_the_same_requests() -> None:
    rules = [rule("pods", operations=["CREATE"]), rule("pods", operations=["DELETE"])]
    status = rule("pods/status")
    found = placed(*(policy(f"p{n}", each) for n, each in enumerate([*rules, status])), minor=36)
    assert list(found) == ["p0/validate", "p1/validate", "p2/validate"]


def test_many_validating_policies_cost_less_by_one_call() -> None:
    many = [policy(f"p{number:03}") for number in range(MOST_VALIDATING)]
    assert all(not each.startswith("!") for each in placed(*many))
    found = placed(*many, policy("more"), policy("other", CONFIG_MAPS))
    assert [each for each in found if not each.startswith("!")] == ["other/validate"]


def test_a_second_mutating_policy_brings_both_to_the_webhook() -> None:
    one, other = policy("a", mutations=LABEL), policy("b", mutations=LABEL)
    for minor in (36, 37):
        assert list(placed(one, minor=minor)) == ["a/mutate"]
        assert list(placed(one, other, minor=minor)) == ["!a/mutate", "!b/mutate"]
    assert list(placed(one, policy("b", CONFIG_MAPS, mutations=LABEL))) == ["a/mutate", "b/mutate"]


def test_validation_and_mutation_of_a_policy_are_chosen_apart() -> None:
    found = placed(
        policy("a", mutations=LABEL, validations=[VALIDATION]), policy("b", mutations=LABEL)
    )
    assert list(found) == ["!a/mutate", "a/validate", "!b/mutate"]


def test_a_kind_that_is_not_served_stays_at_the_webhook() -> None:
    kinds = dict.fromkeys(list(RESOURCES)[2:], ADMISSION)
    found = placed(
        policy("a", mutations=LABEL, validations=[VALIDATION]), served=ServedKinds(kinds)
    )
    assert found["!a/mutate"] == (
        f"the cluster does not serve MutatingAdmissionPolicy of {ADMISSION}"
    )
    assert "a/validate" in found


def test_never_places_nothing() -> None:
    assert list(placed(policy("a"), mode="never")) == ["!a/validate"]


def test_only_places_all_or_names_each_that_cannot_be() -> None:
    policies = compiled(policy("a"), policy("b", mutations=LABEL), policy("c", mutations=LABEL))
    found = choose(exports_of(policies), policies, ALL, "only")
    assert found.problems == ()
    assert found.in_tree == {("a", "validate"), ("b", "mutate"), ("c", "mutate")}
    [first, *rest] = exports_of(policies)
    reason = Reason("spec.timeoutSeconds", "has no translation")
    barred = replace(first, parts=(ExportedPart("validate", reasons=(reason,)),))
    found = choose([barred, *rest], policies, ALL, "only", {("b", "mutate"): "no"})
    assert found.problems == (
        "Policy a (validate): spec.timeoutSeconds: has no translation",
        "Policy b (mutate): no",
    )


def test_params_among_the_sources_are_unknown_to_the_api_server() -> None:
    limit = config_map("limit", "default")
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"name": "limit", "namespace": "default", "parameterNotFoundAction": "Deny"}
    checked = policy("a", paramKind=kind, paramRef=reference)
    assert "are among the sources" in placed(checked, limit)["!a/validate"]
    # The API server would not notice changes once it has forgotten its watch.
    assert "never watches ConfigMap objects again" in placed(checked)["!a/validate"]
    assert list(placed(checked, mode="only")) == ["a/validate"]


def test_a_policy_without_an_export_and_one_with_errors_stay() -> None:
    policies = compiled(policy("a"))
    [found] = choose([], policies, ALL, "auto").parts
    assert (found.engine, found.why) == ("webhook", "the policy cannot be exported")
    broken = compiler.compile_sources(
        load_text(json.dumps(policy("a", validations=[{"expression": "("}])))
    )
    [found] = choose([], broken, ALL, "auto").parts
    assert found.why.startswith("the policy has errors: ")


def test_discovery_finds_the_best_version() -> None:
    group = {"versions": [{"version": each} for each in ("v1", "v1alpha1", "v1beta1")]}
    assert version_paths(group) == [
        f"apis/{ADMISSION}",
        f"apis/{ADMISSION.replace('v1', 'v1beta1')}",
    ]
    beta = ADMISSION.replace("v1", "v1beta1")
    lists = [
        {"groupVersion": ADMISSION, "resources": [{"name": "validatingadmissionpolicies"}]},
        {
            "groupVersion": beta,
            "resources": [
                {"name": "validatingadmissionpolicies"},
                {"name": "mutatingadmissionpolicies"},
            ],
        },
    ]
    assert served_kinds(lists).versions == {
        "ValidatingAdmissionPolicy": ADMISSION,
        "MutatingAdmissionPolicy": beta,
    }


def test_pods_are_the_default_rule() -> None:
    assert list(placed(policy("a", PODS), policy("b"), minor=36)) == ["!a/validate", "!b/validate"]
