"""A document that is almost a policy is an error with a remedy; other engines' stay parameters."""

import json

import pytest

from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_text

OURS = {"validations": [{"expression": "true"}]}
OTHER = {"rules": [{"name": "a"}], "policy-templates": []}
ADMISSION = "admissionregistration.k8s.io"
VAP, VAPB = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
MAP, MAPB = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"


def document(api_version: str, kind: str, spec: JSONObject) -> str:
    whole = {"metadata": {"name": "a"}, "spec": spec, "cases": []} if kind == "PolicyTest" else {}
    shown = whole or {"metadata": {"name": "a"}, "spec": spec}
    return f"# a comment\napiVersion: {api_version}\nkind: {kind}\n" + "".join(
        f"{key}: {json.dumps(value)}\n" for key, value in shown.items()
    )


def definition(group: str, kind: str) -> str:
    spec = {
        "group": group,
        "names": {"kind": kind, "plural": kind.lower() + "s"},
        "scope": "Cluster",
        "versions": [{"name": "v1", "served": True, "storage": True}],
    }
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps({**head, "metadata": {"name": f"x.{group}"}, "spec": spec})


def loaded(*texts: str) -> Sources:
    return load_text("\n---\n".join(texts), "t.yaml")


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "remedy"),
    [
        # A group with a similar name.
        ("policyd.io/v1", "Policy", OURS, "write apiVersion: policyd.dev/v1;"),
        ("policyd.io/v1", "Policy", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("policy.dev/v1", "Policy", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("policyd/v1", "Policy", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("policyd.dev", "Policy", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("Policyd.dev/v1", "Policy", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("polciyd.dev/v1", "Policy", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("policyd.k8s.io/v1", "PolicyTest", OTHER, "write apiVersion: policyd.dev/v1;"),
        (
            "policyd.io/v1",
            "ClusterPolicy",
            OTHER,
            "write apiVersion: policyd.dev/v1 and kind: Policy;",
        ),
        ("policyd.io/v1", VAP, OURS, f"write apiVersion: {ADMISSION}/v1;"),
        # A version or kind that our group does not have.
        ("policyd.dev/v1beta1", "Policy", OURS, "write apiVersion: policyd.dev/v1"),
        ("policyd.dev/v1", "Policies", OURS, "write kind: Policy"),
        ("policyd.dev/v1", "policy", OURS, "write kind: Policy"),
        ("policyd.dev/v1", "ClusterPolicy", OURS, "write kind: Policy"),
        ("policyd.dev/v1", "PolicyTests", OTHER, "write kind: PolicyTest"),
        ("policyd.dev/v1", "PolicyExceptions", OTHER, "write kind: PolicyException"),
        ("policyd.dev/v1", "Exception", OTHER, "write kind: PolicyException"),
        ("policyd.dev/v1beta1", "PolicyException", OTHER, "write apiVersion: policyd.dev/v1"),
        ("policyd.io/v1", "PolicyException", OTHER, "write apiVersion: policyd.dev/v1;"),
        ("example.com/v1", "PolicyException", {"policies": [{"name": "p"}]}, "write apiVersion:"),
        ("policyd.dev/v2", "Policys", OURS, "write apiVersion: policyd.dev/v1 and kind: Policy"),
        ("policyd.dev/v1", VAP, OURS, f"write apiVersion: {ADMISSION}/v1"),
        ("policyd.dev/v1", "Config", OTHER, "policyd reads these kinds of policyd.dev: Policy, "),
        # The group of Kubernetes' policies, and groups like it.
        (f"{ADMISSION}/v1alpha1", VAP, OURS, f"write apiVersion: {ADMISSION}/v1"),
        (f"{ADMISSION}/v2", MAP, OURS, f"write apiVersion: {ADMISSION}/v1"),
        (f"{ADMISSION}/v1", f"{VAPB}s", OTHER, f"write kind: {VAPB}"),
        (f"{ADMISSION}/v1", "ValidatingAdmissionPolices", OTHER, f"write kind: {VAP}"),
        (f"{ADMISSION}/v1", "MutatingAdmisionPolicyBinding", OTHER, f"write kind: {MAPB}"),
        (f"{ADMISSION}/v1", "Policy", OURS, "write apiVersion: policyd.dev/v1"),
        (f"{ADMISSION}/v1", "Other", OTHER, f"policyd reads these kinds of {ADMISSION}: {VAP}, "),
        ("admissionregistration/v1", VAP, OURS, f"write apiVersion: {ADMISSION}/v1;"),
        ("admisionregistration.k8s.io/v1", VAPB, OTHER, f"write apiVersion: {ADMISSION}/v1;"),
        (
            "admissionregistration/v1",
            f"{MAPB}s",
            OTHER,
            f"write apiVersion: {ADMISSION}/v1 and kind: {MAPB};",
        ),
        ("v1", f"{VAPB}s", OTHER, f"write apiVersion: {ADMISSION}/v1 and kind: {VAPB};"),
        ("v1", VAP, OURS, f"write apiVersion: {ADMISSION}/v1;"),
        # The fields of ours under any group.
        ("v1", "Policy", OURS, "write apiVersion: policyd.dev/v1;"),
        ("example.com/v1", "Policy", OURS, "write apiVersion: policyd.dev/v1;"),
        ("example.com/v1", "Policy", {"mutations": []}, "write apiVersion: policyd.dev/v1;"),
        ("example.com/v1", "PolicyTest", OTHER, "write apiVersion: policyd.dev/v1;"),
    ],
)
def test_almost_a_policy_is_an_error_with_its_place_and_a_remedy(
    api_version: str, kind: str, spec: JSONObject, remedy: str
) -> None:
    problems = loaded(document(api_version, kind, spec)).problems
    (problem,) = (each for each in problems if each.path in ("apiVersion", "kind"))
    assert problem.message.startswith("Unsupported value: ")
    assert api_version in problem.message and kind in problem.message
    assert (problem.hint + ";").startswith(remedy)
    line, column = (2, 13) if problem.path == "apiVersion" else (3, 7)
    assert (problem.file, problem.line, problem.column) == ("t.yaml", line, column)


PARAMETERS = [
    ("kyverno.io/v1", "Policy", OTHER),
    ("kyverno.io/v1", "ClusterPolicy", OTHER),
    ("kyverno.io/v2", "PolicyException", {"exceptions": [{"policyName": "p"}]}),
    ("policies.kyverno.io/v1", "PolicyException", {"policyRefs": [{"name": "p"}]}),
    ("policies.kyverno.io/v1", "ValidatingPolicy", OURS),
    ("policy.open-cluster-management.io/v1", "Policy", OTHER),
    ("policies.kubewarden.io/v1", "ClusterAdmissionPolicy", OTHER),
    ("policies.kubewarden.io/v1", "AdmissionPolicy", OTHER),
    ("iam.example.com/v1", "Policy", OTHER),
    ("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy", OTHER),
    ("policy/v1", "PodDisruptionBudget", OTHER),
    ("networking.k8s.io/v1", "NetworkPolicy", OTHER),
    ("policyd.io/v1", "Limits", OTHER),
    ("v1", "ConfigMap", OTHER),
    (f"{ADMISSION}/v1", "ValidatingWebhookConfiguration", OTHER),
    (f"{ADMISSION}/v1beta1", "MutatingWebhookConfiguration", OTHER),
]


@pytest.mark.parametrize(("api_version", "kind", "spec"), PARAMETERS)
def test_a_kind_of_another_group_stays_a_parameter(
    api_version: str, kind: str, spec: JSONObject
) -> None:
    assert loaded(document(api_version, kind, spec)).problems == ()


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("iam.example.com", "Policy"),
        ("policyd.example.com", "Policy"),
        ("policyd.io", "ClusterPolicy"),
        ("example.com", "PolicyTest"),
        ("example.com", VAP),
    ],
)
def test_a_custom_resource_with_its_definition_stays_a_parameter(group: str, kind: str) -> None:
    resource = document(f"{group}/v1", kind, OURS)
    assert loaded(resource, definition(group, kind)).problems == ()
    assert loaded(definition("other.example.com", kind), resource).problems != ()


def test_a_definition_of_our_groups_makes_no_parameter_of_a_policy() -> None:
    wrong = document("policyd.dev/v1", "Polcy", OURS)
    assert loaded(wrong, definition("policyd.dev", "Polcy")).problems != ()
