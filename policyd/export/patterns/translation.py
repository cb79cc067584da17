"""Translate one validation with ``pattern`` or ``anyPattern``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.syntax.parser import parse
from policyd.errors import CelSyntaxError
from policyd.export.expressions.cel import OR, TRUE, Cel
from policyd.export.model import Reason, shown_path
from policyd.export.patterns.loops import ListLoops
from policyd.export.patterns.places import RowWriter
from policyd.export.patterns.text import Path, every, negated, operand, some
from policyd.export.patterns.verdicts import admits, holds
from policyd.export.patterns.wording import Wording
from policyd.json_types import JSON, FieldPath
from policyd.pattern import Pattern, compile_pattern
from policyd.versions import KubernetesVersion

_MAX_MESSAGE = 5120  # bytes: Kubernetes does not show a longer one
_SPACE = "\t\n\v\f\r \x85\xa0"  # of Go's strings.TrimSpace, as far as a message may have it


@dataclass(frozen=True, slots=True)
class PatternTranslation:
    """The expressions of a validation."""

    expression: str
    message_expression: str


def translate(
    item: Mapping[str, JSON],
    root: str,
    shown_root: str,
    *,
    secret: bool,
    version: KubernetesVersion,
) -> PatternTranslation | list[Reason]:
    """Translate a valid validation, or say why that is impossible.

    ``root`` is the expression of the object that is checked, ``shown_root`` what its paths in
    messages begin with. ``secret``: the object may be a Secret. The paths of reasons start at the
    validation.
    """
    trees = _trees(item)
    reasons = list(_reasons(item, trees))
    if reasons:
        return reasons
    loops, root = ListLoops(version), operand(root)
    patterns = [compile_pattern(tree) for _, tree in trees]
    wording = Wording(root, secret=secret)
    places = [
        _places(each, root, shown_root.strip("."), RowWriter(wording, loops)) for each in patterns
    ]
    numbered = isinstance(item.get("anyPattern"), list)
    message = str(item.get("message") or "").strip(_SPACE)
    translated = PatternTranslation(
        _expression(patterns, root).text,
        wording.message(message, places, numbered=numbered),
    )
    if wording.longest(message, len(patterns)) > _MAX_MESSAGE:
        return [Reason(shown_path(trees[0][0][:1]), "its messages could be longer than 5 KiB")]
    for text in (translated.expression, translated.message_expression):
        try:
            parse(text, version)
        except CelSyntaxError as error:
            # the limits of Kubernetes' parser: 100,000 characters, 250 levels
            why = error.problems[0].message
            return [Reason(shown_path(trees[0][0][:1]), f"is too large for CEL: {why}")]
    return translated


def _trees(item: Mapping[str, JSON]) -> list[tuple[FieldPath, JSON]]:
    """Return the patterns of a validation with their paths."""
    several = item.get("anyPattern")
    if isinstance(several, list):
        return [(("anyPattern", number), tree) for number, tree in enumerate(several)]
    return [(("pattern",), item["pattern"])]


def _expression(patterns: list[Pattern], root: str) -> Cel:
    if len(patterns) == 1:
        return _admits(patterns[0], root)
    held = (every(_applies(each, root), holds(each.root, root, 0)) for each in patterns)
    admitted = (_admits(each, root) for each in patterns)
    return some(*held, every(*admitted))


def _applies(pattern: Pattern, root: str) -> Cel:
    return TRUE if pattern.guard is None else holds(pattern.guard, root, 0)


def _admits(pattern: Pattern, root: str) -> Cel:
    return some(negated(_applies(pattern, root)), admits(pattern.root, root, 0))


def _places(pattern: Pattern, root: str, shown_root: str, rows: RowWriter) -> str:
    """Return the text of the fields that do not match; empty if the pattern does not fail."""
    written = rows.rows(pattern.root, root, Path.fixed(shown_root), 0)
    printed = rows.wording.printed(written)
    applies = _applies(pattern, root)
    return printed if applies == TRUE else f"({applies.at(OR)} ? {printed} : '')"


def _reasons(item: Mapping[str, JSON], trees: list[tuple[FieldPath, JSON]]) -> Iterator[Reason]:
    if item.get("messageExpression"):
        yield Reason(
            "messageExpression",
            "if it fails, policyd still lists the fields that do not match; Kubernetes would not",
        )
    for path, tree in trees:
        for place, text in _texts(tree, path):
            if any(char < " " for char in text):
                why = "a control character in a message: Kubernetes shows another one"
                yield Reason(shown_path(place), why)


def _texts(tree: JSON, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Return all strings of a pattern with their paths."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield (*path, key), key
            yield from _texts(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _texts(value, (*path, index))
    elif isinstance(tree, str):
        yield path, tree
