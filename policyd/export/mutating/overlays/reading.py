"""Read an overlay for export: the tree that the engine reads, with the source of its conditions and
expressions. The policy has been compiled without problems.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policyd._core.eval.program import Program
from policyd.json_types import FieldPath, JSONObject
from policyd.mutation.overlays.strings import pieces
from policyd.mutation.overlays.tree import (
    Conditions,
    Map,
    OverlayReader,
    Template,
    global_conditions,
)
from policyd.pattern import compile_pattern
from policyd.policy.compile.expressions import Expressions
from policyd.policy.source.loaded_documents import string_at


class Unsayable(Exception):
    """A part of an overlay that CEL cannot express exactly; ``path`` is its place in the source."""

    def __init__(self, path: FieldPath, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class WrittenCondition:
    """Conditions as written. ``whole``: of the keys marked with ``<``, about the whole overlay."""

    tree: JSONObject
    path: FieldPath
    whole: bool = False

    def holds(self, value: Any) -> bool:
        """Return whether a map fulfils them."""
        return compile_pattern(self.tree).holds(value)


@dataclass(frozen=True, slots=True)
class ExpressionSource:
    """An expression of an overlay."""

    text: str
    program: Program


@dataclass(frozen=True, slots=True)
class ReadOverlay:
    """An overlay: its tree, and the conditions of the whole overlay that are marked with ``<``.

    ``empty`` are the paths of lists that are empty in every object that it changes.
    """

    tree: Map
    guards: Conditions
    document: JSONObject
    empty: frozenset[tuple[str, ...]] = frozenset()

    def parts(self, node: Template) -> list[str | ExpressionSource]:
        """Return the parts of a string with expressions, in order."""
        text = string_at(self.document, node.path)
        found: list[str | ExpressionSource] = []
        at = iter(node.parts)
        for piece in pieces(text):
            part = next(at)
            if isinstance(piece, str):
                found.append(piece)
            else:
                assert not isinstance(part, str)
                found.append(ExpressionSource(text[slice(*piece)].strip(), part.program))
        return found


class _Compiler:
    """See ``policyd.mutation.overlays.tree.Compiler``."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions

    def expression(self, text: str, start: int, end: int, path: FieldPath) -> Program | None:
        return self._expressions.program(path, start)

    def pattern(self, tree: Mapping[str, Any], path: FieldPath) -> WrittenCondition:
        return WrittenCondition(dict(tree), path)

    def guard(self, tree: Mapping[str, Any], path: FieldPath) -> WrittenCondition:
        return WrittenCondition(dict(tree), path, whole=True)


def read(
    value: JSONObject,
    path: FieldPath,
    expressions: Expressions,
    empty: frozenset[tuple[str, ...]] = frozenset(),
) -> ReadOverlay:
    """Read the overlay at a path of the document of ``expressions``."""
    compiler = _Compiler(expressions)
    document = expressions.document.raw
    tree = OverlayReader(compiler).read_map(value, path)
    guard = global_conditions(value)
    guards: Conditions = [((), compiler.guard(guard, path))] if guard else []
    return ReadOverlay(tree, guards, document, empty)
