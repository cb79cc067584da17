"""Inline params in expressions: the author's source stays, only ``params`` is replaced."""

import pytest

from policyd.export.expressions.occurrences import Untranslatable
from policyd.export.expressions.rewriting import InlineParams, free_name
from policyd.versions import NEWEST

PARAMS = InlineParams.of({"a": {"b": [1]}, "x": "y"}, [], NEWEST)
WHOLE = "dyn({'a': dyn({'b': [1]}), 'x': dyn('y')})"


@pytest.mark.parametrize(
    ("text", "with_variable", "without"),
    [
        ("params.x == 'y'", "variables.params.x == 'y'", "dyn('y') == 'y'"),
        (
            "params.a.b.exists(c, c == params.x)",
            "variables.params.a.b.exists(c, c == variables.params.x)",
            "dyn([1]).exists(c, c == dyn('y'))",
        ),
        ("has(params.a.b)", "has(variables.params.a.b)", "has(dyn({'b': [1]}).b)"),
        ("params.gone", "variables.params.gone", f"{WHOLE}.gone"),
        ("params.?a.?b", "variables.params.?a.?b", f"{WHOLE}.?a.?b"),
        ("'a' in params", "'a' in variables.params", f"'a' in {WHOLE}"),
        ("params  .a // params\n.b", "variables.params  .a // params\n.b", "dyn({'b': [1]}) // params\n.b"),
        ("(true ? params : object).a", "(true ? variables.params : object).a", f"(true ? {WHOLE} : object).a"),
        ("'params' == \"params\"", "'params' == \"params\"", "'params' == \"params\""),
        ("object.params", "object.params", "object.params"),
        ("[1].map(params, params + 1)", "[1].map(params, params + 1)", "[1].map(params, params + 1)"),
        ("params.a.map(params, params)", "variables.params.a.map(params, params)", "dyn({'b': [1]}).map(params, params)"),
        ("[1].map(variables, params.x)", "[1].map(variables, dyn('y'))", "[1].map(variables, dyn('y'))"),
        ("params.?x.optMap(v, v)", "variables.params.?x.optMap(v, v)", f"{WHOLE}.?x.optMap(v, v)"),
    ],
)  # fmt: skip
def test_params_are_replaced(text: str, with_variable: str, without: str) -> None:
    assert PARAMS.with_variable(text) == with_variable
    assert PARAMS.without_variables(text) == without


def test_the_variable_gets_a_free_name() -> None:
    params = InlineParams.of({"a": 1}, ["params", "params2"], NEWEST)
    assert params.definition == {"name": "params3", "expression": "dyn({'a': 1})"}
    assert params.with_variable("params.a + variables.params") == (
        "variables.params3.a + variables.params"
    )
    assert free_name("a", ["b"]) == "a"


def test_a_leading_dot_is_refused() -> None:
    with pytest.raises(Untranslatable, match=r"\.params has a leading dot"):
        PARAMS.with_variable(".params.a")
