"""Mistakes in YAML: what people are told, where, and what to write instead."""

import pytest

from policyd.errors import Problem
from policyd.policy.compile.compiler import check
from policyd.policy.source.loader import load_text
from policyd.policy.source.places import Chunk
from policyd.policy.source.splitting import read_values


def syntax_problem(text: str) -> Problem:
    _, (problem,) = read_values("f.yaml", text.encode())
    return problem


# Text, line and column of the mistake, words of the summary, words of the hint.
MISTAKES = [
    # Indentation
    (
        "a:\n  b:\n  - c: 1\n    d: 2\n   e: 3\n    f: 4\n",
        (5, 4),
        "line 5 is indented by 3, its siblings by 4",
        "indent it by 4",
    ),
    (
        "a:\n  b: 1\n c: 2\n",
        (3, 2),
        "line 3 is indented by 1, its siblings by 2",
        "indent it by 2",
    ),
    (
        "metadata:\n  name: x\n    labels: {}\n",
        (3, 11),
        "line 3 is indented by 4, but line 2 already has a value",
        "indent line 3 by 2",
    ),
    ("a:\n\tb: 1\n", (2, 1), "line 2 is indented with a tab", "spaces, not tabs"),
    ("a:\n  b: 1\n\tc: 1\n", (3, 1), "line 3 is indented with a tab", "spaces, not tabs"),
    (
        "list:\n  - a: 1\n  b: 2\n",
        (3, 3),
        "line 3 is in the list of line 2 and lacks its '- '",
        "begin it with '- ', or indent it by 4",
    ),
    (
        "a: 1\n- b: 2\n",
        (2, 1),
        "line 2 begins a list item, but line 1 a field",
        "remove the '- '",
    ),
    (
        "expression: |\nobject.a == 1\nb: 1\n",
        (2, 1),
        "line 2 has neither a key nor a value",
        "indent it by 2",
    ),
    ("a: x &&\ny\nb: 1\n", (2, 1), "line 2 has neither a key", "indent it by 2"),
    ("a:b\nc: 1\n", (1, 1), "line 1 has no blank after ':'", "write a: b"),
    ("a\n  b: 1\n", (1, 1), "line 1 has no ':'", "write a:"),
    # Signs at the start of a value
    ("a: !x.y && b\n", (1, 4), "begins with ! is a YAML tag", "'!x.y && b'"),
    ("a: !x.all(c, c.y)\n", (1, 4), "begins with ! is a YAML tag", "'!x.all(c, c.y)'"),
    ("a: [*]\n", (1, 5), "begins with * is a YAML alias", "'*'"),
    ("a: *x\n", (1, 4), "begins with * is a YAML alias", "'*x'"),
    ("a: && b\n", (1, 4), "begins with & is a YAML anchor", "'&& b'"),
    ("a: %x\n", (1, 4), "cannot begin with %", "'%x'"),
    ("a: @x\n", (1, 4), "cannot begin with @", "'@x'"),
    ("a: `x`\n", (1, 4), "cannot begin with a backquote", "'`x`'"),
    ("a: [b, c].exists(x, x)\n", (1, 4), "begins with [ is a YAML list", "'[b, c].exists(x, x)'"),
    ("a: {'k': 1}.k == 1\n", (1, 4), "begins with { is a YAML object", "\"{'k': 1}.k == 1\""),
    ("a: {{ .Values.x }}\n", (1, 5), "begins with {{", "render the template first"),
    ("a: {{}}\n", (1, 5), "begins with {{", "render the template first"),
    ("a: {{[b]}}\n", (1, 5), "begins with {{", "render the template first"),
    (
        "- message: {{ object.metadata.name }} is not allowed\n",
        (1, 12),
        "begins with {{",
        "write messageExpression: \"object.metadata.name + ' is not allowed'\"",
    ),
    (
        "message: {{ request.object.kind }} isn't {{ x }}\n",
        (1, 10),
        "begins with {{",
        "write messageExpression: \"object.kind + ' …'\"",
    ),
    (
        "message: {{ object.kind }}\n",
        (1, 11),
        "begins with {{",
        "object.kind in an expression or messageExpression",
    ),
    (
        "a: {{ request.namespace }}\n",
        (1, 5),
        "begins with {{",
        'write "${request.namespace}" in an overlay, request.namespace in an expression',
    ),
    (
        "a: {{request.object.metadata.name}}-x\n",
        (1, 4),
        "begins with {{",
        'write "${object.metadata.name}',
    ),
    ("a: | x\n", (1, 4), "begins with | continues on the next lines", "on the next line, indented"),
    ("a: > 3\n", (1, 4), "begins with > continues on the next lines", "'> 3'"),
    ("a: || x\n", (1, 4), "begins with | continues on the next lines", "'|| x'"),
    # Inside of a value
    ("- a: x ? b : c\n", (1, 12), "': ' cannot be in a value without quotes", "'x ? b : c'"),
    ("a: 'it's'\n", (1, 8), "the value ends at its second '", "write '' for '"),
    ('a: "x == "y" && z"\n', (1, 11), 'the value ends at its second "', 'write \\" for "'),
    ('a: "b" == c\n', (1, 8), 'begins with " and ends at the next one', "after '|': \"b\" == c"),
    (
        "a: \"x.matches('\\d')\"\n",
        (1, 16),
        "no escape \\d in double quotes",
        "write 'x.matches(r\"\\d\")'",
    ),
    ('a: {b: "x\\.y", c: 1}\n', (1, 10), "no escape \\. in double quotes", "write 'x\\.y'"),
    (
        'a: "x == \\"\\.\\" && y == \'z\'"\n',
        (1, 12),
        "no escape \\. in double quotes",
        """write 'x == r"\\." && y == "z"'""",
    ),
    # What single quotes do not do
    ('a: "\\d\\n"\n', (1, 5), "no escape \\d in double quotes", "write \\\\d, put the value in"),
    # What is not closed
    ('a: "b == c\nd: x\n', (1, 4), "the quote that opens in line 1 is never closed", 'closing "'),
    (
        'x: 1\na: "b == c\nd: "x"\n',
        (2, 4),
        "the quote that opens in line 2 closes only in line 3",
        "close it in line 2",
    ),
    ("a: [b, c\nd: 1\n", (1, 4), "the [ of line 1 is never closed", "write ] at its end"),
    ("a: {b: 1\nc: 2\n", (1, 4), "the { of line 1 is never closed", "write } at its end"),
    ("a: [\n", (1, 4), "the [ of line 1 is never closed", "write ] at its end"),
    ("a: [b,\n\n", (1, 4), "the [ of line 1 is never closed", "write ] at its end"),
    ("x: [1]\na: {b: [2], c: ", (2, 4), "the { of line 2 is never closed", "write } at its end"),
    (
        "a: {spec.volumes[0].name: x}\n",
        (1, 17),
        "a key without quotes cannot contain '['",
        "put the key in quotes: 'spec.volumes[0].name': …",
    ),
    (
        "a: {b: 1, spec.volumes[+]: {c: d}}\n",
        (1, 23),
        "a key without quotes cannot contain '['",
        "put the key in quotes: 'spec.volumes[+]': …",
    ),
    # Twice
    ("a: 1\n---\nb: 1\nb: 2\n", (4, 1), "", "first defined in line 3: remove one"),
    (
        "apiVersion: v1\nkind: A\napiVersion: v1\nkind: B\n",
        (3, 1),
        "",
        "first defined in line 1: write --- between two documents",
    ),
]


@pytest.mark.parametrize(("text", "place", "summary", "hint"), MISTAKES)
def test_a_mistake_is_named_with_its_place_and_remedy(
    text: str, place: tuple[int, int], summary: str, hint: str
) -> None:
    found = syntax_problem(text)
    assert summary in found.summary
    assert hint in found.hint
    assert (found.line, found.column) == place
    assert found.excerpt.count("\n") == 1


def test_lines_are_those_of_the_file() -> None:
    found = syntax_problem("a: 1\n---\nb:\n  c: 1\n d: 2\n")
    assert found.summary == "line 5 is indented by 1, its siblings by 2"


POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: x}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
"""


def policy_problems(validation: str) -> list[Problem]:
    return check(load_text(POLICY + validation, "p.yaml"))


TAGGED = [
    ("  - expression: !object.spec.hostNetwork\n", (9, 17), "''", "'!object.spec.hostNetwork'"),
    ("  - expression: ! object.spec.hostNetwork\n", (9, 17), "'object", "'! object.spec"),
    ("  - expression: !(a in b)\n", (9, 17), "'in b)'", "'!(a in b)'"),
    ("  - {expression: !has(object.x), message: x}\n", (9, 18), "''", "'!has(object.x)'"),
    ("  - pattern: {spec: {x: !y }}\n", (9, 25), "''", "'!y'"),
]


@pytest.mark.parametrize(("validation", "place", "value", "hint"), TAGGED)
def test_a_tag_in_a_policy_is_an_error(
    validation: str, place: tuple[int, int], value: str, hint: str
) -> None:
    (found,) = policy_problems(validation)
    assert found.message.startswith("the ! at the start makes it a YAML tag: the value is " + value)
    assert hint in found.hint
    assert (found.line, found.column) == place


def test_a_tag_in_another_object_is_read_as_kubernetes_reads_it() -> None:
    values, problems = read_values("f.yaml", b"kind: X\na: !b c\nd: ! e\n")
    assert (values, problems) == ([{"kind": "X", "a": "c", "d": "e"}], [])


FORMS = [
    ("  - expression: [object.a == 1]\n", 'write "object.a == 1", without [ ]'),
    ("  - expression: {a: 1}\n", "put the value in quotes"),
    ("  - expression: true\n", "put it in quotes"),
    (
        "  - expression: 'true'\n  variables: {containers: object.spec.containers}\n",
        "write a list of variables: - {name: containers, expression: …}",
    ),
]


def test_a_dash_without_a_blank_is_named() -> None:
    (found,) = policy_problems("    -expression: 'true'\n")
    assert found.hint == "write a blank after the '-': - expression: …"


@pytest.mark.parametrize(("validation", "hint"), FORMS)
def test_values_of_another_form(validation: str, hint: str) -> None:
    (found,) = policy_problems(validation)
    assert hint in found.hint


# A validation, and where the name `nope` is in the file.
PLACES = {
    "plain": "  - expression: object.a == 1 && nope\n",
    "plain of several lines": "  - expression: object.a == 1 &&\n\n      nope\n",
    "single quotes": "  - expression: 'object.a == ''x'' && nope'\n",
    "double quotes": '  - expression: "object.a == \\"x\\" && nope"\n',
    "escapes": "  - expression: \"object.a == '\\x41\\u0042\\\\\\\\' &&\\n\\t nope\"\n",
    "a line that continues": '  - expression: "object.a == 1 && \\\n      nope"\n',
    "literal": "  - expression: |\n      object.a == 1 &&\n\n        nope\n",
    "folded": "  - expression: >-\n      object.a == 1 &&\n      object.b == 'ä' && nope\n",
    "folded with a number": "  - expression: >2-\n      object.a == 1 &&\n      nope\n",
    "wide": "  - expression: object.a == '日本e\u0301' && nope\n",
    "anchor": "  - expression: &here 'object.a == 1 && nope'\n",
    "tag of strings": "  - expression: !!str object.a == 1 && nope\n",
    "long": "  - expression: "
    + "object.abc == 1 && " * 40
    + "nope && "
    + "true && " * 40
    + "true\n",
    "flow": "  - {message: x, expression: 'object.a == 1 && nope'}\n",
}


@pytest.mark.parametrize("validation", PLACES.values(), ids=PLACES)
def test_the_place_of_an_error_is_that_in_the_file(validation: str) -> None:
    (found,) = policy_problems(validation)
    text = POLICY + validation
    before = text[: text.index("nope")]
    assert (found.line, found.column) == (
        before.count("\n") + 1,
        len(before) - before.rfind("\n"),
    )
    assert max(map(len, found.excerpt.split("\n"))) < 130


ENDS = {
    "plain": "  - expression: object.a ==\n    message: x\n",
    "literal": "  - expression: |\n      object.a ==\n    message: x\n",
    "quotes": '  - expression: "object.a =="\n    message: x\n',
}


@pytest.mark.parametrize("validation", ENDS.values(), ids=ENDS)
def test_the_end_of_an_expression_is_not_in_the_next_field(validation: str) -> None:
    (found,) = policy_problems(validation)
    row = (POLICY + validation).split("\n")[found.line - 1]
    assert row[found.column - 1 :].startswith("==")


def test_an_empty_line_has_no_excerpt() -> None:
    """A caret below nothing marks nothing."""
    chunk = Chunk("f.yaml", "a: 1\n  \n\nb: 2\n", 0)
    assert [bool(chunk.excerpt(line, 1)) for line in range(6)] == [0, 1, 0, 0, 1, 0]
