"""Fields of a variable that holds an optional."""

import pytest

from policyd._core.values.errors import CelError
from tests.core.lib.evaluate import evaluate

NO_FIELD = CelError("unsupported index type 'string' in list")


@pytest.mark.parametrize("path", ["x.a", "x.?a", "x.?a.b", "has(x.a)", "x.?a.orValue(1)"])
def test_a_list_in_an_optional_has_no_fields(path: str) -> None:
    assert evaluate(f"[optional.of(dyn([1]))].map(x, {path})") == NO_FIELD


@pytest.mark.parametrize(
    ("path", "want"),
    [("x.?a.orValue(0)", 1), ("x.?b.orValue(0)", 0), ("has(x.a)", True), ("has(x.b)", False)],
)
def test_fields_of_a_map_in_an_optional(path: str, want: object) -> None:
    assert evaluate(f"[optional.of({{'a': 1}})].map(x, {path})") == [want]
