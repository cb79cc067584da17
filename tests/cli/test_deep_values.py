"""Objects, policies and sources of every depth get an answer or an error with their place, from each
command. No traceback: nothing of a value but its depth is unusual here.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from policyd.policy.suite.reviews import build_review
from tests.builders.objects import widget_definition
from tests.builders.policies import CONFIG_MAPS, demand, json_patch, policy
from tests.cli.within import within

READABLE, TOO_DEEP = (260, 990), 100_000
MARK = "@"
SHAPES = {"maps": ('{"a": ', "}"), "lists": ("[", "]"), "items": ('{"items": [', "]}")}


def nested(document: Any, depth: int, shape: str) -> str:
    """The JSON of a document with a deep value instead of the mark."""
    first, last = SHAPES[shape]
    times = depth // len(last)
    return json.dumps(document).replace(f'"{MARK}"', first * times + "1" + last * times)


DEEP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": MARK}
SAME = policy(
    "same",
    CONFIG_MAPS,
    variables=[{"name": "all", "expression": "[object, object]"}],
    validations=[
        demand("variables.all[0] == variables.all[1]", "differs"),
        {"expression": "object.data == 1", "messageExpression": "'%s'.format([object.data])"},
        {"pattern": {"data": {"a": {"a": "x?"}}}, "message": "m"},
    ],
    mutations=[json_patch("[JSONPatch{op: 'add', path: '/copy', value: object.data}]")],
)
OBJECTS = {
    "apply": ("apply", "-p", "policy.json", "deep.json"),
    "apply as JSON": ("apply", "-p", "policy.json", "--format", "json", "--diff", "deep.json"),
    "apply --diff": ("apply", "-p", "policy.json", "--diff", "deep.json"),
    "apply --old": ("apply", "-p", "policy.json", "--old", "deep.json", "deep.json"),
    "apply --output-dir": ("apply", "-p", "policy.json", "--output-dir", "out", "deep.json"),
    "explain": ("explain", "-p", "policy.json", "deep.json"),
    "explain as JSON": ("explain", "-p", "policy.json", "--format", "json", "deep.json"),
    "review": ("review", "-p", "policy.json", "--object", "deep.json"),
    "replay": ("replay", "-p", "policy.json", "deep.jsonl"),
    "eval": ("eval", "--cost", "object.data", "deep.json"),
}


def kyverno(**rule: Any) -> dict[str, Any]:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "k"},
        "spec": {"rules": [{"name": "r", "match": match, **rule}]},
    }


def assign(value: Any) -> dict[str, Any]:
    spec = {
        "applyTo": [{"groups": [""], "kinds": ["Pod"], "versions": ["v1"]}],
        "location": "spec.a",
        "parameters": {"assign": {"value": value}},
    }
    kind = {"apiVersion": "mutations.gatekeeper.sh/v1", "kind": "Assign"}
    return {**kind, "metadata": {"name": "g"}, "spec": spec}


def definition() -> dict[str, Any]:
    """A definition whose schema holds the mark where any value may be."""
    found = widget_definition()
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["example"] = MARK
    return found


PARAMS = policy("p", CONFIG_MAPS, params={"x": MARK}, validations=[demand("params.x == 1", "m")])
POLICIES = (("lint",), ("export", "-p"), ("configmap",), ("test",))
SOURCES: tuple[tuple[tuple[str, ...], list[Any]], ...] = (
    *((command, [PARAMS]) for command in POLICIES),
    *((command, [definition(), PARAMS | {"spec": SAME["spec"]}]) for command in POLICIES),
    (("import",), [kyverno(validate={"message": "m", "pattern": {"spec": MARK}})]),
    (("import",), [kyverno(validate={"message": "m", "deny": {"conditions": MARK}})]),
    (("import",), [kyverno(mutate={"patchStrategicMerge": {"spec": MARK}})]),
    (("import",), [assign(MARK)]),
)


def check(*arguments: str, too_deep: bool) -> None:
    done = within(*arguments)
    assert done.returncode in (0, 1, 2)
    if too_deep:
        assert done.returncode, done
        assert re.search("deeper than|depth limit", done.stderr + done.stdout), done


@pytest.mark.parametrize("command", OBJECTS)
def test_objects(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.json").write_text(json.dumps(SAME))
    for depth, shape in ((READABLE[0], "items"), (READABLE[1], "maps"), (TOO_DEEP, "lists")):
        Path("deep.json").write_text(nested(DEEP, depth, shape))
        Path("deep.jsonl").write_text(nested(build_review(DEEP), depth, shape) + "\n")
        check(*OBJECTS[command], too_deep=depth == TOO_DEEP)


@pytest.mark.parametrize(("command", "documents"), SOURCES)
def test_policies(
    command: tuple[str, ...],
    documents: list[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for depth, shape in ((READABLE[0], "items"), (READABLE[1], "maps"), (TOO_DEEP, "lists")):
        text = "\n".join(nested(each, depth, shape) for each in documents)
        Path("policy.json").write_text(text)
        check(*command, "policy.json", too_deep=depth == TOO_DEEP)
