"""``--resource``: the resource of manifests whose kind does not determine it."""

import json
import re
from pathlib import Path

import pytest

import policyd as api
from policyd.json_types import JSONObject
from tests.builders.objects import definition, pod
from tests.builders.policies import policy
from tests.cli.folder import run, write

ISSUER = definition("Issuer", "example.com", {}, scope="Cluster")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("policy.yaml", SCALES)
    write("crds.yaml", ISSUER)


SCALE: JSONObject = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1},
}
RESOURCES = [
    ("deployments", "UPDATE apps/v1/deployments/scale default"),
    ("apps/v1/statefulsets", "UPDATE apps/v1/statefulsets/scale default"),
    ("issuers", "UPDATE example.com/v1/issuers/scale -"),
    ("other.example.com/v3/boxes", "UPDATE other.example.com/v3/boxes/scale default"),
]
SCALES = policy(
    "scales",
    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/scale"]},
    validations=[
        {
            "expression": "false",
            "messageExpression": "request.operation + ' ' + request.resource.group + '/' +"
            " request.resource.version + '/' + request.resource.resource + '/' +"
            " request.subResource + ' ' + (has(request.namespace) ? request.namespace : '-')",
        }
    ],
)


@pytest.mark.parametrize(("resource", "seen"), RESOURCES)
def test_the_resource_of_a_scale_is_given(resource: str, seen: str) -> None:
    flags = ("-p", "policy.yaml", "-p", "crds.yaml", "--resource", resource)
    given = write("object.yaml", SCALE)
    response = json.loads(run("review", *flags, "--object", given).stdout)["response"]
    assert response["status"]["message"] == f"policy 'scales' denied request: {seen}"
    (row,) = json.loads(run("apply", *flags, "--format", "json", given).stdout)
    assert [each["message"] for each in row["findings"]] == [seen]
    policies = api.PolicySet.load(["policy.yaml", "crds.yaml"])
    review = api.build_review(SCALE, resource=resource, policies=policies)
    assert policies.evaluate(review).violations[0].message == seen


def test_a_scale_needs_a_resource() -> None:
    write("object.yaml", SCALE, pod())
    done = run("apply", "-p", "policy.yaml", "--format", "json", "object.yaml")
    assert (done.exit_code, [each["kind"] for each in json.loads(done.stdout)]) == (2, ["Pod"])
    assert "object.yaml:2:7: error: many resources have the subresource scale" in done.stderr
    assert "--resource apps/v1/deployments" in done.stderr


WRONG = [
    (SCALE, "a/b/c/d", "expected RESOURCE, VERSION/RESOURCE or GROUP/VERSION/RESOURCE, got"),
    (SCALE, "", "expected RESOURCE"),
    (SCALE, "nothing", "expected GROUP/VERSION/RESOURCE, as apps/v1/deployments, got"),
    (SCALE, "StatefulSet", "expected GROUP/VERSION/RESOURCE, as apps/v1/statefulsets, got"),
    (SCALE, "issuer", "expected GROUP/VERSION/RESOURCE, as example.com/v1/issuers, got"),
    (SCALE, "events", "expected GROUP/VERSION/RESOURCE, as events.k8s.io/v1/events, got"),
    (pod(), "Pod", "v1 has no resource Pod; did you mean v1/pods?"),
    (pod(), "pod", "v1 has no resource pod; did you mean v1/pods?"),
    (pod(), "PODS", "v1 has no resource PODS; did you mean v1/pods?"),
    (pod(), "v1/Pod", "v1 has no resource Pod; did you mean v1/pods?"),
    (pod(), "deployments", "v1 has no resource deployments; did you mean apps/v1/deployments?"),
    (pod(), "autoscaling/v2/HorizontalPodAutoscaler",
     "did you mean autoscaling/v2/horizontalpodautoscalers?"),
    (pod(), "po", "v1 has no resource po"),
    (pod(), "example.com/v1/Issuer", "did you mean example.com/v1/issuers?"),
    (pod(), "other.example.com/v1/Box", "other.example.com/v1 has no resource Box"),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "resource", "wrong"), WRONG)
def test_a_resource_that_cannot_be_meant(obj: JSONObject, resource: str, wrong: str) -> None:
    """It would match no policy, and everything would pass."""
    given = write("object.yaml", obj)
    flags = ("-p", "policy.yaml", "-p", "crds.yaml", "--resource", resource)
    for command in (("apply", *flags, given), ("review", *flags, "--object", given)):
        assert wrong in str(run(*command).exception)
    policies = api.PolicySet.load(["policy.yaml", "crds.yaml"])
    with pytest.raises(ValueError, match=re.escape(wrong)):
        api.build_review(obj, resource=resource, policies=policies)


def test_a_resource_is_of_one_kind() -> None:
    write("object.yaml", SCALE, pod())
    flags = ("-p", "policy.yaml", "--resource", "deployments")
    for command in (("apply", *flags), ("explain", *flags)):
        done = run(*command, "object.yaml")
        assert "--resource is the resource of one kind, but there are Scale, Pod" in str(
            done.exception
        )
