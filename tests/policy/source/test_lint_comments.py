"""Comments that disable advice: what each is about, and what is wrong with one."""

import pytest

from policyd.errors import Problem
from policyd.policy.lint.lint_rules import faults, suppress
from policyd.policy.source.lint_comments import comments_in
from policyd.policy.source.loader import load_text

MARK = "# policyd-lint: disable=wildcard"
END = 1 << 62
# The text, and the lines that the comment in it is about.
SCOPES: list[tuple[str, str, tuple[int, int]]] = [
    ("a file", f"{MARK}\na: 1\n", (1, END)),
    ("a file, below other comments", f"# hello\n\n{MARK}\n---\na: 1\n---\nb: 1\n", (1, END)),
    ("a document", f"a: 1\n---\n{MARK}\nb: 1\nc: 1\n---\nd: 1\n", (3, 5)),
    ("the last document", f"a: 1\n---\n# x\n{MARK}\nb: 1\n", (4, END)),
    ("the first document, after its separator", f"---\n{MARK}\nb: 1\n---\nd: 1\n", (2, 3)),
    ("a line", f"a: 1\nb: 1 {MARK}\nc: 1\n", (2, 2)),
    ("a field above its block", f"a:\n  b: | {MARK}\n    x\n\n    y\n  c: 1\n", (2, 5)),
    ("the next field", f"a:\n  {MARK}\n  b:\n    c: 1\n  d: 1\n", (3, 4)),
    ("a field with a list on its own level", f"a: 1\n{MARK}\nb:\n- 1\n- 2\nc: 1\n", (3, 5)),
    ("an item", f"a:\n{MARK}\n- b: 1\n  c: 1\n- d: 1\n", (3, 4)),
    ("an item further in", f"a:\n  - b: 1 {MARK}\n    c: 1\n  - d: 1\n", (2, 3)),
    ("the last field", f"a: 1\n{MARK}\nb:\n  c: 1\n", (3, 4)),
    ("comments between", f"a: 1\n{MARK}\n# why\nb: 1\nc: 1\n", (4, 4)),
    ("a line after YAML's other line ends", f'a: "\u2028\x85\r"\nb: 1 {MARK}\nc: 1\n', (2, 2)),
    ("a line that YAML would split", f'a: ["\u2028# x", 1] {MARK}\nc: 1\n', (1, 1)),
    ("nothing below", f"a: 1\n{MARK}\n", (2, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), [pytest.param(*row[1:], id=row[0]) for row in SCOPES])
def test_scopes(text: str, lines: tuple[int, int]) -> None:
    (comment,) = comments_in("f", text.encode())
    assert (comment.first, comment.last) == lines
    assert comment.rules == ("wildcard",)


@pytest.mark.parametrize(
    "text",
    [
        f"a: |\n  {MARK}\n",
        f"a: '{MARK}'\n",
        f'a: "x\n  {MARK}"\n',
        f"a: b{MARK}\n",
        "a: 1 # disable=wildcard\n",
    ],
)
def test_texts_are_no_comments(text: str) -> None:
    assert comments_in("f", text.encode()) == []


def test_lists_and_reasons() -> None:
    text = "# policyd-lint: disable=wildcard , no-binding: as agreed\na: [1 # policyd-lint: disable=wildcard\n]"
    assert [each.rules for each in comments_in("f", text.encode())] == [
        ("wildcard", "no-binding"),
        ("wildcard",),
    ]


@pytest.mark.parametrize(
    ("comment", "message", "hint"),
    [
        ("disable=wildcrad", "there is no rule 'wildcrad'", "did you mean wildcard?"),
        ("disable=qqqqqq", "there is no rule 'qqqqqq'", "policyd lint --rules lists the rules"),
        ("disable=cel", "cel is an error: only advice can be disabled", ""),
        ("disable", "invalid policyd-lint comment", "write # policyd-lint: disable=RULE"),
        ("ignore wildcard", "invalid policyd-lint comment", "write # policyd-lint: disable=RULE"),
    ],
)
def test_faults(comment: str, message: str, hint: str) -> None:
    found = list(faults(comments_in("f", f"a: 1 # policyd-lint: {comment}".encode())))
    assert [(each.message, each.line, each.column) for each in found] == [(message, 1, 6)]
    assert found[0].hint.startswith(hint)
    assert (found[0].rule, found[0].severity) == ("lint-comment", "error")


def advice(rule: str, line: int, file: str = "f") -> Problem:
    return Problem("x", file=file, line=line, rule=rule, severity="advice")


def test_suppression() -> None:
    comments = comments_in("f", f"a: 1\nb: 1 {MARK}\nc: 1 {MARK}\n".encode())
    error = Problem("x", file="f", line=2, rule="wildcard")
    stay = [advice("wildcard", 1), advice("no-binding", 2), advice("wildcard", 2, "g"), error]
    kept, unused = suppress(
        [*stay, advice("wildcard", 2), advice("wildcard", 9)], comments, frozenset()
    )
    assert kept == [*stay, advice("wildcard", 9)]
    assert [each.line for each in unused] == [3]
    assert unused[0].unused().rule == "unused-disable"


def test_disabled_rules_are_advice_only() -> None:
    error = Problem("x", rule="wildcard")
    kept, _ = suppress([advice("wildcard", 1), error], [], frozenset({"wildcard"}))
    assert kept == [error]


def test_sources_carry_the_comments_also_of_broken_files() -> None:
    sources = load_text(f"a: [ {MARK}\nb", "t.yaml")
    assert sources.problems
    assert [each.file for each in sources.lint_comments] == ["t.yaml"]
    assert load_text("a: 1").lint_comments == ()
