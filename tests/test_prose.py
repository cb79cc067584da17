"""Banned phrases are found in prose, and only there; words are counted without code blocks."""

import re

import pytest

from tools import prose

PHRASES = prose.settings()["banned"]
# A page, and the phrases that are found in it with their lines.
PAGES = [
    ("The log is that\nof policyd.\n", [(1, "that of")]),
    ("Pods are checked, too.\n", [(1, ", too")]),
    ("Pods in the folder, of its own.\n", [(1, "folder"), (1, "of its own")]),
    ("Read it. What cannot be read is left out.\n", [(1, "What cannot be read is left out.")]),
    ("- Who can write it decides.\n", [(1, "Who can write it decides.")]),
    ("What happens if it fails? Nothing. What is this?\n", []),
    ("## What is checked\n\nObjects are checked.\n", []),
    ("The message `what the folder of its own, too` is code.\n", []),
    ("```text\nan authority, too\n```\n\nfine\n", []),
    ("1. A step:\n\n   ```console\n   $ mkdir folder\n   ```\n", []),
    ("See [the page](folder/that-of.md), right.\n", [(1, "right")]),
    ("<!-- that of -->\n", []),
]


@pytest.mark.parametrize(("text", "want"), PAGES)
def test_banned_phrases_are_found_in_prose_only(text: str, want: list[tuple[int, str]]) -> None:
    assert [(line, shown) for line, shown, _ in prose.banned(text, PHRASES)] == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Policies in shadow.\n", [(1, "shadow", "shadow")]),
        ("Policies in [shadow](../start/concepts.md#shadow); a shadow.\n", []),
        ("## The shadow\n\nA shadow.\n", [(3, "shadow", "shadow")]),
        ("The `shadow` of [a shadow mode](concepts.md#shadow).\n", []),
        ("See [the shadow](other.md).\n", [(1, "shadow", "shadow")]),
    ],
)
def test_the_first_use_of_a_word_links_to_the_glossary(
    text: str, want: list[tuple[int, str, str]]
) -> None:
    assert list(prose.undefined(text, {"shadow": r"\bshadow\b"})) == want


def test_comments_and_docstrings_are_read_and_code_is_not() -> None:
    source = '"""That of a module."""\n\nx = f("that of"), {  # those of it\n    "that of": 1\n}\n'
    found = [(line, shown) for line, shown, _ in prose.banned(prose.commentary(source), PHRASES)]
    assert found == [(1, "That of"), (3, "those of")]


def test_patterns_have_one_group_at_most_and_an_advice() -> None:
    for phrase in PHRASES:
        assert re.compile(phrase["pattern"]).groups <= 1
        assert phrase["instead"]


def test_words_are_counted_without_code_blocks() -> None:
    text = "# A title\n\nTwo `code words` here.\n\n| a | b |\n|---|---|\n\n```yaml\nnot: counted\n```\n"
    assert prose.words(text) == len(["A", "title", "Two", "code", "words", "here", "a", "b"])
