"""``policyd test``: params, namespaces and access rules of a suite, a case and a row."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd.cli import policyd
from tests.builders.policies import demand, policy, rule, vap, vap_binding
from tests.cli.folder import write
from tests.cli.within import answered

CREATED = rule("deployments", group="apps", operations=["CREATE"])
OWNER = "namespaceObject.metadata.?annotations.owner.orValue('') == 'blue'"
MAY_SCALE = "authorizer.group('apps').resource('deployments').check('scale').allowed()"
POLICIES = [
    vap(
        "replicas",
        CREATED,
        paramKind={"apiVersion": "example.com/v1", "kind": "Limit"},
        validations=[demand("object.spec.replicas <= params.max", "too many")],
    ),
    vap_binding(
        "replicas",
        policyName="replicas",
        paramRef={"name": "limit", "parameterNotFoundAction": "Deny"},
    ),
    policy(
        "env",
        CREATED,
        match={"namespaceSelector": {"matchLabels": {"env": "prod"}}},
        validations=[demand(OWNER, "no owner"), demand(MAY_SCALE, "may not scale")],
    ),
]
LIMIT = """\
apiVersion: example.com/v1
kind: Limit
metadata: {name: limit, namespace: shop}
max: 1
"""
OBJECT = """\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {replicas: 3}}
"""
PARAM = (
    "{apiVersion: example.com/v1, kind: Limit, metadata: {name: limit, namespace: shop}, max: 5}"
)
PROD = "{name: shop, labels: {env: prod}, annotations: {owner: blue}}"
SCALE = "{verb: scale, resource: deployments}"
HEAD = "apiVersion: policyd.dev/v1\nkind: PolicyTest\nmetadata: {name: s}\npolicies: [policies]\n"


def run(folder: Path, suite: str, *arguments: str, limit: str = LIMIT) -> tuple[int, str]:
    (folder / "policies").mkdir(exist_ok=True)
    write(str(folder / "policies" / "policies.yaml"), *POLICIES)
    (folder / "policies" / "limit.yaml").write_text(limit)
    (folder / "suite.yaml").write_text(HEAD + suite)
    return answered("test", str(folder), *arguments)


def case(expect: str, state: str = "", name: str = "c") -> str:
    return f"- name: {name}\n  request: {{object: {OBJECT.strip()}}}\n  expect: {expect}\n{state}"


MAX_5 = f"params: [{PARAM}]"
ADMITTED = "{allowed: true}"
ROWS: list[tuple[str, str, str, str]] = [
    ("the documents of the policies", "", "", "{message: too many}"),
    ("params of a case", "", MAX_5, ADMITTED),
    ("params of a suite", MAX_5, "", ADMITTED),
    ("a case before its suite", MAX_5, MAX_5.replace("5", "2"), "{message: too many}"),
    ("another name", "", MAX_5.replace("limit,", "other,"), "{message: too many}"),
    ("a file of params", "", "paramsFile: more.yaml", ADMITTED),
    ("a case before its file", "", f"paramsFile: more.yaml\n{MAX_5.replace('5', '2')}",
     "{message: too many}"),
    ("a namespace without an owner", MAX_5, "namespaces: [{name: shop, labels: {env: prod}}]",
     "{message: no owner}"),
    ("a namespace of a suite", f"{MAX_5}\nnamespaces: [{PROD}]\nauthorizer: [{SCALE}]", "", ADMITTED),
    ("a case without access", f"{MAX_5}\nnamespaces: [{PROD}]\nauthorizer: [{SCALE}]",
     "authorizer: [{verb: scale, allowed: false}]", "{message: may not scale}"),
    ("a case with access", f"{MAX_5}\nnamespaces: [{PROD}]\nauthorizer: []",
     f"authorizer: [{SCALE}]", ADMITTED),
    ("rules of the suite after those of the case",
     f"{MAX_5}\nnamespaces: [{PROD}]\nauthorizer: [{SCALE}]",
     "authorizer: [{verb: get, allowed: false}]", ADMITTED),
]  # fmt: skip


def lines(text: str, indent: str = "") -> str:
    return "".join(f"{indent}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize("arguments", [(), ("--coverage",)], ids=["plain", "coverage"])
@pytest.mark.parametrize(
    ("suite", "state", "expect"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_objects_of_a_case(
    tmp_path: Path, suite: str, state: str, expect: str, arguments: tuple[str, ...]
) -> None:
    if "more.yaml" in state:
        (tmp_path / "more.yaml").write_text(PARAM.replace("5", "4"))
    text = f"{lines(suite)}cases:\n{case(expect, lines(state, '  '))}"
    status, output = run(tmp_path, text, *arguments)
    assert status == 0, output


def test_a_case_leaves_the_others_alone(tmp_path: Path) -> None:
    first, second = case(ADMITTED, f"  {MAX_5}\n"), case("{message: too many}", name="d")
    status, output = run(tmp_path, f"cases:\n{first}{second}")
    assert status == 0, output


def test_a_row_has_params_of_its_own(tmp_path: Path) -> None:
    table = f"  table:\n  - name: a\n    {MAX_5}\n    expect: {ADMITTED}\n  - name: b\n"
    status, output = run(tmp_path, f"cases:\n{case('{message: too many}', table)}")
    assert status == 0, output


def test_params_of_a_kind_that_only_a_case_has(tmp_path: Path) -> None:
    cases = case(ADMITTED, f"  {MAX_5}\n") + case("{error: true}", name="no params")
    status, output = run(tmp_path, f"cases:\n{cases}", limit="")
    assert status == 0, output


def test_a_file_of_params_is_no_document_of_the_policies(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "more.yaml").write_text(PARAM)
    text = f"cases:\n{case(ADMITTED, '  paramsFile: policies/more.yaml' + chr(10))}"
    status, output = run(tmp_path, text, limit="")
    assert status == 0, output


WRONG: list[tuple[str, str]] = [
    ("params: [{kind: Limit, metadata: {name: a}}]", "params[0].apiVersion: Required value"),
    ("params: [{apiVersion: v1, kind: Limit}]", "params[0].metadata.name: Required value"),
    ("namespaces: [{labels: {a: b}}]", "namespaces[0].name: Required value"),
    ("namespaces: [{name: a}, {name: a}]", 'namespaces[1].name: Duplicate value: "a"'),
    ("namespaces: [{name: a, label: {}}]", "did you mean labels?"),
    ("param: []", "did you mean params?"),
]


@pytest.mark.parametrize(("state", "message"), WRONG)
@pytest.mark.parametrize("place", ["suite", "case"])
def test_mistakes_are_placed(tmp_path: Path, state: str, message: str, place: str) -> None:
    before, inside = (f"{state}\n", "") if place == "suite" else ("", f"  {state}\n")
    text = HEAD + f"{before}cases:\n{case(ADMITTED, inside)}"
    (tmp_path / "suite.yaml").write_text(text)
    assert yaml.safe_load(text)
    output = CliRunner().invoke(policyd, ["lint", str(tmp_path)]).output
    assert message in output


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), ("- a\n", "expected objects"), ("{a: b}", "no apiVersion or kind")],
)
def test_a_broken_file_of_params_fails_its_case(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "more.yaml").write_text(content)
    status, output = run(tmp_path, f"cases:\n{case(ADMITTED, '  paramsFile: more.yaml' + chr(10))}")
    assert status == 1
    assert message in output
