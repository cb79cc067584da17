"""Merge planned nodes that form common shapes into one specialised node each.

Traced programs stay as written, because their nodes have none of these shapes. ``planner`` decides
meaning and cost.
"""

from collections.abc import Iterable
from typing import NamedTuple

from policyd._core.eval.access import HasPathNode, PathNode
from policyd._core.eval.calls import Call2
from policyd._core.eval.functions import Overload
from policyd._core.eval.fused import PathTests, StringTest
from policyd._core.eval.logic import And
from policyd._core.eval.nodes import Const, Node
from policyd._core.json.shared_keys import shared_key

_TEXT_TESTS = frozenset(("startsWith", "endsWith", "contains"))
_LONGEST = 100  # fields of a path; the cost of a lookup must fit into its code


def specialised(call: Call2, first: Node, second: Node, known: Overload | None) -> Node:
    """Return a call of two arguments or an equivalent node; ``known`` is its overload."""
    charges = known is not None and known.charges
    if call.name == "@in":
        if not isinstance(first, Const) or not isinstance(second, PathNode):
            return call
        key, fields = first.value, second.fields
        if isinstance(key, str) and second.units == 1 and not charges and len(fields) < _LONGEST:
            term = _Term(second.slot, fields, shared_key(key), len(fields) + 2, call)
            return _Walk(term).node()
    elif call.name in _TEXT_TESTS and isinstance(first, PathNode) and isinstance(second, Const):
        part = second.value
        if isinstance(part, str):
            by_part = known is not None and known.charges_second
            return StringTest(call, first, part, charges, by_part)
    return call


def conjunction(nodes: Iterable[Node]) -> Node:
    """Return ``&&`` of the nodes; consecutive tests along one path become one term."""
    made: list[Node | _Walk] = []
    for node in nodes:
        term = _term(node)
        last = made[-1] if made else None
        if term is None:
            made.append(node)
        elif not (isinstance(last, _Walk) and last.takes(term)):
            made.append(_Walk(term))
    terms = tuple(each.node() if isinstance(each, _Walk) else each for each in made)
    return terms[0] if len(terms) == 1 else And(terms)


class _Term(NamedTuple):
    """A test for ``key`` in the map at the fields ``prefix`` of a variable."""

    slot: int
    prefix: tuple[str, ...]
    key: str
    units: int
    node: Node


def _term(node: Node) -> _Term | None:
    match node:
        case HasPathNode(slot=slot, fields=(*prefix, key)) if len(prefix) < _LONGEST:
            return _Term(slot, tuple(prefix), key, len(prefix) + 1, node)
        case PathTests(slot=slot, fields=fields, keys=(key,), terms=(only,)):
            return _Term(slot, fields, key, len(fields) + 2, only)
    return None


class _Walk:
    """Lookups for terms along one path."""

    def __init__(self, first: _Term) -> None:
        self._first = first
        self._place = first.prefix  # the map of the latest lookup
        self._keys = [first.key]
        self._codes = bytearray([_code(first.units, inside=False)])
        self._terms = [first.node]

    def takes(self, term: _Term) -> bool:
        """Add a term if it is on this path; return whether it was added."""
        way, place = term.prefix, self._place
        if term.slot != self._first.slot or way[: len(place)] != place:
            return False
        inside = False
        for field in way[len(place) :]:
            if inside or field != self._keys[-1]:
                self._look(field, 0, inside=inside)
            inside = True
        self._look(term.key, term.units, inside=inside)
        self._place = way
        self._terms.append(term.node)
        return True

    def _look(self, key: str, units: int, *, inside: bool) -> None:
        self._keys.append(key)
        self._codes.append(_code(units, inside=inside))

    def node(self) -> Node:
        """Return one node; for a single has(), its own node."""
        if len(self._terms) == 1 and isinstance(self._terms[0], HasPathNode):
            return self._terms[0]
        return PathTests(
            self._first.slot,
            self._first.prefix,
            tuple(self._terms),
            tuple(self._keys),
            bytes(self._codes),
        )


def _code(units: int, *, inside: bool) -> int:
    """See ``_core/eval/fused.pyx``."""
    return 2 * units + inside
