"""Mistakes in expressions with one certain correction, after which the expression compiles."""

import pytest

from policyd.policy.compile.compiler import compile_sources
from policyd.policy.lint.fixes.editing import corrected
from policyd.policy.source.loader import load_text
from tests.builders.policies import overlay, policy
from tests.builders.policy_text import POLICY_OF_PODS
from tests.policy_sets import loaded

HEAD = f"""{POLICY_OF_PODS}  validations:
  - message: m
    expression: |-
      %s
"""
NAME = "object.metadata.name"
ALL = "object.spec.containers"

RIGHT = [
    (f"{NAME}.startWith('a')", f"{NAME}.startsWith('a')"),
    (f"{NAME}.startswith ('a')", f"{NAME}.startsWith ('a')"),
    (f"{NAME}.hasSuffix('a')", f"{NAME}.endsWith('a')"),
    (f"{NAME}.contians('a')", f"{NAME}.contains('a')"),
    (f"{NAME}.toLower() == 'a'", f"{NAME}.lowerAscii() == 'a'"),
    (f"Size({ALL}) > 1", f"size({ALL}) > 1"),
    (f"{ALL}.any(c, c.image.startwith('a'))", f"{ALL}.exists(c, c.image.startsWith('a'))"),
    (f"{ALL}.every(c, c.image == 'a')", f"{ALL}.all(c, c.image == 'a')"),
    (f"{NAME} === 'a'", f"{NAME} == 'a'"),
    (f"{NAME} !== 'a'", f"{NAME} != 'a'"),
    (f"{NAME} <> 'a'", f"{NAME} != 'a'"),
    (f"{NAME} = 'a'", f"{NAME} == 'a'"),
    (f"size({NAME}) =< 5", f"size({NAME}) <= 5"),
    (f"size({NAME}) ≥ 5", f"size({NAME}) >= 5"),
    (f"size({NAME}) => 5", f"size({NAME}) >= 5"),
    (f"{NAME} == 'a' and true AND true", f"{NAME} == 'a' && true && true"),
    (f"{NAME} is 'a' or false", f"{NAME} == 'a' || false"),
    (
        f"{NAME} === 'a' and {NAME} === 'b' or\n      {NAME}.startWith('é') === true",
        f"{NAME} == 'a' && {NAME} == 'b' ||\n      {NAME}.startsWith('é') == true",
    ),
]


@pytest.mark.parametrize(("written", "right"), RIGHT)
def test_a_mistake_with_one_correction(written: str, right: str) -> None:
    text = HEAD % written
    for _ in range(5):
        problems = compile_sources(load_text(text, "t.yaml")).problems
        text = corrected("t.yaml", text, problems).text
    assert text == HEAD % right
    assert compile_sources(load_text(text)).problems == ()


@pytest.mark.parametrize(
    "written",
    [
        f"startsWith({NAME}, 'a')",  # of the wrong form
        f"{NAME}.glob('a*')",  # no regular expression
        f"{NAME}.startWith(1)",  # does not compile afterwards either
        f"{NAME} === foo",
        f"{NAME} = 'a' ? 1 : 2",
        f"{NAME}.foo('a')",
        f"{NAME}.trimStart() == 'a'",  # trim() is more
        f"not {NAME} == 'a'",  # binds otherwise
        f"{NAME} =~ 'a'",
        "object.spec.x & 18 == 0",  # of bits, or &&
        "object.spec.x | object.spec.y",
        "object.spec.x => object.spec.y == 1",  # an implication, or >=
    ],
)
def test_what_has_several_corrections_or_others_too(written: str) -> None:
    text = HEAD % written
    problems = compile_sources(load_text(text, "t.yaml")).problems
    assert problems
    assert [each.fix for each in problems] == [None] * len(problems)


def test_places_in_strings_of_several_expressions() -> None:
    tree = {"metadata": {"annotations": {"a": "x ${object.metadata.name.toLower()} ${a.b}"}}}
    found = compile_sources(loaded(policy("p", mutations=[overlay(tree)]))).problems
    assert [each.fix is not None for each in found] == [True, False]
