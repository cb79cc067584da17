"""``--resource``: the resource of manifests whose kind does not determine it."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

import policyd as api
from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.objects import definition, pod
from tests.builders.policies import policy

ISSUER = definition("Issuer", "example.com", {}, scope="Cluster")


def write(file: str, *documents: JSONObject) -> str:
    Path(file).write_text(yaml.safe_dump_all(documents))
    return file


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("policy.yaml", SCALES)
    write("crds.yaml", ISSUER)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(policyd, arguments)


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
    (("--resource", "a/b/c/d"), "expected RESOURCE, VERSION/RESOURCE or GROUP/VERSION/RESOURCE"),
    (("--resource", "nothing"), "expected GROUP/VERSION/RESOURCE, as apps/v1/deployments"),
    (("--resource", "events"), "expected GROUP/VERSION/RESOURCE, as apps/v1/deployments"),
    (("--resource", ""), "expected RESOURCE"),
]


@pytest.mark.parametrize(("flags", "wrong"), WRONG)
def test_a_resource_that_cannot_be_meant(flags: tuple[str, ...], wrong: str) -> None:
    write("object.yaml", SCALE)
    done = run("apply", "-p", "policy.yaml", *flags, "object.yaml")
    assert wrong in str(done.exception)


def test_a_resource_is_of_one_kind() -> None:
    write("object.yaml", SCALE, pod())
    flags = ("-p", "policy.yaml", "--resource", "deployments")
    for command in (("apply", *flags), ("explain", *flags)):
        done = run(*command, "object.yaml")
        assert "--resource is the resource of one kind, but there are Scale, Pod" in str(
            done.exception
        )
