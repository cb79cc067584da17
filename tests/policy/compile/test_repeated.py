"""Expressions with the same text are checked once only where everything else is the same."""

import json
from pathlib import Path

import pytest

from policyd.errors import PolicyError
from policyd.json_types import JSON
from policyd.policy.compile import compiler
from policyd.policy.source import loader

RULE = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def write(folder: Path, name: str, variable: str, expression: str, params: JSON = None) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "variables": [{"name": "x", "expression": variable}],
        "validations": [{"expression": expression}],
        "params": params,
    }
    document = {"apiVersion": "policyd.dev/v1", "kind": "Policy", "metadata": {"name": name}}
    (folder / f"{name}.json").write_text(json.dumps({**document, "spec": spec}))


def wrong(folder: Path) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        compiler.compile_strict(loader.load([folder]))
    return [Path(problem.file).name for problem in caught.value.problems]


def test_a_variable_of_another_type_makes_another_expression(tmp_path: Path) -> None:
    write(tmp_path, "a", "1", "variables.x == 1")
    write(tmp_path, "b", "'1'", "variables.x == 1")
    write(tmp_path, "c", "1", "variables.x == 1")
    assert wrong(tmp_path) == ["b.json"]


def test_params_are_known_only_where_there_are_some(tmp_path: Path) -> None:
    write(tmp_path, "a", "1", "params.most == 1", {"most": 1})
    write(tmp_path, "b", "1", "params.most == 1")
    assert wrong(tmp_path) == ["b.json"]


def test_policies_with_equal_rules_share_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, name, "1", "variables.x == 1")
    one, other = compiler.compile_strict(loader.load([tmp_path])).policies
    assert one.rules is other.rules
