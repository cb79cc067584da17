"""Syntax errors read word for word as Kubernetes prints them (recorded from it)."""

import pytest

from policyd.cel.syntax.parser import parse
from policyd.errors import CelSyntaxError
from policyd.versions import KubernetesVersion

EXPR = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
INDEX = EXPR.replace("'!', ", "'!', '?', ")
ARGUMENTS = EXPR.replace("'(', ", "'(', ')', ")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", [f"1:0: mismatched input '<EOF>' expecting {EXPR}"]),
        ("1 +", [f"1:4: mismatched input '<EOF>' expecting {EXPR}"]),
        ("// comment", [f"1:11: mismatched input '<EOF>' expecting {EXPR}"]),
        ("true and true", ["1:6: mismatched input 'and' expecting <EOF>"]),
        ("a = 1", ["1:3: token recognition error at: '= '", "1:5: extraneous input '1' expecting <EOF>"]),
        ("true & true", ["1:6: token recognition error at: '& '", "1:8: extraneous input 'true' expecting <EOF>"]),
        ("a;", ["1:2: token recognition error at: ';'"]),
        ("a.$ref", ["1:3: token recognition error at: '$'"]),
        ('"open', ["1:1: token recognition error at: '\"open'", f"1:6: mismatched input '<EOF>' expecting {EXPR}"]),
        ('"a\\q" + 1', ["1:1: token recognition error at: '\"a\\q'", "1:5: token recognition error at: '\" + 1'", f"1:10: mismatched input '<EOF>' expecting {EXPR}"]),
        ("a[1", ["1:4: missing ']' at '<EOF>'"]),
        ("a[)", [f"1:3: mismatched input ')' expecting {INDEX}"]),
        ("f(", [f"1:3: mismatched input '<EOF>' expecting {ARGUMENTS}"]),
        ("a..b", ["1:3: no viable alternative at input '..'"]),
        ("a.b. in", ["1:6: no viable alternative at input '. in'", f"1:8: mismatched input '<EOF>' expecting {EXPR}"]),
        ("a.in == 1", ["1:3: no viable alternative at input '.in'", f"1:6: extraneous input '==' expecting {EXPR}"]),
        ("a.true", ["1:3: mismatched input 'true' expecting IDENTIFIER"]),
        ("a.", ["1:3: no viable alternative at input '.'"]),
        ("-1.in", ["1:4: no viable alternative at input '.in'", f"1:6: mismatched input '<EOF>' expecting {EXPR}"]),
        ("a.9b", ["1:2: mismatched input '.9' expecting <EOF>"]),
        ("true ? true", ["1:12: mismatched input '<EOF>' expecting ':'"]),
        ("true ? 1 2", ["1:10: missing ':' at '2'"]),
        ("Object{", ["1:8: mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"]),
        ('A{"b": 1}', ["1:3: mismatched input '\"b\"' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"]),
        ("[1, , 2]", ["1:5: mismatched input ',' expecting ']'"]),
        ("!)", [f"1:2: extraneous input ')' expecting {EXPR}"]),
        ("(1", ["1:3: missing ')' at '<EOF>'"]),
        ("{1: 2", ["1:6: mismatched input '<EOF>' expecting {'}', ','}"]),
        ("as(1 2", ["1:1| reserved identifier: as", "1:6: mismatched input '2' expecting ')'"]),
        ("a.`b` c", ["1:7: extraneous input 'c' expecting <EOF>"]),
        ("cel.@block([1], true)", ["1:5: token recognition error at: '@'"]),
    ],
)  # fmt: skip
def test_message(text: str, messages: list[str]) -> None:
    with pytest.raises(CelSyntaxError) as caught:
        parse(text)
    found = [line for line in caught.value.text.splitlines() if not line.startswith(" | ")]
    expected = [
        message.replace("| ", ": ")
        if "| " in message
        else message.replace(": ", ": Syntax error: ", 1)
        for message in messages
    ]
    assert found == [f"ERROR: <input>:{message}" for message in expected]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a.`b` c", ["ERROR: <input>:1:7: Syntax error: extraneous input 'c' expecting <EOF>"]),
        ("a.`b`", []),
        ("a.?`b-c`", []),
    ],
)
def test_backquotes_are_refused_before_1_37(text: str, rest: list[str]) -> None:
    with pytest.raises(CelSyntaxError) as caught:
        parse(text, KubernetesVersion(1, 36))
    place = text.index("`") + 1
    found = [line for line in caught.value.text.splitlines() if not line.startswith(" | ")]
    assert found == [f"ERROR: <input>:1:{place}: unsupported syntax: '`'", *rest]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ? " * 300, "error recovery token lookahead limit exceeded: 256"),
        ("(1 2) + " * 40 + "1", "Syntax error: error recovery attempt limit exceeded: 30"),
        ("$" * 200, "1 more errors were truncated"),
    ],
)
def test_recovery_gives_up(text: str, message: str) -> None:
    with pytest.raises(CelSyntaxError) as caught:
        parse(text)
    assert message in caught.value.text
