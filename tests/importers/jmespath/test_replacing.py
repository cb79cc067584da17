"""``regex_replace_all`` where CEL can say it, compared with the regular expressions of Python."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cel import Environment
from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary

_SCOPE = Vocabulary.request().bound("value", "object")
_REGISTRY = r"^(localhost/|(?:[a-z0-9]+\.)+[a-z0-9]+/)?"


def replaced(pattern: str, text: str, new: str, function: str = "regex_replace_all") -> object:
    term = read(f"{function}('{pattern}', value, '{new}')", _SCOPE)
    return Environment.kubernetes().compile(term.text()).evaluate({"object": text})


@pytest.mark.parametrize(
    ("pattern", "text", "new", "expected"),
    [
        ("^[^/]+/", "a/b/c", "x/", "x/b/c"),
        ("^[^/]+/", "abc", "x/", "abc"),
        ("^(a|b)?", "abc", "x", "xbc"),
        ("^(a|b)?", "c", "x", "xc"),
        (f"{_REGISTRY}(.*)$", "nginx:1", "r.io/$2", "r.io/nginx:1"),
        (f"{_REGISTRY}(.*)$", "quay.io/a/b", "r.io/${2}!", "r.io/a/b!"),
        ("^x(.*)$", "xa", "{$1}", "{a}"),
        ("^x(.*)", "xa\nb", "y$1", "ya\nb"),
        ("^x(.*)$", "xa\nb", "y$1", "xa\nb"),
        ("h.*", "2400h0m", "", "2400"),
        ("h.*", "2400", "", "2400"),
        ("[.].*", "a.b.c", "", "a"),
    ],
)
def test_a_beginning_or_an_end(pattern: str, text: str, new: str, expected: str) -> None:
    assert replaced(pattern, text, new) == expected


def test_a_literal_has_no_groups() -> None:
    assert replaced("^a", "ab", "$1", "regex_replace_all_literal") == "$1b"


@pytest.mark.parametrize(
    "pattern, new",
    [
        ("a", "b"),  # anywhere, and often
        ("^a|b", "c"),
        ("a$", "b"),
        ("(?i)^a", "b"),
        (r"^a\b", "x"),
        ("^a^", "x"),
        ("^(a)b", "$1"),
        ("^(a)(.*)$", "$1"),
        ("^(a)(.*)$", "$2$2"),
        ("^a(.*)", "$1!"),
        ("^a(.*)$", "$$1"),
        ("^a(.*)$", "$1x"),
        ("h.*", "x"),
    ],
)
def test_what_matches_elsewhere_is_refused(pattern: str, new: str) -> None:
    with pytest.raises(NotTranslatable, match="more than a beginning or an end"):
        replaced(pattern, "", new)


_PIECES = st.sampled_from(["a", "b/", "[^a]", "(?:a|b)", "a?", "[ab]+", "(b)*", "[.]"])


@given(st.lists(_PIECES, min_size=1, max_size=3), st.text("ab/.c", max_size=8), st.booleans())
def test_as_python_replaces(pieces: list[str], text: str, rest: bool) -> None:
    body = "".join(pieces)
    groups = body.count("(b)")
    pattern = f"^{body}(.*)$" if rest else f"^{body}"
    new, python = (f"<${{{groups + 1}}}>", f"<\\g<{groups + 1}>>") if rest else ("<>", "<>")
    assert replaced(pattern, text, new) == re.sub(pattern, python, text, count=1)
