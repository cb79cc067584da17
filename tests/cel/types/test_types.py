"""Static types: values that cannot be changed."""

import pytest

from policyd.cel.types.declarations import TypeVariables, parse_signature
from policyd.cel.types.types import DYN, INT, STRING, Type, list_of, map_of, shared_type


def test_types_are_equal_by_name_and_parameters() -> None:
    assert list_of(INT) == Type("list", (INT,))
    assert hash(list_of(INT)) == hash(Type("list", (INT,)))
    assert list_of(INT) != list_of(DYN)
    assert list_of(INT) != "list(int)"
    assert repr(list_of(INT)) == "Type(name='list', params=(Type(name='int', params=()),))"


def test_types_are_shared_and_equal_even_when_there_are_many() -> None:
    assert list_of(INT) is list_of(INT)
    many = [shared_type(f"Object.field{number}") for number in range(2_000)]
    again = [shared_type(f"Object.field{number}") for number in range(2_000)]
    assert many == again
    assert len(set(many)) == 2_000


@pytest.mark.parametrize("field", ["name", "params", "kind", "size"])
def test_types_cannot_be_changed(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(list_of(INT), field, None)


@pytest.mark.parametrize(
    ("t", "size", "parametric"),
    [
        (INT, 1, False),
        (Type("A"), 1, True),
        (map_of(STRING, list_of(INT)), 4, False),
        (map_of(STRING, list_of(Type("_var3"))), 4, True),
    ],
)
def test_names_and_parameters_are_counted(t: Type, size: int, parametric: bool) -> None:
    assert (t.size, t.parametric) == (size, parametric)


@pytest.mark.parametrize("skipped", [0, 1, 62, 63, 64, 65, 200])
def test_type_parameters_are_numbered_in_order(skipped: int) -> None:
    overload = parse_signature("map(A, B).get(A) -> B", "get")
    variables = TypeVariables()
    for _ in range(skipped):
        variables.fresh()
    for start in (skipped, skipped + 2):
        a, b = Type(f"_var{start}"), Type(f"_var{start + 1}")
        assert variables.instantiate(overload) == ((map_of(a, b), a), b)
    variables.skip(overload)
    assert variables.fresh() == Type(f"_var{skipped + 6}")
