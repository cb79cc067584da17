"""How deep the values of an expression nest is bounded when it is planned."""

from functools import partial

import pytest

from policyd.cel.env import Environment
from policyd.cel.plan.nesting import MAX_NESTING, added_levels
from policyd.errors import CelSyntaxError, CelTypeError, PolicyError
from tests.builders.policies import policy
from tests.cel.variables import composed
from tests.policy_sets import compiled

KUBERNETES = Environment.kubernetes()


@pytest.mark.parametrize(
    ("expression", "levels"),
    [
        ("1", 0),
        ("object", 0),
        ("[object]", 1),
        ("{'a': [object]}", 2),
        ("{'a': [object]}.a[0]", 2),  # at most: indexes are not followed
        ("[[1]].size()", 0),
        ("[[1]] == [[2]]", 0),
        ("true ? [1] : [2]", 1),
        ("optional.of(optional.of(object))", 2),
        ("optional.of(optional.of(object)).hasValue()", 0),
        ("object.?a", 1),
        ("object.map(x, x)", 1),
        ("object.map(x, [x])", 2),
        ("[[object]].map(x, x)", 3),
        ("object.filter(x, [[x]] != [])", 1),
        ("object.transformMap(k, v, {k: v})", 2),
        ("object.?a.optMap(x, [x])", 3),
        ("'a b'.split(' ')", 1),
        ("[[[1]]].flatten(2)", 3),
        ("Object{spec: Object.spec{replicas: 1}}", 2),
        ("google.protobuf.Struct{fields: {'a': google.protobuf.Value{}}}", 3),
    ],
)
def test_levels_are_counted(expression: str, levels: int) -> None:
    assert KUBERNETES.compile(expression).nesting == levels


def test_variables_count_with_their_levels() -> None:
    deep = partial(composed, KUBERNETES, programs={"v": KUBERNETES.compile("[[object]]")})
    assert deep("variables.v").nesting == 2
    assert deep("[variables.v[0]]").nesting == 3
    assert deep("variables.v.map(variables, variables)").nesting == 3
    assert deep("has(variables.v)").nesting == 0


@pytest.mark.parametrize(
    "form",
    [
        "[{}]",
        "{{'a': {}}}",
        "optional.of({})",
        "[1].map(x, {})",
        "{{?'a': optional.of({})}}",
        "dyn({}) == 1 ? [1] : [{}]",
    ],
)
def test_a_chain_of_variables_that_nests_deeper_is_an_error_of_the_policy(form: str) -> None:
    def chain(length: int) -> str:
        variables = [{"name": "v0", "expression": "dyn(object)"}]
        for number in range(1, length):
            value = f"dyn(variables.v{number - 1})"
            variables.append({"name": f"v{number}", "expression": form.format(value, value)})
        try:
            compiled(policy("p", variables=variables, validations=[{"expression": "true"}]))
        except PolicyError as error:
            return str(error).split("\n")[0]
        return ""

    assert chain(150) == ""
    assert "it makes values nested deeper than 500 levels" in chain(MAX_NESTING + 2)


def test_one_expression_is_never_too_deep_in_itself() -> None:
    """The parser's limit of 250 levels is met first."""
    KUBERNETES.compile("[" * 120 + "1" + "]" * 120)
    with pytest.raises(CelSyntaxError, match="recursion"):
        KUBERNETES.compile("[" * 300 + "1" + "]" * 300)


def test_the_functions_whose_results_are_deeper_than_their_arguments() -> None:
    """A function that is added here makes values deeper; all others return no deeper ones."""
    assert {name: levels for name, levels in added_levels().items() if levels} == {
        "_?._": 1,
        "cel.@mapInsert": 1,
        "findAll": 1,
        "format.named": 1,
        "getQuery": 2,
        "lists.range": 1,
        "optional.none": 1,
        "optional.of": 1,
        "optional.ofNonZeroValue": 1,
        "split": 1,
        "validate": 2,
    }


def test_the_error_is_one_of_the_expression() -> None:
    with pytest.raises(CelTypeError, match="nested deeper than 500 levels"):
        deep = KUBERNETES.compile("[1]")
        for _ in range(10):
            deep = composed(KUBERNETES, "[" * 100 + "variables.v" + "]" * 100, {"v": deep})
