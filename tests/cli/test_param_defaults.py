"""Params are what the API server would store, wherever they are written: among the policies, in a
suite, or in its paramsFile.
"""

import json

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import config_map, definition
from tests.builders.policies import CONFIG_MAPS, suite, vap, vap_binding
from tests.cli.folder import write

pytestmark = pytest.mark.usefixtures("folder")
MAX = {"type": "object", "properties": {"max": {"type": "integer", "default": 3}, "name": {}}}


def version(name: str, default: int, *fields: str) -> JSONObject:
    """A version with this default for its fields; v2 is stored."""
    numbers = {field: {"type": "integer", "default": default} for field in fields}
    spec = {"type": "object", "properties": numbers}
    return {
        "name": name,
        "served": True,
        "storage": name == "v2",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }


LIMIT = definition("Limit", "example.com", MAX)
VERSIONS = definition(
    "Limit", "example.com", {}, versions=[version("v1", 1, "max"), version("v2", 2, "max", "min")]
)
CLUSTER = definition("Limit", "example.com", MAX, scope="Cluster")


def param(home: str, kind: str, **fields: JSON) -> JSONObject:
    return {"apiVersion": home, "kind": kind, "metadata": {"name": "q"}, **fields}


# the definitions, paramKind, the param as it is written, what an expression reads of it.
ROWS: list[tuple[list[JSONObject], tuple[str, str], JSONObject, str, str]] = [
    (
        [LIMIT], ("example.com/v1", "Limit"), param("example.com/v1", "Limit", spec={"name": "x"}),
        "string(params.spec.max) + params.spec.name", "3x",
    ),
    # As a kube-apiserver 1.37 answers a GET of each version.
    (
        [VERSIONS], ("example.com/v1", "Limit"), param("example.com/v1", "Limit", spec={}),
        "string(params.spec.max)", "1",
    ),
    (
        [VERSIONS], ("example.com/v2", "Limit"), param("example.com/v1", "Limit", spec={}),
        "string(params.spec.max) + string(params.spec.min)", "12",
    ),
    (
        [VERSIONS], ("example.com/v1", "Limit"), param("example.com/v2", "Limit", spec={}),
        "string(params.spec.max)", "2",
    ),
    (
        [], ("v1", "Secret"), param("v1", "Secret", stringData={"x": "x"}),
        "params.data.x + params.type + string(has(params.stringData))", "eA==Opaquefalse",
    ),
    (
        [], ("v1", "ResourceQuota"),
        param("v1", "ResourceQuota", spec={"hard": {"cpu": "1000m", "memory": "1024Mi"}}),
        "params.spec.hard.cpu + params.spec.hard.memory + string(has(params.status))", "11Gitrue",
    ),
    ([], ("v1", "ConfigMap"), config_map("q", None), "string(params.metadata.namespace)", "default"),
]  # fmt: skip


def reading(kind: tuple[str, str], text: str) -> list[JSONObject]:
    """A policy whose message is what it reads of its param."""
    validation = {"expression": "false", "messageExpression": text}
    param_kind = {"apiVersion": kind[0], "kind": kind[1]}
    ref = {"name": "q", "namespace": "default", "parameterNotFoundAction": "Deny"}
    return [
        vap("reads", CONFIG_MAPS, paramKind=param_kind, validations=[validation]),
        vap_binding("binds", policyName="reads", validationActions=["Deny"], paramRef=ref),
    ]


def case(said: str, **fields: JSON) -> JSONObject:
    request = {"object": config_map("c", "default")}
    return {"name": "c", "request": request, "expect": {"message": said}, **fields}


def passes(document: JSONObject) -> bool:
    done = CliRunner().invoke(policyd, ["test", write("suite.yaml", document)])
    return done.exit_code == 0


@pytest.mark.parametrize(("crds", "kind", "given", "text", "said"), ROWS)
def test_params_are_as_they_would_be_stored(
    crds: list[JSONObject], kind: tuple[str, str], given: JSONObject, text: str, said: str
) -> None:
    policies = reading(kind, text)
    # documents
    write("policy.yaml", *crds, *policies, given)
    write("object.yaml", config_map("c", "default"))
    done = CliRunner().invoke(policyd, ["review", "-p", "policy.yaml", "--object", "object.yaml"])
    message = json.loads(done.stdout)["response"]["status"]["message"]
    assert message.endswith(f"denied request: {said}")
    # a suite, and its file
    write("policy.yaml", *crds, *policies)
    assert passes(suite(policies=["policy.yaml"], params=[given], cases=[case(said)]))
    write("params.yaml", given)
    assert passes(suite(policies=["policy.yaml"], paramsFile="params.yaml", cases=[case(said)]))
    # beside its definition in that file
    write("policy.yaml", *policies)
    write("params.yaml", *crds, given)
    assert passes(suite(policies=["policy.yaml"], paramsFile="params.yaml", cases=[case(said)]))


def test_params_follow_the_defaults_of_the_suite() -> None:
    write(
        "policy.yaml", LIMIT, *reading(("example.com/v1", "Limit"), "string(has(params.spec.max))")
    )
    given = param("example.com/v1", "Limit", spec={})
    rows = [case("true"), case("false", name="d", defaults=False)]
    assert passes(suite(policies=["policy.yaml"], params=[given], cases=rows))


def test_a_param_of_a_cluster_scoped_kind_is_in_no_namespace() -> None:
    policy, binding = reading(("example.com/v1", "Limit"), "string(has(params.metadata.namespace))")
    del binding["spec"]["paramRef"]["namespace"]
    given = param("example.com/v1", "Limit", spec={})
    given["metadata"]["namespace"] = "default"
    write("policy.yaml", CLUSTER, policy, binding)
    assert passes(suite(policies=["policy.yaml"], params=[given], cases=[case("false")]))
