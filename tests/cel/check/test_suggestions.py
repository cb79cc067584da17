"""Names that errors of Kubernetes 1.38 suggest, as its CEL library answers."""

import pytest

from policyd._core.go.strings import closest
from policyd.cel.check.suggestions import nearest
from policyd.cel.env import Environment
from policyd.errors import CelTypeError
from policyd.versions import KubernetesVersion

ERRORS = [
    ("math.abs(-1) == 1", "'math' (did you mean 'path'?)"),
    ("cel.bind(x, 1, x == 1)", "'bind' (did you mean 'find'?)"),
    ("objct.spec", "'objct' (did you mean 'object'?)"),
    ("inr(1)", "'inr' (did you mean 'in' or 'int'?)"),
    ("lisst.range(3)", "'lisst.range' (did you mean 'lists.range'?)"),
    ("optional.off(1)", "'optional.off' (did you mean 'optional.of'?)"),
    ("[1].all(x, format.uri)", "'format.uri'"),  # declared, but no variable
    ("transform(1)", "'transform' (did you mean 'transformMap'?)"),
    ("qqqqqqqq", "'qqqqqqqq'"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_errors_of_1_38_suggest_declared_names(text: str, message: str) -> None:
    with pytest.raises(CelTypeError) as caught:
        Environment.kubernetes(KubernetesVersion(1, 38)).compile(text)
    assert f"undeclared reference to {message}\n" in caught.value.text


def test_older_versions_suggest_nothing() -> None:
    with pytest.raises(CelTypeError) as caught:
        Environment.kubernetes(KubernetesVersion(1, 37)).compile("objct.spec")
    assert "did you mean" not in str(caught.value).splitlines()[0]


def test_at_most_two_names_are_found() -> None:
    assert nearest("ab", ["abc", "abd", "abe", "a.b"]) == ["abc", "abd"]
    assert nearest("a", ["b.c", "long"]) == []
    assert nearest("x.y", ["x.y", "x.z"]) == ["x.y"]


DISTANCES = [("", "abc", 3), ("size", "szie", 1), ("size", "sizes", 1), ("kitten", "sitting", 3)]


@pytest.mark.parametrize(("a", "b", "distance"), DISTANCES)
def test_distances(a: str, b: str, distance: int) -> None:
    assert closest(a, [b], distance) == [b]
    assert closest(a, [b], distance - 1) == []


def test_long_names_are_not_compared() -> None:
    assert closest("a" * 100, ["b" * 99], (1 << 30) - 1) == []
    assert closest("a" * 30, ["b" * 20], 10) == ["b" * 20]
