"""The fields that do not match, as rows of an expression: what is expected, and what is there.

``wording`` writes and prints rows. Follows ``explain`` of the core, which runs
only for checks that fail: here there are rows exactly for those.
"""

from dataclasses import dataclass

from policyd._core.pattern.checks import (
    Absent,
    EachKey,
    IfPresent,
    MapCheck,
    NoKey,
    PatternCheck,
    PatternEntry,
    SomeKey,
)
from policyd._core.pattern.leaves import ExistsCheck, LeafCheck, ListCheck
from policyd.export.expressions.cel import FALSE, OR, TRUE, Cel, relation
from policyd.export.patterns.loops import ListLoops
from policyd.export.patterns.scalars import fits
from policyd.export.patterns.text import (
    Path,
    every,
    found,
    has_type,
    negated,
    present,
    selected,
    some,
)
from policyd.export.patterns.verdicts import (
    admits,
    entry_admits,
    entry_admits_absent,
    entry_holds,
    filled,
    holds,
    some_key,
)
from policyd.export.patterns.wording import ABSENT, Wording

NONE = "[]"


@dataclass(frozen=True, slots=True)
class RowWriter:
    """Writes the rows of a pattern."""

    wording: Wording
    loops: ListLoops

    def rows(
        self, check: PatternCheck, value: str, path: Path, depth: int, nullable: bool = True
    ) -> str:
        """Return the rows of a value that is there, but may be null if it is ``nullable``."""
        if isinstance(check, MapCheck):
            absent = relation(value, "==", "null") if nullable else FALSE
            return self._of_map(check, value, path, depth, absent)
        own = self._row(path, check.expected, value)
        fit = admits(check, value, depth)
        return self._of_others(check, value, path, depth, fit=fit, there=TRUE, own=own)

    def _of_map(self, check: MapCheck, value: str, path: Path, depth: int, absent: Cel) -> str:
        """Return the rows of what must be a map, of which ``absent`` is true if it is missing."""
        return _chosen(
            *([] if absent == FALSE else [(absent, self._absent(check, path))]),
            (has_type(value, "map"), self._map(check, value, path, depth)),
            other=self._row(path, check.expected, value),
        )

    def _of_others(
        self,
        check: PatternCheck,
        value: str,
        path: Path,
        depth: int,
        *,
        fit: Cel,
        there: Cel,
        own: str,
    ) -> str:
        """Return the rows of any other value: none if it is ``fit``. ``there``: it is not missing;
        ``own`` is the row of the value itself.
        """
        is_list = every(there, has_type(value, "list"))
        match check:
            case ListCheck():
                return _chosen((is_list, self._items(check, value, path, depth)), other=own)
            case ExistsCheck():
                return _chosen((is_list, self._lacking(check, value, path, depth)), other=own)
            case LeafCheck():
                scalars = (is_list, self._scalars(check, value, path, depth))
                return _chosen((fit, NONE), scalars, other=own)
        return _chosen((fit, NONE), other=own)

    def _map(self, check: MapCheck, value: str, path: Path, depth: int) -> str:
        """Return the rows of a map."""
        if not check.entries:
            return NONE
        rows = _joined([self._entry(each, value, path, depth) for each in check.entries])
        conditions = every(*(entry_holds(each, value, depth) for each in check.conditions))
        return rows if conditions == TRUE else f"({conditions.at(OR)} ? {rows} : {NONE})"

    def _entry(self, entry: PatternEntry, value: str, path: Path, depth: int) -> str:
        """Return the rows of a key of a map."""
        if isinstance(entry, SomeKey | EachKey | NoKey):
            return self._keys(entry, value, path, depth)
        key = entry.key
        there = selected(value, key)
        below = path.below(key)
        if isinstance(entry, Absent):
            row = self._row(below, "nothing", there)
            return _chosen((filled(value, key), row), other=NONE)
        check = entry.check
        assert check is not None
        if isinstance(entry, IfPresent):
            return _chosen(
                (negated(filled(value, key)), NONE),
                other=self.rows(check, there, below, depth, nullable=False),
            )
        if isinstance(check, MapCheck):
            return self._of_map(check, there, below, depth, negated(filled(value, key)))
        own = self._row(below, check.expected, found(value, key))
        fit, given = entry_admits(entry, value, depth), present(value, key)
        return self._of_others(check, there, below, depth, fit=fit, there=given, own=own)

    def _absent(self, check: PatternCheck, path: Path) -> str:
        """Return the rows of a missing value: the rows of the keys of a map, as if it were
        empty.
        """
        rows = []
        if isinstance(check, MapCheck) and not check.conditions:
            for entry in check.entries:
                if not entry_admits_absent(entry):
                    assert entry.check is not None
                    below = path.below(entry.key)
                    wild = isinstance(entry, SomeKey)
                    rows.append(
                        self._row(below, entry.check.expected, ABSENT)
                        if wild
                        else self._absent(entry.check, below)
                    )
        return _joined(rows) if rows else self._row(path, check.expected, ABSENT)

    # Lists

    def _items(self, check: ListCheck, value: str, path: Path, depth: int) -> str:
        """Return the row of all items that fail."""
        index, name = f"i{depth}", f"item{depth + 1}" if depth else "item"
        item = self.loops.item(value, index, name)
        place = path.item(index)
        rows = [self.rows(each, item, place, depth + 1) for each in check.each]
        if check.any_of:
            words = " or ".join(each.expected for each in check.any_of)
            fit = every(*(admits(each, item, depth + 1) for each in check.each))
            one = some(*(admits(each, item, depth + 1) for each in check.any_of))
            failing = every(fit, negated(one))
            rows.append(_chosen((failing, self._row(place, words, item)), other=NONE))
        body = self.wording.printed(_joined(rows))
        return f"[[dyn({self.loops.numbered(value, index, name, body)}.join(''))]]"

    def _scalars(self, check: LeafCheck, value: str, path: Path, depth: int) -> str:
        """Return a row for each item that a leaf does not fit."""
        index, name = f"i{depth}", f"each{depth + 1}" if depth else "each"
        item = self.loops.item(value, index, name)
        failing = negated(fits(check, item)).text
        row = self.wording.row(path.item(index), check.expected, item)
        return self.loops.numbered(value, index, name, failing, row)

    def _lacking(self, check: ExistsCheck, value: str, path: Path, depth: int) -> str:
        item = f"item{depth + 1}" if depth else "item"
        rows = []
        for each in check.wanted:
            there = Cel(f"{value}.exists({item}, {holds(each, item, depth + 1).text})")
            row = self._row(path, f"at least one {each.expected}", value)
            rows.append(_chosen((there, NONE), other=row))
        return _joined(rows)

    # Keys with wildcards

    def _keys(self, entry: SomeKey | EachKey | NoKey, value: str, path: Path, depth: int) -> str:
        """Return the rows of the keys that a wildcard means and that fail, in order."""
        key, at = (f"{word}{depth + 1}" if depth else word for word in ("key", "at"))
        named = some_key(entry, value, key)
        place = self.wording.key_path(path, key)
        there = f"{value}[{key}]"
        if isinstance(entry, NoKey):
            keys = self.loops.in_order(f"{value}.filter({key}, {named.text})")
            return f"{keys}.map({key}, {self.wording.row(place, 'nothing', there)})"
        check = entry.check
        assert check is not None
        failing = every(named, negated(admits(check, there, depth + 1)))
        keys = self.loops.in_order(f"{value}.filter({key}, {failing.text})")
        inner = self.rows(check, f"{value}[{at}[0]]", Path.computed(f"{at}[1]"), depth + 1)
        printed = f"{keys}.map({key}, [{key}, dyn({place.expression})])"
        loop = f"[[dyn({printed}.map({at}, {self.wording.printed(inner)}).join(''))]]"
        if isinstance(entry, EachKey):
            return loop
        none = self._row(path.below(entry.key), check.expected, ABSENT)
        any_key = Cel(f"{value}.exists({key}, {named.text})")
        return _chosen((entry_admits(entry, value, depth), NONE), (any_key, loop), other=none)

    def _row(self, path: Path, expected: str, value: str) -> str:
        return f"[{self.wording.row(path, expected, value)}]"


def _chosen(*choices: tuple[Cel, str], other: str) -> str:
    """Return the rows of the first condition that is true."""
    chain = "".join(f"{test.at(OR)} ? {rows} : " for test, rows in choices)
    return f"({chain}{other})"


def _joined(rows: list[str]) -> str:
    return f"({' + '.join(rows)})" if len(rows) > 1 else rows[0]
