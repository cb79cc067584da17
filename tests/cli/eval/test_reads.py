"""``policyd eval --reads``: other objects, as policies declare them or as lists of each kind."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.errors import ConfigError, PolicyError
from policyd.json_types import JSON, JSONObject
from tests.builders.reads import CONFIG_MAPS_READ, HOSTS, reading


def found(name: str, namespace: str, *hosts: str) -> JSONObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"hosts": hosts}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("objects", found("own", "shop", "a"), found("x", "lab", "a", "b"))
    write("own", found("own", "shop", "a"))


def write(name: str, *documents: JSONObject) -> None:
    Path(f"{name}.json").write_text("\n---\n".join(map(json.dumps, documents)))


def run(*arguments: str, text: str | None = None) -> Result:
    given = ["eval", "--reads", "objects.json", *arguments]
    return CliRunner().invoke(policyd, given, input=text, catch_exceptions=False)


def value(*arguments: str) -> JSON:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    answer: JSON = json.loads(done.stdout)
    return answer


def test_each_kind_is_a_list_if_no_policy_declares_reads() -> None:
    assert value("reads.configmaps.map(m, m.metadata.name)") == ["x", "own"]
    write("objects", found("y", "lab"), {"apiVersion": "v1", "kind": "Node", "metadata": {}})
    assert value("reads.configmaps.size() + reads.nodes.size()") == 2
    # The object itself is left out, as in a request.
    write("objects", found("own", "shop"), found("x", "lab"))
    assert value("reads.configmaps.map(m, m.metadata.name)", "own.json") == ["x"]


def test_policies_declare_what_expressions_see() -> None:
    write("policy", reading(namespace="any", key=HOSTS))
    keyed = ("--reads", "policy.json", "reads.maps['a'].map(m, m.metadata.name)")
    assert value(*keyed) == ["x", "own"]
    assert value(*keyed, "own.json") == ["x"]
    assert value("--reads", "policy.json", "'c' in reads.maps") is False
    write("policy", reading())
    names = ("--reads", "policy.json", "reads.maps.map(m, m.metadata.name)")
    unknown = run(*names)
    assert unknown.exit_code == 1
    assert "the request's namespace, and this request has none" in unknown.stderr
    assert value(*names, "--var", 'request={"namespace": "lab"}') == ["x"]


def test_lines_see_them_too() -> None:
    lines = json.dumps({"expression": "reads.configmaps.size() + x", "variables": {"x": 1}})
    answer = json.loads(run("--jsonl", text=lines).stdout)
    assert (answer["value"], answer["type"]) == (3, "int")


def test_what_is_wrong_is_reported() -> None:
    other: JSONObject = {**reading(namespace="any"), "metadata": {"name": "other"}}
    write("policy", reading(**CONFIG_MAPS_READ), other)
    with pytest.raises(ConfigError, match=r"there are different reads\.maps: give one policy"):
        value("--reads", "policy.json", "true")
    write("policy", reading("1 + 'a' == 2"))
    with pytest.raises(PolicyError, match="no matching overload"):
        value("--reads", "policy.json", "true")
    assert "did you mean reads.configmaps" in run("reads.configmap.size()").stderr
