"""``--authorizer FILE``: rules in a file answer the checks of ``review`` and ``eval``."""

import json
from pathlib import Path
from typing import Any

import click
import orjson
import pytest
from click.testing import CliRunner

from policyd.admission.lookups.authorizer import AuthorizerRule
from policyd.cli.eval.command import command as eval_command
from policyd.cli.review import command as review_command
from policyd.errors import ConfigError, PolicySchemaError
from policyd.policy.source.authorizer_file import load_rules
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy

RULES = """\
- {user: bob, verb: create, group: apps, resource: deployments, reason: bob deploys}
- {groups: [auditors], verb: get, path: /metrics}
"""
MAY_DEPLOY = "authorizer.group('apps').resource('deployments').check('create').allowed()"
POLICY = policy("trusted", CONFIG_MAPS, validations=[demand(MAY_DEPLOY, "only who may deploy")])
DEPLOY = "authorizer.group('apps').resource('deployments').check('create').reason()"
METRICS = "authorizer.path('/metrics').check('get').allowed()"
OWN = "authorizer.requestResource.check('create').allowed()"


@pytest.fixture
def rules(tmp_path: Path) -> str:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return str(file)


def run(command: click.Command, *arguments: str, given: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(command, arguments, input=given)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("--user", "bob", DEPLOY), '"bob deploys"\n'),
        ((DEPLOY,), '""\n'),
        (("--group", "auditors", METRICS), "true\n"),
        (("--user", "bob", METRICS), "false\n"),
        (('--var=request={"userInfo": {"username": "bob"}}', DEPLOY), '"bob deploys"\n'),
        (('--var=request={"userInfo": {"groups": ["auditors"]}}', "--user=x", METRICS), "true\n"),
        (
            ('--var=request={"resource": {"group": "apps", "resource": "deployments"}}', OWN),
            "false\n",
        ),
        (
            (
                '--var=request={"requestResource": {"group": "apps", "resource": "deployments"}}',
                "--user=bob",
                OWN,
            ),
            "true\n",
        ),
    ],
)
def test_eval_asks_the_rules(rules: str, arguments: tuple[str, ...], value: str) -> None:
    assert run(eval_command, "--authorizer", rules, *arguments) == (0, value)


def test_each_line_has_its_own_user(rules: str) -> None:
    lines = "".join(
        json.dumps({"variables": {"request": {"userInfo": {"username": user}}}}) + "\n"
        for user in ("bob", "eve")
    )
    _, output = run(eval_command, "--jsonl", "--authorizer", rules, DEPLOY, given=lines)
    answers = [orjson.loads(line)["value"] for line in output.splitlines()]
    assert answers == ["bob deploys", ""]


def test_eval_without_rules_says_how_to_give_some() -> None:
    code, output = run(eval_command, DEPLOY)
    assert code == 1
    assert "no such attribute(s): authorizer\n" in output
    assert "\n  hint: set the answers of authorizer checks with" in output
    assert run(eval_command, "--user", "bob", "1")[0] == 2


def reviewed(tmp_path: Path, user: str, *arguments: str) -> dict[str, Any]:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(POLICY))
    review = json.dumps(build_review(config_map(), user=user))
    code, output = run(review_command, "-p", str(file), *arguments, given=review)
    assert code == 0
    response: dict[str, Any] = orjson.loads(output)["response"]
    return response


@pytest.mark.parametrize("form", [(), ("--jsonl",)])
def test_review_asks_the_rules(tmp_path: Path, rules: str, form: tuple[str, ...]) -> None:
    assert reviewed(tmp_path, "bob", "--authorizer", rules, *form)["allowed"]
    denied = reviewed(tmp_path, "eve", "--authorizer", rules, *form)
    assert "only who may deploy" in denied["status"]["message"]
    without = reviewed(tmp_path, "bob", *form)
    assert "there is no cluster to ask whether 'bob' may" in without["status"]["message"]


def test_rules_may_stand_below_the_name_they_have_in_a_suite() -> None:
    alone = load_rules(RULES.encode(), "r")
    below = load_rules(b"authorizer:\n" + RULES.encode(), "r")
    assert alone == below
    assert alone[1] == AuthorizerRule(groups=("auditors",), verb="get", path="/metrics")
    assert load_rules(b"[]", "r") == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {user: a}\n- {usr: b}", 'r:2:4: [1].usr: unknown field "usr"'),
        ("- {usr: b}", "hint: did you mean user?"),
        ("authorizer:\n- {verb: 3}", "r:2:10: authorizer[0].verb: expected a string, got 3"),
        ("- {path: /x, resource: r}", "path excludes group, resource"),
        ("rules: []", "hint: known fields: authorizer"),
        ("3", "r:1:1: expected a list of rules"),
        ("", "hint: write one rule per list item: - {user: bob"),
        ("- {}\n---\n- {}", "got 2 documents"),
        ("- {", "did not find expected node content"),
    ],
)
def test_a_broken_file_is_told_with_its_place_and_remedy(text: str, told: str) -> None:
    with pytest.raises(PolicySchemaError) as error:
        load_rules(text.encode(), "r")
    assert told in str(error.value)


def test_a_file_that_is_not_there() -> None:
    result = CliRunner().invoke(eval_command, ["--authorizer", "/nowhere", "1"])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception) == "--authorizer /nowhere: No such file or directory"
