"""What an export consists of: documents, metadata, and the reasons why there is none."""

import pytest

from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST, KubernetesVersion
from tests.builders.objects import widget_definition
from tests.builders.policies import (
    ADMISSION,
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVERYTHING,
    PODS,
    add_label,
    apply_configuration,
    demand,
    map_,
    map_binding,
    policy,
    policy_exception,
    rule,
    vap,
    vap_binding,
)
from tests.export.comparing import export_of, part_of, reasons_of

V134 = KubernetesVersion(1, 34)


def names(documents: tuple[JSONObject, ...]) -> list[str]:
    """Kind and name of each document, without what all kinds have in common."""
    return [
        f"{each['kind'].replace('AdmissionPolicy', '')} {each['metadata']['name']}"
        for each in documents
    ]


def test_a_policy_becomes_a_policy_with_a_binding() -> None:
    part = part_of(policy("p", CONFIG_MAPS, validationActions=["Warn"]))
    first, binding = part.documents
    assert first["apiVersion"] == binding["apiVersion"] == ADMISSION
    assert first["spec"] == {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [{**CONFIG_MAPS, "scope": "*"}],
            "matchPolicy": "Equivalent",
        },
        "validations": [{"expression": "object.metadata.name != 'x'"}],
    }
    assert binding["spec"] == {"policyName": "p", "validationActions": ["Warn"]}
    assert part.remarks == ()


def test_pod_controllers_have_a_policy_for_each_place_of_the_template() -> None:
    rules = [rule("pods", "services"), rule("pods", operations=["DELETE"])]
    part = part_of(policy("p", *rules, podControllers=True, validations=[demand("true", "no")]))
    assert names(part.documents) == [
        "Validating p",
        "ValidatingBinding p",
        "Validating p-templates",
        "ValidatingBinding p-templates",
        "Validating p-cronjobs",
        "ValidatingBinding p-cronjobs",
    ]
    own, _, templates, binding, cron_jobs, _ = (each["spec"] for each in part.documents)
    assert own["matchConstraints"]["resourceRules"] == [{**each, "scope": "*"} for each in rules]
    assert [each["resources"] for each in templates["matchConstraints"]["resourceRules"]] == [
        ["deployments", "statefulsets", "daemonsets", "replicasets"],
        ["replicationcontrollers"],
        ["jobs"],
    ]
    assert [each["resources"] for each in cron_jobs["matchConstraints"]["resourceRules"]] == [
        ["cronjobs"]
    ]
    assert templates["matchConstraints"]["resourceRules"][0]["operations"] == ["CREATE", "UPDATE"]
    assert binding["policyName"] == "p-templates"


def test_the_metadata_names_the_source() -> None:
    source = policy("p", description="What it does.")
    source["metadata"] |= {
        "labels": {"team": "a", "app.kubernetes.io/managed-by": "helm"},
        "annotations": {
            "x.io/a": "b",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
        "uid": "u",
        "managedFields": [],
    }
    for each in part_of(source).documents:
        found = each["metadata"]
        assert found["labels"] == {
            "team": "a",
            "app.kubernetes.io/name": "policyd",
            "app.kubernetes.io/managed-by": "policyd",
        }
        digest = found["annotations"].pop("policyd.dev/source-hash")
        assert digest.startswith("sha256:")
        assert found["annotations"] == {
            "x.io/a": "b",
            "policyd.dev/policy": "p",
            "policyd.dev/description": "What it does.",
        }
        assert found.keys() == {"name", "labels", "annotations"}


def digest(*documents: JSONObject, version: KubernetesVersion = V134) -> str:
    """The hash of the source in the export of a policy."""
    first = export_of(*documents, version=version).documents[0]
    found: str = first["metadata"]["annotations"]["policyd.dev/source-hash"]
    return found


def test_the_hash_changes_with_the_source_its_bindings_and_the_version() -> None:
    first, binding = vap(), vap_binding()
    same = {**first, "metadata": {"name": "p", "resourceVersion": "7"}, "status": {}}
    assert digest(first, binding) == digest(same, binding)
    others = [
        digest(vap(failurePolicy="Ignore"), binding),
        digest(first, vap_binding(validationActions=["Warn"])),
        digest(first, binding, version=KubernetesVersion(1, 35)),
    ]
    assert digest(first, binding) not in others
    assert len(set(others)) == 3


def test_policies_of_kubernetes_are_exported_as_they_are() -> None:
    first = vap(validations=[{"expression": "true", "message": None}])
    first["metadata"]["finalizers"] = ["x.io/y"]
    second = vap_binding("other", matchResources={"namespaceSelector": {"matchLabels": {"a": "b"}}})
    found = export_of(first, vap_binding(), second, vap_binding("not-mine", policyName="q"))
    assert names(found.documents) == [
        "Validating p",
        "ValidatingBinding b",
        "ValidatingBinding other",
    ]
    assert [each["spec"] for each in found.documents] == [
        each["spec"] for each in (first, vap_binding(), second)
    ]
    assert found.documents[0]["metadata"]["finalizers"] == ["x.io/y"]
    for each in found.documents:
        assert each["metadata"]["annotations"]["policyd.dev/policy"] == "p"


def test_a_policy_of_kubernetes_without_a_binding_gets_a_remark() -> None:
    (part,) = export_of(vap()).parts
    assert [each.message for each in part.remarks] == ["it has no binding, so it does nothing"]


@pytest.mark.parametrize(
    ("version", "served"),
    [
        (KubernetesVersion(1, 33), None),
        (V134, "admissionregistration.k8s.io/v1beta1"),
        (KubernetesVersion(1, 36), ADMISSION),
    ],
)
def test_mutating_policies_have_the_version_that_is_served(
    version: KubernetesVersion, served: str | None
) -> None:
    found = export_of(map_(mutations=[add_label("'v'")]), map_binding(), version=version)
    if served is None:
        (part,) = found.parts
        (reason,) = part.reasons
        assert reason.message == "Kubernetes 1.33 does not serve MutatingAdmissionPolicy"
    else:
        assert [each["apiVersion"] for each in found.documents] == [served, served]


@pytest.mark.parametrize(
    ("expression", "version", "reason"),
    [
        ("[1].sort() == [1]", KubernetesVersion(1, 33), "undeclared reference to 'sort'"),
        ("[1].sort() == [1]", V134, "function sort() is accepted in new policies from Kubernetes 1.35"),
        ("[1].sort() == [1]", KubernetesVersion(1, 35), ""),
        ("isIP('a')", KubernetesVersion(1, 30), "function isIP() is accepted in new policies from Kubernetes 1.31"),
        ("isIP('a')", KubernetesVersion(1, 31), ""),
        ("[1].all(i, v, true)", KubernetesVersion(1, 32), "macro all() is accepted in new policies from Kubernetes 1.33"),
        # The syntax is that of the parser, which has no version.
        ("has(object.`a-b`)", KubernetesVersion(1, 37), ""),
    ],
)  # fmt: skip
def test_a_new_policy_may_use_what_the_version_before_knew(
    expression: str, version: KubernetesVersion, reason: str
) -> None:
    found = reasons_of(policy(validations=[demand(expression, "no")]), version=version)
    assert len(found) == bool(reason)
    assert all(reason in each for each in found)


def test_a_broken_variable_is_one_reason() -> None:
    source = policy(
        variables=[{"name": "a", "expression": "[1].sort()"}],
        validations=[demand("variables.a == []", "no")],
        podControllers=True,
    )
    (reason,) = reasons_of(source, version=KubernetesVersion(1, 33))
    assert "p: spec.variables[0].expression: undeclared reference to 'sort'" in reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"timeoutSeconds": 1}, "spec.timeoutSeconds: a policy in the API server has no timeout"),
        (
            {"exceptions": [{"name": "a", "names": ["b"], "until": "2099-01-01"}]},
            "spec.exceptions[0].until: the exception a ends on 2099-01-01, and CEL has no clock",
        ),
        (
            {"validations": [demand(".params.a == 1", "no")], "params": {"a": 1}},
            "spec.validations[0].expression: cannot be rewritten: the name .params has a leading",
        ),
        (
            {
                "validations": [demand("[1].exists(request, object.kind == '')", "no")],
                "podControllers": True,
            },
            "",
        ),
        (
            {
                "matchConditions": [
                    {"name": "c", "expression": "[1].exists(request, object == {})"}
                ],
                "podControllers": True,
            },
            "spec.matchConditions[0].expression: cannot be rewritten: a macro has a variable with",
        ),
    ],
)
def test_what_cannot_be_kept_is_a_reason(fields: JSONObject, reason: str) -> None:
    found = reasons_of(policy(**fields))
    assert len(found) == bool(reason)
    assert all(each.startswith(reason) for each in found)


def test_rules_that_match_controllers_beside_pods_are_refused() -> None:
    (reason,) = reasons_of(policy("p", PODS, DEPLOYMENTS, podControllers=True))
    assert reason.startswith(
        "spec.matchConstraints.resourceRules: its own rules also match deployments"
    )
    (reason,) = reasons_of(policy("p", PODS, EVERYTHING, podControllers=True))
    assert "replicationcontrollers" in reason
    deleted = rule("deployments", group="apps", operations=["DELETE"])
    assert reasons_of(policy("p", PODS, deleted, podControllers=True)) == []


def test_names_are_used_once() -> None:
    documents = [
        policy("p", podControllers=True),
        policy("p-templates", CONFIG_MAPS),
        vap("q"),
        vap_binding("r", policyName="q"),
        policy("r", CONFIG_MAPS),
    ]
    sources = load_built(documents, version=V134)
    found = exported(sources)
    assert [bool(each.documents) for each in found] == [False, True, True, False]
    reasons = [reason.message for each in found for part in each.parts for reason in part.reasons]
    assert reasons == [
        "the export of Policy p-templates has the ValidatingAdmissionPolicy p-templates, too",
        "the export of Policy p-templates has the ValidatingAdmissionPolicyBinding p-templates, too",
        "the export of ValidatingAdmissionPolicy q has the ValidatingAdmissionPolicyBinding r, too",
    ]


def test_a_name_that_becomes_too_long_is_a_reason() -> None:
    reasons = reasons_of(policy("p" * 250, podControllers=True))
    assert any("must be no more than 253 bytes" in each for each in reasons)


def test_names_reserved_for_files_are_a_reason() -> None:
    source = policy("p.static.k8s.io", CONFIG_MAPS)
    assert reasons_of(source, version=KubernetesVersion(1, 36)) == []
    (reason,) = reasons_of(source)
    assert "reserves names that end in .static.k8s.io" in reason


def test_a_document_that_no_cluster_can_store_is_a_reason() -> None:
    long = demand(f"object.metadata.name != '{'x' * 90_000}'", "no")
    (reason,) = reasons_of(policy(validations=[long] * 17))
    assert reason.startswith("spec: p has 1,") and reason.endswith("etcd accepts 1,500,000")


def test_schemas_of_custom_kinds_are_those_of_the_sources() -> None:
    definition = widget_definition()
    widgets = rule("widgets", group="e2e.policyd.dev")
    mutation = apply_configuration("Object{spec: Object.spec{colour: 'red'}}")
    documents = (map_("m", widgets, mutations=[mutation]), map_binding())
    assert reasons_of(*documents) != []
    assert reasons_of(*documents, definition) == []


def test_more_conditions_than_allowed_are_a_reason() -> None:
    conditions = [{"name": f"c{number}", "expression": "true"} for number in range(64)]
    source = policy(matchConditions=conditions, podControllers=True)
    assert reasons_of(policy(matchConditions=conditions)) == []
    assert any("Too many: 65: must have at most 64 items" in each for each in reasons_of(source))


def test_the_order_of_the_keys_of_params_is_a_remark() -> None:
    source = policy(
        params={"labels": {"a": "1", "b": "2"}, "one": {"a": "1"}, "list": ["a", "b"]},
        variables=[
            {"name": "labels", "expression": "params.labels"},
            {"name": "missing", "expression": "variables.labels.map(k, k)"},
        ],
        validations=[
            demand("params.labels.all(k, k != '')", "no"),
            demand("true", "no", messageExpression="variables.missing.join(',')"),
            demand("true", "no", messageExpression="params.one.map(k, k).join(',')"),
            demand("true", "no", messageExpression="params.list.map(k, k).join(',')"),
        ],
    )
    found = [each for each in part_of(source).remarks if "random" in each.message]
    assert [(each.path, each.message) for each in found] == [
        (
            "spec.validations[1].messageExpression",
            "the API server walks the map params.labels in random order, so the order of words "
            "may differ",
        )
    ]


NAMES_IT = "the API server does not know PolicyExceptions, and"
ONE = policy("p", validations=[demand("true", "no", name="v")], mutations=[add_label("'x'")])
BOTH = [
    vap("v"),
    vap_binding("b", policyName="v"),
    map_("m", mutations=[add_label("'x'")]),
    map_binding("mb", policyName="m"),
]


@pytest.mark.parametrize(
    ("exceptions", "reasons"),
    [
        ([], [[], [], [], []]),
        ([policy_exception("e", "*")], [["e"], ["e"], ["e"], ["e"]]),
        ([policy_exception("e", "p")], [["e"], ["e"], [], []]),
        (
            [policy_exception("e", {"name": "*", "validations": [0]})],
            [["e"], [], ["e"], []],
        ),
        ([policy_exception("e", {"name": "p", "validations": ["other"]})], [[], [], [], []]),
        ([policy_exception("e", "*", until="2020-01-01")], [[], [], [], []]),
    ],
)
def test_a_policy_that_a_policy_exception_names_stays_at_the_webhook(
    exceptions: list[JSONObject], reasons: list[list[str]]
) -> None:
    found = exported(load_built([ONE, *BOTH, *exceptions], version=NEWEST))
    parts = [part for each in found for part in each.parts]
    said = [[each.message for each in part.reasons] for part in parts]
    assert said == [[f"{NAMES_IT} this one names it: {name}" for name in row] for row in reasons]
    assert [bool(part.documents) for part in parts] == [not row for row in reasons]


def test_few_of_many_exceptions_are_named() -> None:
    many = [policy_exception(f"e{number}", "p") for number in range(5)]
    (found,) = exported(load_built([policy("p"), *many], version=NEWEST))
    ((reason,),) = [part.reasons for part in found.parts]
    assert reason.path == "metadata.name"
    assert reason.message == f"{NAMES_IT} 5 name it: e0, e1, e2, …"
