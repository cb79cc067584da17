"""Imported expressions are short, say nothing twice, and mean what they meant before."""

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.unparse import unparse
from policyd.importers.expressions import readable as wrapping
from policyd.importers.expressions.readable import readable, wrapped
from policyd.json_types import JSONObject
from policyd.versions import NEWEST

CONTAINERS = "object.spec.?initContainers.orValue([]) + object.spec.containers"
LABEL = "object.metadata.?labels[?'app.kubernetes.io/name'].orValue('none')"
PATTERN = r"r'^[a-z0-9-]+[.]example[.]com/.*$'"


def validations(*expressions: str, **spec: list[JSONObject]) -> JSONObject:
    """The ``spec`` that validations with these expressions become."""
    listed = [{"expression": each} for each in expressions]
    return readable({**spec, "validations": listed})


def texts(spec: JSONObject, field: str = "validations") -> list[str]:
    return [each["expression"] for each in spec[field]]


def test_what_two_expressions_repeat_becomes_a_variable() -> None:
    found = validations(f"({CONTAINERS}).all(c, has(c.a))", f"size({CONTAINERS}) < 9")
    assert found["variables"] == [{"name": "allContainers", "expression": CONTAINERS}]
    assert texts(found) == [
        "variables.allContainers.all(c, has(c.a))",
        "size(variables.allContainers) < 9",
    ]


def test_a_variable_that_holds_it_is_used() -> None:
    given = [{"name": "all", "expression": CONTAINERS}, {"name": "b", "expression": LABEL}]
    found = validations(f"({CONTAINERS}).all(c, has(c.a))", variables=given)
    assert found["variables"] == given
    assert texts(found) == ["variables.all.all(c, has(c.a))"]


def test_a_variable_comes_before_those_that_read_it() -> None:
    given = [{"name": "n", "expression": f"size({CONTAINERS})"}]
    found = validations(f"variables.n < 9 && size({CONTAINERS}) > 0", variables=given)
    # The longest part that both have.
    assert texts(found) == ["variables.n < 9 && variables.n > 0"]
    found = validations(f"({CONTAINERS}).all(c, has(c.a))", variables=given)
    assert [each["name"] for each in found["variables"]] == ["allContainers", "n"]


def test_names_are_free_and_tell_the_field() -> None:
    given = [{"name": "labels", "expression": "1"}]
    found = validations(f"{LABEL} != 'a'", f"{LABEL} != 'b'", variables=given)
    assert [each["name"] for each in found["variables"]] == ["labels", "labels2"]


def test_reads_are_shared() -> None:
    read = "reads.services.filter(s, s.?spec.?type.orValue('') == 'NodePort')"
    found = validations(f"size({read}) < 9", f"{read}.all(s, has(s.a))")
    assert texts(found, "variables") == [read]


def test_a_pattern_of_items_is_shared() -> None:
    each = f"object.spec.NAMES.all(c, c.image.matches({PATTERN}))"
    found = validations(each.replace("NAMES", "containers"), each.replace("NAMES", "volumes"))
    assert texts(found)[1] == "object.spec.volumes.all(c, c.image.matches(variables.pattern))"
    assert texts(found, "variables") == [PATTERN]


@pytest.mark.parametrize(
    "expressions",
    [
        ("object.spec.a == 1", "object.spec.a == 1 && true"),  # short
        (f"{LABEL}.size() < 9",),  # once
        ("object.spec.template.spec.containers == 1", "object.spec.template.spec.containers == 2"),
        tuple(f"object.x.all(c, c.?one.?two.?three.?four.orValue([]).size() < {n})" for n in "12"),
    ],
)
def test_what_stays_in_its_place(expressions: tuple[str, ...]) -> None:
    assert texts(validations(*expressions)) == [*expressions]
    assert "variables" not in validations(*expressions)


def test_conditions_of_the_match_read_no_variables() -> None:
    condition = {"name": "a", "expression": f"size({CONTAINERS}) < 9"}
    found = readable({"matchConditions": [condition, {**condition, "name": "b"}]})
    assert found == {"matchConditions": [condition, {**condition, "name": "b"}]}


def test_what_an_author_wrote_is_only_broken() -> None:
    spec = {"validations": [{"expression": f"{LABEL} != 'a' && {LABEL} != 'b'"}]}
    found = readable(spec, authored=True)
    assert texts(found) == [f"{LABEL} != 'a'\n&& {LABEL} != 'b'"]
    assert "variables" not in found


def test_patches_are_shared_too() -> None:
    patch = f"({CONTAINERS}).map(c, JSONPatch{{op: 'remove', path: '/spec/' + c.name}})"
    forms = ({"jsonPatch": {"expression": patch}} for _ in range(2))
    found = readable({"mutations": [{"patchType": "JSONPatch", **each} for each in forms]})
    assert texts(found, "variables") == [CONTAINERS]
    expression = found["mutations"][0]["jsonPatch"]["expression"]
    assert expression.startswith("variables.allContainers.map(c,")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a && b", ["a && b"]),
        (
            f"({CONTAINERS} + object.spec.?ephemeralContainers.orValue([])).exists(c, c.a == 1)",
            [
                "(",
                f"  {CONTAINERS}",
                "  + object.spec.?ephemeralContainers.orValue([])",
                ").exists(c, c.a == 1)",
            ],
        ),
        (
            f"{LABEL} == 'a' ? object.spec.containers[?0] : {{'b': [1, 2], 'c': 3}}",
            [
                f"{LABEL} == 'a'",
                "  ? object.spec.containers[?0]",
                "  : {'b': [1, 2], 'c': 3}",
            ],
        ),
        (
            "object.spec.first.second.third.exists(key, value, "
            "value.first.second.third == 'a long string of letters' || key == 'another one')",
            [
                "object.spec.first.second.third.exists(key, value,",
                "  value.first.second.third == 'a long string of letters' || key == 'another one'",
                ")",
            ],
        ),
        (f"'{'x' * 120}'", [f"'{'x' * 120}'"]),
    ],
)
def test_long_lines_are_broken(text: str, lines: list[str]) -> None:
    assert wrapped(text).split("\n") == lines


def test_the_example() -> None:
    assert doctest.testmod(wrapping).failed == 0


_LEAVES = st.sampled_from(
    [
        "object.spec.a",
        "'a b'",
        "has(object.x)",
        "-1",
        "[1, 'x']",
        "{'a': 1}",
        "object.?b.orValue(2)",
    ]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["&&", "||", "==", "in", "+", "<", "/"])
    return st.one_of(
        st.tuples(inner, signs, inner).map(lambda it: f"({it[0]} {it[1]} {it[2]})"),
        st.tuples(inner, signs, inner, signs, inner).map(" ".join),
        st.tuples(inner, inner, inner).map(lambda it: "({} ? {} : {})".format(*it)),
        inner.map(lambda it: f"object.list.all(c, {it})"),
        inner.map(lambda it: f"!({it})"),
        inner.map(lambda it: f"JSONPatch{{op: 'add', value: {it}}}"),
        st.tuples(inner, inner).map(lambda it: f"({it[0]})[?{it[1]}].orValue(c.?d)"),
    )


@given(st.recursive(_LEAVES, _larger, max_leaves=30))
def test_an_expression_in_lines_is_the_same(text: str) -> None:
    assert unparse(parse(wrapped(text), NEWEST)) == unparse(parse(text, NEWEST))


@given(st.lists(st.recursive(_LEAVES, _larger, max_leaves=12), min_size=1, max_size=3))
def test_shared_parts_are_the_same(given_texts: list[str]) -> None:
    found = validations(*given_texts)
    held = {each["name"]: f"({each['expression']})" for each in found.get("variables", [])}
    after = texts(found)
    while any("variables." in each for each in after):
        after = [re.sub(r"variables\.(\w+)", lambda it: held[it[1]], each) for each in after]
    before = [unparse(parse(each, NEWEST)) for each in given_texts]
    assert [unparse(parse(each, NEWEST)) for each in after] == before
