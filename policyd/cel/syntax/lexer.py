"""Split source into tokens; characters that begin no token are errors with ANTLR's messages.

A token's kind is its name in ANTLR's messages: punctuation and keywords are their own kind, others
are ``IDENTIFIER``, ``NUM_INT`` and so on. Grammar: parser/gen/CEL.g4 of cel-go.
"""

import re
from dataclasses import dataclass

from policyd.cel.syntax.source import Issue

EOF = "<EOF>"
KEYWORDS = frozenset({"in", "true", "false", "null"})
# Names that cannot be variables or functions, but can be fields.
RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
    "let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while",
))  # fmt: skip


@dataclass(frozen=True)
class Token:
    """``pos`` is the offset of its first code point."""

    kind: str
    text: str
    pos: int


_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_QUOTED = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r'|[rR]"""[\s\S]*?"""'
    r"|[rR]'''[\s\S]*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
# Ordered so that the first alternative that matches is also the longest, which ANTLR takes.
_TOKEN = re.compile(
    rf"""
      (?P<HIDDEN>[\t \r\n\f]+|//[^\n]*)
    | (?P<BYTES>[bB](?:{_QUOTED}))
    | (?P<STRING>{_QUOTED})
    | (?P<NUM_FLOAT>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    | (?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    | (?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
    | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]+`)
    | (?P<PUNCTUATION>==|!=|<=|>=|&&|\|\||[\[\]{{}}().,\-!?:+*/%<>])
    """,
    re.VERBOSE,
)
_ESCAPE_PREFIX = re.compile(
    r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?"
)
_STRING_PIECE = re.compile(rf"{_ESCAPE}|[^\\\n\r]")
_BACKTICK_PREFIX = re.compile(r"`[A-Za-z0-9_.\-/ ]*")


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """Return all tokens, with EOF at the end, and an error for each invalid piece."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    pos, size = 0, len(text)
    while pos < size:
        if text[pos] in " \n\t\r\f":
            pos += 1
            continue
        end = _plain(text, pos, size, tokens)
        pos = end if end else _matched(text, pos, tokens, issues)
    tokens.append(Token(EOF, EOF, size))
    return tokens, issues


def closing_brace(text: str, start: int) -> int:
    """Return the offset of the ``}`` that closes a brace opened before ``start``; -1: none.

    Braces in strings and comments do not count; the rest of the source is not read.
    """
    tokens: list[Token] = []
    issues: list[Issue] = []
    depth, pos, size = 0, start, len(text)
    while pos < size:
        if text[pos] in " \n\t\r\f":
            pos += 1
            continue
        end = _plain(text, pos, size, tokens)
        end = end if end else _matched(text, pos, tokens, issues)
        if tokens and tokens[-1].pos == pos:
            kind = tokens[-1].kind
            depth += (kind == "{") - (kind == "}")
            if depth < 0:
                return pos
        tokens.clear()
        pos = end
    return -1


def _plain(text: str, pos: int, size: int, tokens: list[Token]) -> int:
    """Find a frequent token without the grammar, and return its end, or 0."""
    char = text[pos]
    after = text[pos + 1] if pos + 1 < size else "\0"
    end = pos + 1
    kind = ""
    if char in "[]{}(),-?:+*%" or (char == "." and not _digit(after)):
        pass
    elif char in "<>!=&|":
        if after == (char if char in "&|" else "="):
            end += 1
        elif char in "=&|":
            return 0
    elif _begins_name(char):
        while end < size and (_begins_name(text[end]) or _digit(text[end])):
            end += 1
        if end < size and text[end] in "\"'":  # it may be the prefix of a string
            return 0
        kind = "IDENTIFIER"
    elif char in "\"'":
        while end < size and text[end] != char and text[end] not in "\\\r\n":
            end += 1
        if end >= size or text[end] != char or (after == char and text[end + 1 : end + 2] == char):
            return 0
        end += 1
        kind = "STRING"
    else:
        return 0
    found = text[pos:end]
    if not kind or found in KEYWORDS:
        kind = found
    tokens.append(Token(kind, found, pos))
    return end


def _digit(char: str) -> bool:
    return "0" <= char <= "9"


def _begins_name(char: str) -> bool:
    return "a" <= char <= "z" or "A" <= char <= "Z" or char == "_"


def _matched(text: str, pos: int, tokens: list[Token], issues: list[Issue]) -> int:
    """Find a token or an error by the grammar, and return its end."""
    match = _TOKEN.match(text, pos)
    if match is None:
        end = min(pos + _viable_prefix(text, pos) + 1, len(text))
        issues.append(Issue(pos, f"Syntax error: token recognition error at: '{text[pos:end]}'"))
        return end
    kind, found = str(match.lastgroup), match.group()
    if kind == "PUNCTUATION" or (kind == "IDENTIFIER" and found in KEYWORDS):
        tokens.append(Token(found, found, pos))
    elif kind != "HIDDEN":
        tokens.append(Token(kind, found, pos))
    return match.end()


JUNK = "character that begins no token"
UNCLOSED = "string that does not end"
BAD_STRING = "string with an invalid escape"


def pieces(text: str) -> list[Token]:
    """Return all tokens, and invalid pieces as tokens of three more kinds, for hints about source
    that is not CEL.
    """
    found: list[Token] = []
    pos = 0
    while pos < len(text):
        match = _TOKEN.match(text, pos)
        if match is None:
            kind, end = _no_token(text, pos)
            found.append(Token(kind, text[pos:end], pos))
        else:
            kind, end = str(match.lastgroup), match.end()
            if kind == "PUNCTUATION" or match.group() in KEYWORDS:
                kind = match.group()
            if kind != "HIDDEN":
                found.append(Token(kind, match.group(), pos))
        pos = end
    found.append(Token(EOF, "", len(text)))
    return found


def _no_token(text: str, pos: int) -> tuple[str, int]:
    """Return the kind and the end of a piece that begins no token."""
    quote = text[pos]
    if quote not in "\"'":
        return JUNK, pos + 1
    end = pos + 1
    while end < len(text) and text[end] not in "\r\n":
        if text[end] == quote:
            return BAD_STRING, end + 1
        end += 2 if text[end] == "\\" else 1
    return UNCLOSED, min(end, len(text))


def _viable_prefix(text: str, pos: int) -> int:
    """Return how many characters could begin a token; ANTLR skips these and the next one."""
    char = text[pos]
    if char in "&|=":
        return 1
    if char == "`":
        prefix = _BACKTICK_PREFIX.match(text, pos)
        return len(prefix.group()) if prefix else 0
    if char not in "\"'":
        return 0
    end = pos + 1
    while (piece := _STRING_PIECE.match(text, end)) is not None:
        end = piece.end()
    escape = _ESCAPE_PREFIX.match(text, end)
    return (escape.end() if escape else end) - pos


def text_between(text: str, start: int, end: int) -> str:
    """Return a piece of the source without invalid tokens; blanks and comments stay."""
    kept: list[str] = []
    pos = start
    while pos < end:
        match = _TOKEN.match(text, pos)
        if match is None:
            pos += _viable_prefix(text, pos) + 1
        else:
            kept.append(match.group())
            pos = match.end()
    return "".join(kept)
