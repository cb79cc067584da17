"""Tokens. Frequent ones are found without the grammar, and have to be the same."""

from hypothesis import example, given
from hypothesis import strategies as st

from policyd.cel.syntax.lexer import Token, pieces, tokenize

PARTS = (
    "a",
    "b",
    "r",
    "R",
    "B",
    "u",
    "U",
    "in",
    "null",
    "true",
    "_x1",
    "é",
    "0",
    "12",
    "0x1f",
    "1e5",
    ".",
    "..",
    ".5",
    "5.",
    "=",
    "==",
    "!",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&",
    "&&",
    "|",
    "||",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    "-",
    "?",
    ":",
    "+",
    "*",
    "%",
    "/",
    "//",
    "`",
    "`a b`",
    '"',
    "'",
    '""',
    "''",
    '"""',
    "'''",
    "\\",
    "\\n",
    "\\x4",
    "\\x41",
    " ",
    "\n",
    "\r",
    "\t",
    "\f",
)


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
@example("''''''")
@example('\'\' \'a\' """b"""')
@example("r'a' b'a' br'a' a'b'")
@example("x.5 x.y 1.e 1.5.x")
@example("a//b\nc/d")
def test_tokens_are_those_of_the_grammar(text: str) -> None:
    tokens, issues = tokenize(text)
    if not issues:
        assert tokens[:-1] == pieces(text)[:-1]
    assert tokens[-1] == Token("<EOF>", "<EOF>", len(text))


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_each_token_is_a_piece_of_the_text(text: str) -> None:
    tokens, _ = tokenize(text)
    end = 0
    for token in tokens[:-1]:
        assert token.pos >= end
        end = token.pos + len(token.text)
        assert text[token.pos : end] == token.text
