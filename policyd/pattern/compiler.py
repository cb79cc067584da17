"""Compile a pattern tree from YAML into checks of the core; report every fault with its path."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from policyd._core.pattern.checks import (
    Absent,
    AnyPattern,
    EachKey,
    IfPresent,
    MapCheck,
    NoKey,
    Pattern,
    PatternCheck,
    PatternEntry,
    SomeKey,
)
from policyd._core.pattern.leaves import Anything, EmptyList, ExistsCheck, ListCheck
from policyd.json_types import JSON, FieldPath
from policyd.pattern.faults import Fault, PatternError
from policyd.pattern.leaves import LeafError, leaf
from policyd.pattern.marks import Mark, UnknownMark, split

MAX_DEPTH = 100  # levels of a pattern; Kubernetes' own kinds have about twenty
_CONDITIONS = (Mark.CONDITION, Mark.GLOBAL)
_NOTHING = (None, "null", "*", "?*")  # allowed values of X(key): all mean "anything"
_NOTHING_CHECK = Anything()


def compile_pattern(tree: JSON) -> Pattern:
    """Compile a tree: a map, a list or a scalar. Raises PatternError with every fault."""
    compiler = _Compiler()
    root = compiler.check(tree, ())
    guard = compiler.guard(tree) if not compiler.faults else None
    if compiler.faults:
        raise PatternError(compiler.faults)
    return Pattern(root, guard)


def compile_any_pattern(trees: list[JSON]) -> AnyPattern:
    """Compile a pattern that holds if one of several does. Fault paths start with an index."""
    patterns, faults = [], []
    for index, tree in enumerate(trees):
        try:
            patterns.append(compile_pattern(tree))
        except PatternError as error:
            faults += [replace(each, path=(index, *each.path)) for each in error.faults]
    if faults:
        raise PatternError(faults)
    return AnyPattern(patterns)


class _Compiler:
    """``below_condition``: a list needs an item that applies; an empty list does not hold."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def check(self, tree: JSON, path: FieldPath, below_condition: bool = False) -> PatternCheck:
        """Return the check for any tree; a placeholder after a fault."""
        if len(path) > MAX_DEPTH:
            self._fault(path, f"the pattern is deeper than {MAX_DEPTH} levels")
        elif isinstance(tree, dict):
            return self._map(tree, path, below_condition)
        elif isinstance(tree, list):
            return self._list(tree, path, below_condition)
        else:
            try:
                return leaf(tree)
            except LeafError as error:
                self._fault(path, str(error.args[0]), error.hint)
        return _NOTHING_CHECK

    def _map(self, tree: dict[str, JSON], path: FieldPath, below_condition: bool) -> PatternCheck:
        conditions: list[PatternEntry] = []
        entries: list[PatternEntry] = []
        seen: dict[str, str] = {}
        for key, value in tree.items():
            split_key = self._split(key, (*path, key), seen)
            if split_key is None:
                continue
            mark, name = split_key
            condition = mark in _CONDITIONS
            entry = self._entry(mark, name, value, (*path, key), below_condition or condition)
            (conditions if condition else entries).append(entry)
        return MapCheck(self._expected(tree), conditions, entries)

    def _split(self, key: str, path: FieldPath, seen: dict[str, str]) -> tuple[Mark, str] | None:
        try:
            mark, name = split(key)
        except UnknownMark as error:
            self._fault(path, str(error), error.hint, at_key=True)
            return None
        if mark is Mark.ADD:
            hint = "to demand it here, write the key without the mark"
            self._fault(path, f"{key}: +() adds what is absent: only overlays do that", hint, True)
            return None
        if name in seen:
            hint = "give both demands in one value: they can be joined with &"
            self._fault(path, f"{key} and {seen[name]} are the same key", hint, at_key=True)
        seen[name] = key
        return mark, name

    def _entry(
        self, mark: Mark, name: str, value: JSON, path: FieldPath, below_condition: bool
    ) -> PatternEntry:
        wild = "*" in name or "?" in name
        if mark is Mark.ABSENT:
            if not (value is None or value in _NOTHING):
                hint = "write X(key): null; to forbid one value, =(key): '!value'"
                self._fault(path, "X() forbids the key whatever its value: no value counts", hint)
            return NoKey(name, None) if wild else Absent(name, None)
        if mark is Mark.EXISTS:
            check = self._exists(value, path)
        else:
            check = self.check(value, path, below_condition)
        if mark is Mark.IF_PRESENT:
            return EachKey(name, check) if wild else IfPresent(name, check)
        return SomeKey(name, check) if wild else PatternEntry(name, check)

    def _exists(self, value: JSON, path: FieldPath) -> PatternCheck:
        if not isinstance(value, list) or not value:
            self._fault(
                path,
                "^() requires items of a list: its value must be a list of the required items",
                "write ^(containers): [{name: istio-proxy}]",
            )
            return _NOTHING_CHECK
        wanted = [self.check(item, (*path, i), True) for i, item in enumerate(value)]
        return ExistsCheck(f"a list with {self._expected(value)}", wanted)

    def _list(self, tree: list[JSON], path: FieldPath, below_condition: bool) -> PatternCheck:
        if not tree:
            return EmptyList()
        each: list[PatternCheck] = []
        any_of: list[PatternCheck] = []
        for index, item in enumerate(tree):
            check = self.check(item, (*path, index), below_condition)
            (each if len(tree) == 1 or _has_condition(item) else any_of).append(check)
        return ListCheck(self._expected(tree), each, any_of, below_condition)

    def guard(self, tree: JSON) -> PatternCheck | None:
        """Return the conditions on the whole object, from the keys marked with <; else None."""
        if isinstance(tree, dict):
            return self._guard_of_map(tree)
        if isinstance(tree, list):
            guards = [found for item in tree if (found := self.guard(item)) is not None]
            return ListCheck("", guards, (), True) if guards else None
        return None

    def _guard_of_map(self, tree: dict[str, JSON]) -> PatternCheck | None:
        wanted, conditions = [], []
        for key, value in tree.items():
            mark, name = split(key)
            if mark is Mark.GLOBAL:
                wanted.append(self._entry(mark, name, value, (), True))
            elif mark is Mark.CONDITION:
                conditions.append(self._entry(mark, name, value, (), True))
            below = self.guard(value)
            if below is not None:
                wild = "*" in name or "?" in name
                wanted.append(SomeKey(name, below) if wild else PatternEntry(name, below))
        return MapCheck("", [*conditions, *wanted], ()) if wanted else None

    def _expected(self, tree: JSON) -> str:
        return "" if self.faults else expected(tree)

    def _fault(self, path: FieldPath, message: str, hint: str = "", at_key: bool = False) -> None:
        self.faults.append(Fault(path, message, hint, at_key))


def _has_condition(item: JSON) -> bool:
    return isinstance(item, dict) and any(mark in _CONDITIONS for mark in _marks(item))


def _marks(item: dict[str, JSON]) -> Iterator[Mark]:
    for key in item:
        try:
            yield split(key)[0]
        except UnknownMark:
            continue


_LIMIT = 80


def expected(tree: Any) -> str:
    """Print a pattern tree on one line, cut if long."""
    text = _flow(tree)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."


def _flow(tree: Any) -> str:
    if isinstance(tree, dict):
        if not tree:
            return "an object"
        return "{" + ", ".join(f"{key}: {_flow(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_flow, tree)) + "]"
    if tree is None:
        return "null"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    return str(tree) or '""'
