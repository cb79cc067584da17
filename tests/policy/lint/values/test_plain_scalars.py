"""YAML without quotes that Kubernetes reads as booleans or other numbers."""

import re

import pytest

from policyd.errors import Fix, Problem
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.lint.all import in_documents, in_policies
from policyd.policy.lint.fixes.editing import corrected
from policyd.policy.lint.patterns import misfitting
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.plain_scalars import unquoted
from policyd.policy.source.loader import load_text
from tests.builders.policy_text import POLICY_OF_PODS

HEAD = POLICY_OF_PODS
OVERLAY = "  mutations: [{patchType: Overlay, overlay: %s}]\n"
PATTERN = "  validations: [{message: m, pattern: %s}]\n"
SOUND = "  validations: [{message: m, expression: 'true'}]\n"
PARAMS = f"{SOUND}  params: %s\n"
LABELS = (
    "  validations: []\n---\n{apiVersion: x.io/v1, kind: Thing, metadata: {name: x, labels: %s}}\n"
)
DATA = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: %s}\n"

# What follows the head, the scalar, its meaning, and whether a string is certain to be meant.
FOUND = [
    (PARAMS % "{on: 1}", "on", "true", True),
    (PARAMS % "{a: {y: 1}}", "y", "true", True),
    (PARAMS % "{1.20: 1}", "1.20", "1.2", True),
    (PARAMS % "{a: yes}", "yes", "true", False),
    (PARAMS % '{a: ["on", off]}', "off", "false", False),
    (PARAMS % "{a: 1.20}", "1.20", "1.2", False),
    (PARAMS % "{a: 0644}", "0644", "420", False),
    (PATTERN % "{metadata: {labels: {a: yes}}}", "yes", "true", True),
    (PATTERN % "{metadata: {labels: {=(a): 1.20}}}", "1.20", "1.2", True),
    (PATTERN % "{spec: {containers: [{env: [{name: a, value: n}]}]}}", "n", "false", True),
    (PATTERN % "{spec: {=(nodeSelector): {a: 1e3}}}", "1e3", "1000", True),
    (
        "  validations: [{message: m, anyPattern: [{metadata: {labels: {a: yes}}}]}]\n",
        "yes",
        "true",
        True,
    ),
    (OVERLAY % "{metadata: {annotations: {on: 'x'}}}", "on", "true", True),
    (OVERLAY % "{metadata: {annotations: {+(a): 1.20}}}", "1.20", "1.2", True),
    (DATA % "{a: Yes}", "Yes", "true", True),
    (DATA % "{a: 1_000}", "1_000", "1000", True),
    (DATA % "{n: 'x'}", "n", "false", True),
    (DATA % "{a: true}", "true", "a boolean, but the field holds strings", True),
    (DATA % "{a: 1}", "1", "a number, but the field holds strings", True),
    (LABELS % "{a: False}", "False", "a boolean, but the field holds strings", True),
    (LABELS % "{a: yes}", "yes", "true", True),
]
RIGHT = [
    PARAMS % "{a: true, b: False, c: 1.5, d: 10, e: 0.50, f: 12:30, g: 1e3, h: ~}",
    PARAMS % '{"on": "yes", b: \'1.20\'}',
    PARAMS % "{a: yesterday, b: north, c: 1.20.0, d: v1.20}",
    PATTERN % "{spec: {hostNetwork: no}}",  # a boolean of the schema
    "  validations: [{message: m, anyPattern: [{spec: {hostNetwork: no}}, {spec: {hostPID: no}}]}]\n",
    PATTERN % "{spec: {=(volumes): [{=(configMap): {=(defaultMode): 0644}}]}}",
    OVERLAY % "{spec: {hostNetwork: off}}",
    DATA % "{a: 'y', b: text, c: null, d: }",
    LABELS % "{a: 'y', b: text}",
    "---\n{apiVersion: example.com/v1, kind: Gadget, metadata: {name: x}, spec: {open: yes}}\n",
]


@pytest.mark.parametrize(("rest", "text", "meaning", "certain"), FOUND)
def test_a_scalar_that_is_read_as_something_else(
    rest: str, text: str, meaning: str, certain: bool
) -> None:
    (found,) = found_in(HEAD + rest)
    assert (found.rule, found.severity) == ("unquoted-value", "advice")
    assert found.message == f"YAML reads {text} as {meaning}"
    line = (HEAD + rest).splitlines()[found.line - 1]
    assert line[found.column - 1 :].startswith(text)
    assert f'write "{text}", in quotes' in found.hint
    assert found.fix == (Fix(text, text) if certain else None)


@pytest.mark.parametrize("rest", RIGHT)
def test_scalars_that_are_what_they_look_like(rest: str) -> None:
    assert found_in(HEAD + rest) == []


@pytest.mark.parametrize(
    ("text", "rule", "written"),
    [
        (HEAD.replace("name: own", "name: On") + SOUND, "invalid", "On"),
        (HEAD.replace("own", "own, labels: {a: 1}") + SOUND, "invalid", "1"),
        (HEAD + OVERLAY % "{metadata: {labels: {a: true}}}", "invalid", "true"),
        (HEAD + OVERLAY % "{metadata: {labels: {+(a): 1}}}", "invalid", "1"),
        (HEAD + OVERLAY % "{spec: {containers: [{name: a, args: [-v, 1.20]}]}}", "invalid", "1.20"),
        (HEAD + PATTERN % "{metadata: {labels: {a: true}}}", "pattern-type", "true"),
        (HEAD + PATTERN % "{metadata: {=(annotations): {a: Off}}}", "pattern-type", "Off"),
    ],
)
def test_a_boolean_or_number_in_place_of_a_string_can_be_corrected(
    text: str, rule: str, written: str
) -> None:
    sources = load_text(text, "t.yaml")
    found = [*compile_sources(sources).problems, *in_policies(LintRun(sources), misfitting)]
    (problem,) = [each for each in found if each.rule == rule]
    assert problem.fix == Fix(written, written)
    assert "in quotes" in problem.hint
    assert corrected("t.yaml", text, [problem]).text == re.sub(
        rf": {written}\b|, {re.escape(written)}\b", lambda old: f'{old[0][:2]}"{written}"', text
    )


def found_in(text: str) -> list[Problem]:
    sources = load_text(text, "t.yaml")
    assert not any(problem.rule == "syntax" for problem in sources.problems)
    return list(in_documents(LintRun(sources), unquoted))
