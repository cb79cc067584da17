"""Corrections by position: they change what is wrong, and nothing around it."""

import pytest

from policyd.errors import Fix, Problem
from policyd.policy.lint.fixes.editing import corrected

# A text, the place and the strings of a correction, the corrected text.
CHANGES = [
    ("a: pod", (1, 4), ("pod", "pods"), "a: pods"),
    ("a: [pod, x] # pod", (1, 5), ("pod", "pods"), "a: [pods, x] # pod"),
    ("a:\n- pod/exec\n", (2, 3), ("pod", "pods"), "a:\n- pods/exec\n"),
    ("a: 'pod'", (1, 5), ("pod", "pods"), "a: 'pods'"),
    ("a: [core]", (1, 5), ("core", ""), 'a: [""]'),
    ("a: ['core']", (1, 6), ("core", ""), "a: ['']"),
    ("a: yes", (1, 4), ("yes", "yes"), 'a: "yes"'),
    ("on: 1", (1, 1), ("on", "on"), '"on": 1'),
    ("a: 1.20 # x", (1, 4), ("1.20", "1.20"), 'a: "1.20" # x'),
    ("a: b == 'never'", (1, 9), ("never", "Never"), "a: b == 'Never'"),
    ("a: 'b == ''never'''", (1, 10), ("never", "Never"), "a: 'b == ''Never'''"),
    ('a: "b == \\"never\\""', (1, 10), ("never", "Never"), 'a: "b == \\"Never\\""'),
    ("a: |\r\n  b ==\r\n  'never'\r\n", (3, 3), ("never", "Never"), "a: |\r\n  b ==\r\n  'Never'\r\n"),
    ('{"a": ["Create"]}', (1, 9), ("Create", "CREATE"), '{"a": ["CREATE"]}'),
    ("é: ü # \u2028\na: pod", (2, 4), ("pod", "pods"), "é: ü # \u2028\na: pods"),
]  # fmt: skip
# The text is something else than the problem says: an anchor, a fold, a file that changed.
UNTOUCHED = [
    ("a: pods", (1, 4), ("pod", "pods")),
    ("a: *x", (1, 4), ("pod", "pods")),
    ("a: x", (7, 4), ("pod", "pods")),
    ("a: pod", (0, 0), ("pod", "pods")),
    ("a: |\n  'nev\n  er'", (2, 3), ("never", "Never")),
    ("a: \"n\\u0065ver\"", (1, 5), ("never", "Never")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "fix", "right"), CHANGES)
def test_only_the_place_of_the_problem_changes(
    text: str, place: tuple[int, int], fix: tuple[str, str], right: str
) -> None:
    problem = problem_at(place, fix)
    result = corrected("t.yaml", text, [problem])
    assert result.text == right
    assert [each.problem for each in result.edits] == [problem]


@pytest.mark.parametrize(("text", "place", "fix"), UNTOUCHED)
def test_a_text_that_is_something_else_stays(
    text: str, place: tuple[int, int], fix: tuple[str, str]
) -> None:
    result = corrected("t.yaml", text, [problem_at(place, fix)])
    assert (result.text, result.edits) == (text, ())


def test_several_corrections_in_one_line_are_made_once_each() -> None:
    problems = [
        problem_at((1, 11), ("Update", "UPDATE")),
        problem_at((1, 3), ("Create", "CREATE")),
        problem_at((1, 3), ("Create", "CREATE")),
        Problem("no correction", line=1, column=3),
    ]
    result = corrected("t.yaml", "[ Create, Update]", problems)
    assert result.text == "[ CREATE, UPDATE]"
    assert len(result.edits) == 2


@pytest.mark.parametrize(
    ("text", "place", "fix"),
    [
        ("{a: pod}", (1, 5), ("pod", "'")),  # no YAML
        ('a: "pod"', (1, 5), ("pod", "p\\tod")),  # a tab
        ("a: 1 # pod", (1, 8), ("pod", "pods")),  # a comment
        ("a: 'pod'", (1, 5), ("pod", "pods', b: 'c")),
        ("a: pod", (1, 4), ("od", "ods")),
    ],
)
def test_nothing_is_corrected_unless_exactly_that_string_changes(
    text: str, place: tuple[int, int], fix: tuple[str, str]
) -> None:
    result = corrected("t.yaml", text, [problem_at(place, fix)])
    assert (result.text, result.edits) == (text, ())


def test_correction_beside_another_one_in_the_same_string_is_not_reported() -> None:
    problems = [problem_at((1, 4), ("pod/exec", "pods/exec")), problem_at((1, 4), ("pod", "pods"))]
    result = corrected("t.yaml", "a: pod/exec", problems)
    assert result.text == "a: pods/exec"
    assert [each.problem for each in result.edits] == problems[:1]


def problem_at(place: tuple[int, int], fix: tuple[str, str]) -> Problem:
    return Problem("wrong", line=place[0], column=place[1], fix=Fix(*fix))
