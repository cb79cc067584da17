"""Every policy of the sources is converted or refused; nothing that belongs to one is dropped silently."""

from pathlib import Path

import pytest

from policyd.importers.all import CONVERTERS, convert_all
from policyd.importers.reading import read_sources
from policyd.json_types import JSONObject
from tests.builders import policies
from tests.importers.sources import PODS, TABLE, denying, imported, small_pod, source, write

REPLACING = "Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}"
KUBERNETES = "admissionregistration.k8s.io/v1"


def document(api_version: str, kind: str, **spec: object) -> JSONObject:
    return policies.document(api_version, kind, "x", spec)


def test_policies_are_converted_in_their_order_and_manifests_left_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.yaml": [source("one", rules={"r": denying()}), small_pod("web")],
            "b.yaml": source("two", refused="because"),
            "c.yaml": source("three", rules={"r": denying()}, remarks=["differs"]),
        },
    )
    found = [each.imported for each in imported(read_sources([tmp_path]))]
    assert [(each.source.name, each.state) for each in found] == [
        ("one", "imported"),
        ("two", "not imported"),
        ("three", "with remarks"),
    ]
    assert found[1].reasons[0].message == "because"


@pytest.mark.parametrize(
    ("alone", "reason"),
    [
        (document("kyverno.io/v2", "ClusterCleanupPolicy"), "policyd deletes no objects"),
        (document("policies.kyverno.io/v1", "GeneratingPolicy"), "policyd creates no objects"),
        (document("policies.kyverno.io/v1", "ImageValidatingPolicy"), "queries no registries"),
        (document("policy/v1beta1", "PodSecurityPolicy"), "policies/pod-security"),
        (document("expansion.gatekeeper.sh/v1", "ExpansionTemplate"), "podControllers"),
        (document("externaldata.gatekeeper.sh/v1", "Provider"), "no providers"),
        (
            document("kyverno.io/v2", "PolicyException", exceptions=[{"policyName": "gone"}]),
            "the sources have no policy gone to except from",
        ),
        (
            document("policies.kyverno.io/v1", "PolicyException", policyRefs=[{"name": "gone"}]),
            "the sources have no policy gone to except from",
        ),
        (
            document("constraints.gatekeeper.sh/v1beta1", "K8sThing"),
            "no ConstraintTemplate of K8sThing: give the file of the ConstraintTemplate as well",
        ),
        (
            document(KUBERNETES, "ValidatingAdmissionPolicyBinding", policyName="gone"),
            "the sources have no ValidatingAdmissionPolicy gone",
        ),
        (
            document("config.gatekeeper.sh/v1alpha1", "Config", match=[{"processes": ["*"]}]),
            "a Config that exempts namespaces from all policies",
        ),
        (document("kyverno.io/v9", "Surprise"), "policyd knows no Surprise of kyverno.io/v9"),
    ],
)
def test_what_no_policy_takes_is_refused(tmp_path: Path, alone: JSONObject, reason: str) -> None:
    write(tmp_path, {"a.yaml": alone})
    (found,) = convert_all(read_sources([tmp_path]).documents, TABLE)
    assert found.state == "not imported"
    assert reason in found.reasons[0].message


def test_an_exception_of_a_policy_that_is_there_is_part_of_it(tmp_path: Path) -> None:
    exception = document("kyverno.io/v2", "PolicyException", exceptions=[{"policyName": "p"}])
    write(tmp_path, {"a.yaml": source(refused="no"), "b.yaml": exception})
    found = convert_all(read_sources([tmp_path]).documents, TABLE)
    assert [each.source.kind for each in found] == ["ClusterPolicy"]


def test_a_result_that_does_not_load_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": source(rules={"r": denying("1 +")})})
    (found,) = imported(read_sources([tmp_path]))
    assert (found.imported.state, found.policies) == ("not imported", None)
    assert "what it became is not valid: spec.validations[0].expression" in (
        found.imported.reasons[0].message
    )


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"mutations": [policies.apply_configuration(REPLACING)]},
            "atomic values can only be replaced",
        ),
        (
            {"validations": [{"expression": "object.spec.restartPolicy != 'always'"}]},
            "'always' is never the value of this field",
        ),
        (
            {"validations": [{"expression": "quantity('1Gb').isInteger()"}]},
            "1Gb",
        ),
    ],
)
def test_a_result_that_lint_has_errors_in_is_not_imported(
    tmp_path: Path, spec: JSONObject, why: str
) -> None:
    write(tmp_path, {"a.yaml": source(rules={"r": {"matchConstraints": PODS, **spec}})})
    (found,) = imported(read_sources([tmp_path]))
    assert (found.imported.documents, found.policies) == ((), None)
    [reason] = found.imported.reasons
    assert reason.message.startswith("what it became fails `policyd lint`: spec.")
    assert why in reason.message


def test_every_kind_has_a_converter() -> None:
    kinds = {kind for _, kind in CONVERTERS}
    assert {"ConstraintTemplate", "MutatingPolicy", "ValidatingPolicy"} <= kinds
