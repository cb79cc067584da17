"""A document with thousands of mistakes is read and reported in linear time, whatever they are: who may
edit a ConfigMap of policies must not stop the server.
"""

import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from policyd.policy.compile.compiler import compile_sources
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("collected")
FEW, MANY = 250, 2000
GROWTH = 3 * MANY / FEW  # so many times as long may it take; if it were quadratic, 64 times
RULE = '{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}'
HEAD = f"""apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: p}}
spec:
  matchConstraints: {{resourceRules: [{RULE}]}}
"""
VALID = "  validations: [{expression: 'true'}]\n"


def lines(form: str, count: int) -> str:
    """The form once for each number."""
    return "".join(form.replace("NUMBER", str(number)) for number in range(count))


def overlay(form: str, count: int) -> str:
    head = "  mutations:\n  - patchType: Overlay\n    overlay:\n"
    return HEAD + head + "      metadata:\n        annotations:\n" + lines(form, count)


def one_string(count: int) -> str:
    text = " ".join(["${object.}"] * count)
    value = f"{{metadata: {{annotations: {{a: '{text}'}}}}}}"
    return f"{HEAD}  mutations:\n  - {{patchType: Overlay, overlay: {value}}}\n"


def one_line(count: int) -> str:
    labels = ", ".join(f"k{number}: 'b d'" for number in range(count))
    return HEAD.replace("{name: p}", f"{{name: p, labels: {{{labels}}}}}") + VALID


def rules(count: int) -> str:
    wrong = lines("{apiGroups: ['NUMBER'], operations: [NOPE], resources: [pods]}, ", count)
    return HEAD.replace("resourceRules: [", f"resourceRules: [{wrong}") + VALID


def json_text(count: int) -> str:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.", "nope": each} for each in range(count)],
    }
    kind = {"apiVersion": "policyd.dev/v1", "kind": "Policy", "metadata": {"name": "p"}}
    return json.dumps({**kind, "spec": spec})


def chained(count: int) -> str:
    rest = lines("  - {name: vNUMBER, expression: variables.v}\n", count)
    return f"{HEAD}  variables:\n  - {{name: v, expression: '1'}}\n{rest}{VALID}"


DOCUMENTS: dict[str, Callable[[int], str]] = {
    "unknown fields": lambda count: HEAD + lines("  fNUMBER: 1\n", count) + VALID,
    "expressions": lambda count: (
        f"{HEAD}  validations:\n" + lines("  - expression: object. || NUMBER\n", count)
    ),
    "tags": lambda count: HEAD + "  validations:\n" + lines("  - expression: !foo x\n", count),
    "conditions of one name": lambda count: (
        f"{HEAD}  matchConditions:\n" + lines("  - {name: c, expression: object.}\n", count) + VALID
    ),
    "values of an overlay": lambda count: overlay("          kNUMBER: ${object.}\n", count),
    "fields of an overlay": lambda count: (
        overlay("", 0).replace("metadata:\n        annotations:", "spec:")
        + lines("        kNUMBER: 1\n", count)
    ),
    "one string": one_string,
    "one line": one_line,
    "rules in one line": rules,
    "JSON": json_text,
    "variables that see those before": chained,
}


def compiled(text: str, folder: Path) -> CompiledPolicySet:
    (folder / "policy.yaml").write_text(text)
    return compile_sources(loader.load([folder / "policy.yaml"]))


@pytest.mark.parametrize("name", sampled(DOCUMENTS))
def test_the_time_is_linear(name: str, tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        begin = process_time()
        compiled(DOCUMENTS[name](count), tmp_path)
        return process_time() - begin

    few = min(seconds(FEW) for _ in range(3))
    assert any(seconds(MANY) < GROWTH * few for _ in range(3))


def test_all_mistakes_are_reported_with_their_places(tmp_path: Path) -> None:
    problems = compiled(DOCUMENTS["expressions"](MANY), tmp_path).problems
    assert [problem.line for problem in problems] == list(range(7, 7 + MANY))


def test_a_string_of_too_many_mistakes_says_so(tmp_path: Path) -> None:
    *first, last = compiled(one_string(MANY), tmp_path).problems
    assert len(first) == 100
    assert last.message == "more than 100 errors: the rest of the string is not checked"
    width = len("${object.} ")
    assert last.column - first[0].column == 100 * width - len("object")
    whole = compiled(one_string(100), tmp_path).problems
    assert [problem.column for problem in whole] == [problem.column for problem in first]
