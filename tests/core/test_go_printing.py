"""Values in error messages, as Go's fmt prints them. The texts are the output of a Go program."""

import pytest

from policyd._core.go.printing import plain, syntax


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (100000.0, "100000"),
        (999999.5, "999999.5"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (9007199254740992.0, "9.007199254740992e+15"),
        (5.947298495510411e20, "5.947298495510411e+20"),
        (1e21, "1e+21"),
        (0.0001234, "0.0001234"),
        (0.00001, "1e-05"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert plain(value) == text
    assert syntax(value) == text


def test_doubles_in_containers() -> None:
    assert plain({"a": [12345678.0]}) == "map[a:[1.2345678e+07]]"
