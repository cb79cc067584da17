"""JSON values as CEL: they evaluate to themselves, as the type that a field of an object has."""

from hypothesis import given
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.export.expressions.literals import dyn, literal, string_literal
from policyd.json_types import JSON

_ENVIRONMENT = Environment.kubernetes()
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8")),
)
values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4),
    ),
    max_leaves=8,
)


@given(values)
def test_a_literal_evaluates_to_its_value(value: JSON) -> None:
    program = _ENVIRONMENT.compile(dyn(value))
    assert repr(program.evaluate({})) == repr(value)


def test_mixed_aggregates_are_accepted_by_kubernetes() -> None:
    value = {"a": [1, "x", 2.5], "b": [{"c": 1}, {}], "d": None}
    Environment.admission().check(dyn(value))  # or CelTypeError


def test_integers_outside_int64_are_doubles_as_in_an_object() -> None:
    assert literal(2**63) == "9.223372036854776e+18"


def test_strings_stay_readable() -> None:
    assert string_literal("it is") == "'it is'"
    assert string_literal("it's") == '"it\'s"'
    assert string_literal("\u2028") == "'\\u2028'"
