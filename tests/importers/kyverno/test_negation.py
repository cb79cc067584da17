"""The opposite of an expression is readable and exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd import PolicySet, build_review
from policyd.importers.kyverno.negation import negation, tidied
from tests.importers.kyverno.classic import pod_of

NAMES = ("a", "b", "c")
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
PODS = {"resourceRules": [RULE]}


@pytest.mark.parametrize(
    ("expression", "opposite"),
    [
        ("a == b", "a != b"),
        ("a < b", "a >= b"),
        ("!a", "a"),
        ("!(a in b)", "a in b"),
        ("a in b", "!(a in b)"),
        ("a && b", "!a || !b"),
        ("a && (b || c)", "!a || (!b && !c)"),
        ("a || b && c", "!a && (!b || !c)"),
        ("(a == b)", "a != b"),
        ("x.exists(y, y == 1 || y == 2)", "!x.exists(y, y == 1 || y == 2)"),
        ("'a && b' == c", "'a && b' != c"),
        (r"'it\'s || so' == c", r"'it\'s || so' != c"),
        ("a ? b : c", "!(a ? b : c)"),
        ("!(a ? b : c) || d", "(a ? b : c) && !d"),
        ("a.?b.orValue('') == 'x'", "a.?b.orValue('') != 'x'"),
        ("true", "false"),
    ],
)
def test_opposites(expression: str, opposite: str) -> None:
    assert negation(expression) == opposite


def test_tidied() -> None:
    assert tidied("!(request.namespace == 'kube-system')") == "request.namespace != 'kube-system'"


def _operators(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) && ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) || ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) == ({pair[1]})"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]}) ? ({each[1]}) : ({each[2]})"),
        inner.map(lambda text: f"!({text})"),
    )


@given(st.recursive(st.sampled_from(NAMES), _operators, max_leaves=6))
def test_the_opposite_of_any_expression(expression: str) -> None:
    always = f"({expression}) != ({negation(expression)})"
    for name in NAMES:
        always = f"[true, false].all({name}, {always})"
    policies = PolicySet.from_documents(
        {
            "apiVersion": "policyd.dev/v1",
            "kind": "Policy",
            "metadata": {"name": "p"},
            "spec": {"matchConstraints": PODS, "validations": [{"expression": always}]},
        }
    )
    assert policies.evaluate(build_review(pod_of()), "validate").allowed, always
