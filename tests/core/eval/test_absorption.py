"""Laws of ``&&``, ``||`` and the folds: what errors may and may not change."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from policyd._core.eval.program import Program
from policyd.cel.env import Environment
from tests.core.lib.evaluate import outcome

# true, false, an error, something that is no bool
OPERANDS = ("true", "false", "1 / object.zero == 1", "object.text")
OBJECT = {"object": {"zero": 0, "text": "a"}}
TERMS = st.lists(st.sampled_from(OPERANDS), min_size=1, max_size=6)


@cache
def program(text: str) -> Program:
    return Environment.kubernetes().compile(text)


def value(text: str) -> object:
    """True, False or the error's text."""
    found = outcome(text, OBJECT)
    return found.value if found.error is None else found.error


@given(TERMS)
def test_one_false_decides_and(terms: list[str]) -> None:
    found = value(" && ".join(f"({term})" for term in terms) + " && true")
    if "false" in terms:
        assert found is False
    elif set(terms) == {"true"}:
        assert found is True
    else:
        assert isinstance(found, str)


@given(TERMS)
def test_one_true_decides_or(terms: list[str]) -> None:
    found = value(" || ".join(f"({term})" for term in terms) + " || false")
    if "true" in terms:
        assert found is True
    elif set(terms) == {"false"}:
        assert found is False
    else:
        assert isinstance(found, str)


@given(TERMS)
def test_order_decides_only_which_error_is_told(terms: list[str]) -> None:
    joined = " && ".join(f"({term})" for term in terms) + " && true"
    turned = " && ".join(f"({term})" for term in reversed(terms)) + " && true"
    found, other = value(joined), value(turned)
    assert isinstance(found, str) == isinstance(other, str)
    if not isinstance(found, str):
        assert found is other


@given(TERMS)
def test_folds_decide_as_the_operators_do(terms: list[str]) -> None:
    # the index picks the term, so that all() and && meet the same operands
    picked = "".join(f"i == {index} ? dyn({term}) : " for index, term in enumerate(terms))
    indexes = str(list(range(len(terms))))
    for macro, operator, neutral in (("all", "&&", "true"), ("exists", "||", "false")):
        folded = value(f"{indexes}.{macro}(i, {picked}dyn({neutral}))")
        joined = value(
            f" {operator} ".join(f"({term})" for term in terms) + f" {operator} {neutral}"
        )
        assert folded == joined
