"""Add to the problems of an expression what people need: plain words, and what to write instead.

Texts of Kubernetes stay as they are: ``CelCompileError.text`` and the message of each problem.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from policyd.cel.hints.keys import written_key
from policyd.cel.hints.names import consequences, field_hint, renamed, undeclared_hint
from policyd.cel.hints.overloads import overload_hint
from policyd.cel.hints.results import (
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
    places = [(source.offset(each.line, each.column), each) for each in problems]
    if not any(problem.message.startswith(_SYNTAX) for problem in problems):
        of_macros = [(each, macro_mistake(text, pos, each.message)) for pos, each in places]
        return [_with(source, each, mistake) for each, mistake in of_macros]
    explained = []
    for mistake in mistakes(text):
        nearest = min(places, key=lambda place: abs(place[0] - mistake.pos))[1]
        explained.append(_with(source, nearest, mistake))
    return explained or list(problems)


def _with(source: Source, problem: Problem, mistake: Mistake | None) -> Problem:
    if mistake is None:
        return problem
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
            undeclared = problem.message.startswith(_UNDECLARED)
            name = problem.message.split("'")[1] if undeclared else ""
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


# The remedy for an error of the checker, by the beginning of its message, from its quoted words.
_HINTERS: Mapping[str, Callable[..., str]] = {
    _UNDECLARED: lambda tree, pos, name, *_: undeclared_hint(tree, pos, name),
    "undefined field '": field_hint,
    "found no matching overload for '": lambda tree, pos, name, *_: overload_hint(tree, pos, name),
    "expected type of field '": lambda tree, pos, *quoted: struct_hint(*quoted),
    "expected type '": mismatch_hint,
    "expression of type '": lambda tree, pos, found, *_: range_hint(found),
    "invalid duration argument": duration_hint,
    "invalid matches argument": pattern_hint,
    "invalid timestamp argument": lambda *_: "write RFC 3339, such as '2027-03-31T00:00:00Z'",
}


def hint_at(tree: Tree, pos: int, message: str) -> str:
    """Return the remedy for one error of the checker; empty if none is known."""
    if message.endswith("does not support field selection"):
        return selection_hint(tree, pos)
    quoted = message.split("'")[1::2]
    hinters = (hinter for begin, hinter in _HINTERS.items() if message.startswith(begin))
    hinter = next(hinters, None) if "" not in quoted[:1] else None
    return "" if hinter is None else hinter(tree, pos, *quoted)
