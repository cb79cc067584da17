"""Add to the problems of an expression what people need: plain words, and what to write instead.

Texts of Kubernetes stay as they are: ``CelCompileError.text`` and the message of each problem.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from policyd.cel.hints.keys import written_key
from policyd.cel.hints.names import consequences, field_hint, renamed, undeclared_hint
from policyd.cel.hints.overloads import overload_hint
from policyd.cel.hints.results import (
    INVALID,
    INVALID_DURATION,
    INVALID_PATTERN,
    duration_hint,
    mismatch_hint,
    pattern_hint,
    range_hint,
    selection_hint,
    struct_hint,
)
from policyd.cel.hints.stream import Mistake
from policyd.cel.hints.syntax import macro_mistake, mistakes
from policyd.cel.hints.tree import Tree
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.syntax.source import Source
from policyd.errors import Fix, Problem

_SYNTAX = "Syntax error: "
_UNDECLARED = "undeclared reference to '"
# The type of an operand whose own error is another problem.
_ERRONEOUS = "!error!"


def syntax_explained(text: str, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems of source that does not parse, each mistake once and in plain words.

    The parser may report one mistake several times: then only the first report is kept.
    """
    source = Source(text)
    if not any(problem.message.startswith(_SYNTAX) for problem in problems):
        return [_of_macro(source, problem) for problem in problems]
    found = mistakes(text)
    if not found:
        return list(problems)
    places = [(source.offset(each.line, each.column), each) for each in problems]
    explained = []
    for mistake in found:
        nearest = min(places, key=lambda place: abs(place[0] - mistake.pos))[1]
        explained.append(_with(source, nearest, mistake))
    return explained


def _of_macro(source: Source, problem: Problem) -> Problem:
    pos = source.offset(problem.line, problem.column)
    mistake = macro_mistake(source.text, pos, problem.message)
    return problem if mistake is None else _with(source, problem, mistake)


def _with(source: Source, problem: Problem, mistake: Mistake) -> Problem:
    line, column = source.place(mistake.pos)
    return replace(
        problem,
        line=max(line, 1),
        column=max(column, 1),
        excerpt=source.marked(mistake.pos),
        summary=mistake.summary,
        hint=mistake.hint,
        fix=Fix(mistake.old, mistake.new) if mistake.old else None,
    )


def types_explained(
    text: str, problems: Sequence[Problem], tree: Callable[[], Tree]
) -> list[Problem]:
    """Return the problems of an expression that does not check, with hints.

    Problems that only follow from another problem are left out: names that are undeclared because
    the macro around them is unknown, and operators with an operand that has an error.
    """
    with deep_recursion():
        whole = tree()
        follow = consequences(whole)
        source, explained = Source(text), []
        keys = _written_keys(source, problems)
        for problem in problems:
            pos = source.offset(problem.line, problem.column)
            name = _quoted(problem.message, _UNDECLARED)
            if len(problems) > 1 and ((pos, name) in follow or _ERRONEOUS in problem.message):
                continue
            key = written_key(text, pos)
            if key is not None and keys.get(key.start, pos) != pos:
                continue
            hint = f"write {key.value}" if key is not None and key.start in keys else problem.hint
            hint = hint or hint_at(whole, pos, problem.message)
            fix = _renaming(text, pos, name, renamed(whole, pos, name)) if name else None
            explained.append(replace(problem, hint=hint, fix=fix))
    return explained or list(problems)


def _written_keys(source: Source, problems: Sequence[Problem]) -> dict[int, int]:
    """Return where keys that are written as fields begin, and their first undeclared names."""
    found: dict[int, int] = {}
    for problem in problems:
        pos = source.offset(problem.line, problem.column)
        key = written_key(source.text, pos) if problem.message.startswith(_UNDECLARED) else None
        if key is not None and pos > key.start:
            found.setdefault(key.start, pos)
    return found


def _renaming(text: str, pos: int, old: str, new: str) -> Fix | None:
    """Return the correction of the name of a function; a call is reported at its parenthesis."""
    before = text[:pos].rstrip()
    if not new:
        return None
    if before.endswith(old):
        return Fix(old, new, len(before) - len(old) - pos)
    return Fix(old, new) if text.startswith(old, pos) else None


def with_corrections(text: str, problems: Sequence[Problem]) -> str:
    """Return an expression with the corrections of its problems."""
    source = Source(text)
    edits = {
        (source.offset(each.line, each.column) + each.fix.offset, each.fix)
        for each in problems
        if each.fix
    }
    for start, fix in sorted(edits, key=lambda edit: edit[0], reverse=True):
        if text.startswith(fix.old, start):
            text = text[:start] + fix.new + text[start + len(fix.old) :]
    return text


def _quoted(message: str, before: str, which: int = 0) -> str:
    """Return what is in quotes after the beginning of a message; empty if it begins otherwise."""
    if not message.startswith(before):
        return ""
    parts = message[len(before) :].split("'")
    return parts[which] if which < len(parts) else ""


def hint_at(tree: Tree, pos: int, message: str) -> str:
    """Return the remedy for one error of the checker; empty if none is known."""
    name = _quoted(message, _UNDECLARED)
    if name:
        return undeclared_hint(tree, pos, name)
    field = _quoted(message, "undefined field '")
    if field:
        return field_hint(tree, pos, field)
    function = _quoted(message, "found no matching overload for '")
    if function:
        return overload_hint(tree, pos, function)
    member = _quoted(message, "expected type of field '")
    if member:
        rest = [_quoted(message, "expected type of field '", number) for number in (2, 4)]
        return struct_hint(member, *rest)
    wanted = _quoted(message, "expected type '")
    if wanted:
        return mismatch_hint(tree, pos, wanted, _quoted(message, "expected type '", 2))
    over = _quoted(message, "expression of type '")
    if over:
        return range_hint(over)
    if message.endswith("does not support field selection"):
        return selection_hint(tree, pos)
    if message == INVALID_DURATION:
        return duration_hint(tree, pos)
    if message == INVALID_PATTERN:
        return pattern_hint(tree, pos)
    return INVALID.get(message, "")
