"""``regex_replace_all`` of a pattern that matches once: from the beginning, or up to the end of a
line. CEL finds matches, but has no function that replaces them.
"""

import re
from functools import partial

from policyd.export.expressions.cel import MEMBER, TERNARY, Cel
from policyd.importers.jmespath.cel import quoted
from policyd.importers.jmespath.functions.scalars import Function, as_string
from policyd.importers.jmespath.kinds import STRING
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.values import CelValue, Constant, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable

# Classes and escaped characters, each of which is one character of the text.
_SINGLE = re.compile(r"\\[^bBAzQ]|\[\^?\]?(?:\\.|[^\]\\])*+(?:\]|\\?\Z)", re.DOTALL)
_AROUND = re.compile(r"[\^$\\]|\(\?(?!:)")  # flags, and what a match depends on around it
_SIGN = re.compile(r"[()|]")
_GROUPING = re.compile(r"\((?!\?)")
_REST = "(.*)"
_GROUP = re.compile(r"\$(\w+|\{\w+\}|\$)")


def _replace(literal: bool, pattern: CelTerm, text: CelTerm, by: CelTerm) -> CelTerm:
    written, new = (each.constant if isinstance(each, Constant) else None for each in (pattern, by))
    if isinstance(written, str) and isinstance(new, str):
        pieces = [new] if literal else _GROUP.split(new)
        found = _replaced(written, as_string(text).at(MEMBER), pieces)
        if found is not None:
            return CelValue(found, STRING, name=text.name)
    raise NotTranslatable(
        "`regex_replace_all()` of more than a beginning or an end has no counterpart"
    )


def _replaced(pattern: str, text: str, pieces: list[str]) -> Cel | None:
    """Return CEL of a text with a replacement: ``pieces`` are texts and, between them, groups."""
    ended = pattern.endswith(f"{_REST}$")
    body = pattern.removesuffix("$") if ended else pattern
    rests = body.endswith(_REST)
    body = body.removesuffix(_REST)
    groups = _groups(body.removeprefix("^"))
    if groups is None:
        return None
    if not pattern.startswith("^"):
        once = pattern.endswith(".*") and pieces == [""]
        return Cel(f"{text}.replace({text}.find({quoted(pattern)}), '', 1)") if once else None
    if not rests and len(pieces) == 1:
        pieces = [*pieces, str(groups + 1), ""]
    if len(pieces) != 3 or pieces[1].strip("{}") != str(groups + 1) or (pieces[2] and not ended):
        return None
    rest = Cel(f"{text}.substring(size({text}.find({quoted(body)})))")
    new = Joined.of((pieces[0], rest, pieces[2])).text()
    return Cel(f"{text}.matches({quoted(pattern)}) ? {new} : {text}", TERNARY)


def _groups(pattern: str) -> int | None:
    """Return the number of groups of a pattern; None if it has flags, alternatives outside of
    groups, or what depends on its surroundings.
    """
    plain = _SINGLE.sub("x", pattern)
    depth = 0
    for sign in _SIGN.findall(plain):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            return None
    return None if _AROUND.search(plain) else len(_GROUPING.findall(plain))


REPLACING: dict[str, tuple[int | None, Function]] = {
    "regex_replace_all": (3, partial(_replace, False)),
    "regex_replace_all_literal": (3, partial(_replace, True)),
}
