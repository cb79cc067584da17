"""Marks on keys: what they are, and what is refused."""

import pytest

from policyd.pattern.marks import Mark, UnknownMark, marked, split


@pytest.mark.parametrize(
    ("key", "mark", "name"),
    [
        ("image", Mark.NONE, "image"),
        ("(image)", Mark.CONDITION, "image"),
        ("<(image)", Mark.GLOBAL, "image"),
        ("=(image)", Mark.IF_PRESENT, "image"),
        ("^(containers)", Mark.EXISTS, "containers"),
        ("X(hostPath)", Mark.ABSENT, "hostPath"),
        ("+(image)", Mark.ADD, "image"),
        ("=(app.kubernetes.io/name)", Mark.IF_PRESENT, "app.kubernetes.io/name"),
        ("((x))", Mark.CONDITION, "(x)"),
        ("", Mark.NONE, ""),
        ("a(b)c", Mark.NONE, "a(b)c"),
        ("name(x)", Mark.NONE, "name(x)"),
    ],
)
def test_a_key_is_split_and_put_together_again(key: str, mark: Mark, name: str) -> None:
    assert split(key) == (mark, name)
    assert marked(mark, name) == key


@pytest.mark.parametrize(
    "key",
    [
        "x(image)",
        "!(image)",
        ">(a)",
        "-(a)",
        "()",
        "=( )",
        "X()",
        "==(a)",
        "=>(a)",
        "(a",
        "=(a",
        "X(a",
        "a)",
        "(a) ",
        " (a)",
        "= (a)",
        "X (a)",
    ],
)
def test_what_only_looks_like_a_mark_is_refused(key: str) -> None:
    with pytest.raises(UnknownMark):
        split(key)
