"""Values that begin with a sign of YAML get quotes, and nothing else changes."""

import pytest

from policyd.policy.lint.fixes.editing import corrected
from policyd.policy.source.loader import load_text
from policyd.policy.source.splitting import read_values
from tests.builders.policy_text import POLICY_OF_PODS

HEAD = f"{POLICY_OF_PODS}  validations:\n"
MESSAGE = "  - message: m\n"


def all_corrected(text: str) -> str:
    """The text after as many rounds of corrections as change it."""
    for _ in range(5):
        after = corrected("t.yaml", text, load_text(text, "t.yaml").problems).text
        if after == text:
            return text
        text = after
    raise AssertionError("corrections without end")


# What is written after "expression: ", and what it becomes.
VALUES = [
    ("!has(object.spec.a)", '"!has(object.spec.a)"'),
    ("!has(object.spec.a) # why", '"!has(object.spec.a)" # why'),
    ("!has(object.spec.a) || object.spec.a == 'x'", "\"!has(object.spec.a) || object.spec.a == 'x'\""),
    ('!has(object.spec.a) || object.spec.a == "x" # why', "'!has(object.spec.a) || object.spec.a == \"x\"' # why"),
    ("""!has(object.a) || object.a in ["x", 'y']""", """'!has(object.a) || object.a in ["x", ''y'']'"""),
    (r"!object.metadata.name.matches('^\\d') && true", r"'!object.metadata.name.matches(''^\\d'') && true'"),
    ("!object.spec.hostNetwork", '"!object.spec.hostNetwork"'),
    ("!object.spec.hostNetwork == true", '"!object.spec.hostNetwork == true"'),
    ("!object.spec.hostNetwork ? true : false", '"!object.spec.hostNetwork ? true : false"'),
    ("!(object.spec.a || object.spec.b)", '"!(object.spec.a || object.spec.b)"'),
    ("!('x' in object.metadata.labels)", "\"!('x' in object.metadata.labels)\""),
    ("![1].exists(x, x > 2)", '"![1].exists(x, x > 2)"'),
]  # fmt: skip


@pytest.mark.parametrize(("written", "right"), VALUES)
def test_an_expression_that_begins_with_an_exclamation_mark(written: str, right: str) -> None:
    text = f"{HEAD}{MESSAGE}    expression: {written}\n"
    assert all_corrected(text) == f"{HEAD}{MESSAGE}    expression: {right}\n"
    assert load_text(all_corrected(text)).problems == ()
    text = f"{HEAD}  - expression: {written}\r\n    message: m\r\n"
    assert all_corrected(text) == f"{HEAD}  - expression: {right}\r\n    message: m\r\n"


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("{message: m, expression: !has(object.a)}", '{message: m, expression: "!has(object.a)"}'),
        ("{expression: !has(object.a), message: m}", '{expression: "!has(object.a)", message: m}'),
        ("{expression: ![1].exists(x, x > 2), message: m}",
         '{expression: "![1].exists(x, x > 2)", message: m}'),
    ],
)  # fmt: skip
def test_between_braces(written: str, right: str) -> None:
    assert all_corrected(f"{HEAD}  - {written}\n") == f"{HEAD}  - {right}\n"


def test_all_of_a_file_are_corrected() -> None:
    """The parser stops at the first one; other mistakes are corrected afterwards."""
    written = "".join(f"{MESSAGE}    expression: {value}\n" for value, _ in VALUES)
    right = "".join(f"{MESSAGE}    expression: {value}\n" for _, value in VALUES)
    head = HEAD.replace("CREATE", "create")
    assert (
        all_corrected(f"{head}{written}---\n{head}{written}") == f"{HEAD}{right}---\n{HEAD}{right}"
    )


@pytest.mark.parametrize("value", ["*.example.com", "%d", "@x", "`a`"])
def test_other_signs_that_no_value_begins_with(value: str) -> None:
    text = f"{HEAD}{MESSAGE}    expression: 'true'\n  params:\n    a: {value}\n    b: 1\n"
    assert all_corrected(text) == text.replace(value, f'"{value}"')


@pytest.mark.parametrize(
    "value",
    [
        "!has(object.spec.a)\n      || object.spec.b",  # continues on the next line
        "!object.metadata.name.contains(' # ')",  # a comment, for YAML
        "[object.spec.a",  # a list that is not closed
        "{a: b",
        "!<x> 'in quotes'",
    ],
)
def test_what_may_be_meant_otherwise_stays(value: str) -> None:
    text = f"{HEAD}{MESSAGE}    expression: {value}\n"
    assert all_corrected(text) == text
    assert load_text(text).problems


def test_an_error_that_stays_keeps_the_document_as_it_is() -> None:
    text = f"{HEAD}{MESSAGE}    expression: !(a)\n{MESSAGE}    expression: [a\n"
    assert all_corrected(text) == text
    assert read_values("t.yaml", text.encode())[1]
