"""``regex_replace_all`` of a pattern that matches once: from the beginning, or up to the end of a
line. CEL finds matches, but has no function that replaces them.
"""

import re

from policyd.importers.jmespath.cel import MEMBER, TERNARY, Cel, quoted
from policyd.importers.jmespath.functions.scalars import Function, as_string
from policyd.importers.jmespath.kinds import STRING
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.values import CelValue, Constant, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable

# What matches depends on what is around it, or on flags.
_AROUND = re.compile(r"\\[bBAzQ]|\(\?[^:]|(?<!\\)[\^$]")
_CLASS = re.compile(r"(?<!\\)\[\^?\]?(?:\\.|[^\]\\])*\]")
_PREFIX = re.compile(r"\^(?P<begin>.*?)(?P<rest>\(\.\*\)\$?)?\Z")
_GROUP = re.compile(r"\$\{?(\w+)\}?")


def _replace(*, literal: bool) -> Function:
    def function(taken: frozenset[str], pattern: CelTerm, text: CelTerm, by: CelTerm) -> CelTerm:
        written, new = (
            each.constant if isinstance(each, Constant) else None for each in (pattern, by)
        )
        if isinstance(written, str) and isinstance(new, str):
            pieces = [new] if literal else _GROUP.split(new)
            found = _replaced(written, as_string(text).at(MEMBER), pieces)
            if found is not None:
                return CelValue(found, STRING, name=text.name)
        raise NotTranslatable(
            "`regex_replace_all()` of more than a beginning or an end has no counterpart"
        )

    return function


def _replaced(pattern: str, text: str, pieces: list[str]) -> Cel | None:
    """Return CEL of a text with a replacement: ``pieces`` are texts and, between them, groups."""
    prefix = _PREFIX.match(pattern)
    body = prefix["begin"] if prefix else pattern
    plain = _CLASS.sub("x", body)
    if _AROUND.search(plain) or _has_choice(plain):
        return None
    if prefix is None:
        once = plain.endswith(".*") and pieces == [""]
        return Cel(f"{text}.replace({text}.find({quoted(pattern)}), '', 1)") if once else None
    rest = Cel(f"{text}.substring(size({text}.find({quoted(f'^{body}')})))")
    last = str(1 + len(re.findall(r"(?<!\\)\((?!\?)", plain)))
    if prefix["rest"] is None:
        pieces = [*pieces, last, ""] if len(pieces) == 1 else []
    if len(pieces) != 3 or pieces[1] != last or (pieces[2] and not pattern.endswith("$")):
        return None
    new = Joined.of((pieces[0], rest, pieces[2])).text()
    return Cel(f"{text}.matches({quoted(pattern)}) ? {new} : {text}", TERNARY)


def _has_choice(pattern: str) -> bool:
    """Whether a pattern has alternatives outside of groups."""
    depth = 0
    for each in re.findall(r"\\.|[()|]", pattern):
        depth += (each == "(") - (each == ")")
        if each == "|" and depth == 0:
            return True
    return False


REPLACING: dict[str, tuple[int | None, Function]] = {
    "regex_replace_all": (3, _replace(literal=False)),
    "regex_replace_all_literal": (3, _replace(literal=True)),
}
