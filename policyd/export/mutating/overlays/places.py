"""Places in an object as CEL: how a field is read, and its JSON Pointer."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from policyd._core.schema.types import Decoding, Field
from policyd.cel.syntax.lexer import RESERVED
from policyd.export.expressions.literals import string_literal

_Keys = tuple[str, ...]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ItemLoop:
    """A loop over the items of a list: those for which ``guard`` holds (empty: all)."""

    items: str
    index: str
    item: str
    guard: str = ""


@dataclass(frozen=True, slots=True)
class JSONPointer:
    """A JSON Pointer: strings, and the names of variables that hold an index."""

    parts: tuple[tuple[str, bool], ...] = ()

    def key(self, name: str) -> "JSONPointer":
        """Return the pointer to a key below."""
        return JSONPointer((*self.parts, ("/" + name.replace("~", "~0").replace("/", "~1"), False)))

    def index(self, variable: str) -> "JSONPointer":
        """Return the pointer to an item of a list."""
        return JSONPointer((*self.parts, ("/", False), (variable, True)))

    def computed(self, key: str) -> str:
        """Return the CEL of the pointer to a key that an expression computes."""
        return f"{JSONPointer((*self.parts, ('/', False))).text()} + jsonpatch.escapeKey({key})"

    def text(self) -> str:
        """Return the CEL of the pointer."""
        found: list[str] = []
        plain = ""
        for part, variable in self.parts:
            if not variable:
                plain += part
                continue
            found += [string_literal(plain), f"string({part})"]
            plain = ""
        return " + ".join([*found, string_literal(plain)] if plain else found)


@dataclass(slots=True)
class Earlier:
    """The effect of earlier items of an overlay on an item of the list: the fields that they set
    and the maps that they made, with the conditions, the fields that they removed and the lists
    that they changed.
    """

    written: dict[_Keys, list[str]] = field(default_factory=dict)
    made: dict[_Keys, list[str]] = field(default_factory=dict)
    removed: set[_Keys] = field(default_factory=set)
    lists: set[_Keys] = field(default_factory=set)

    def when_set(self, keys: _Keys) -> list[str]:
        """Return the conditions under which a field is there because of them."""
        return [*self.written.get(keys, ()), *self.made.get(keys, ())]

    def read(self, keys: _Keys) -> bool:
        """Return whether a condition that reads a field may see what they did."""
        if any(each[: len(keys)] == keys for each in self.made):
            return True
        return touched((*self.written, *self.removed, *self.lists), keys)


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """A field: ``keys`` below the object or item ``base``, inside ``loops``.

    ``native``: objects have Go types, so a field that is there has the type of its schema.
    """

    base: str
    pointer: JSONPointer
    native: bool
    keys: tuple[str, ...] = ()
    loops: tuple[ItemLoop, ...] = ()
    # Changes in the same item by earlier items of the overlay.
    earlier: Earlier = field(default_factory=Earlier)

    def below(self, key: str) -> "ObjectPlace":
        """Return the place of a key in this map."""
        return replace(self, keys=(*self.keys, key), pointer=self.pointer.key(key))

    def chain(self) -> str:
        """Return the field as an optional value."""
        return self._selected("?")

    def value(self) -> str:
        """Return the field, which must be there."""
        return self._selected("")

    def _selected(self, mark: str) -> str:
        found = self.base
        for key in self.keys:
            found += f".{mark}{key}" if is_name(key) else f"[{mark}{string_literal(key)}]"
        return found

    def present(self) -> str:
        """Return whether the field is there, even if it is null."""
        return self._in_map(f"{self.chain()}.hasValue()")

    def unset(self) -> str:
        """Return whether the field is absent or null."""
        return self._or_no_map(f"{self.chain()}.orValue(null) == null")

    def set(self) -> str:
        """Return whether the field is there and not null."""
        return self._in_map(f"{self.chain()}.orValue(null) != null")

    def no(self, kind: Literal["map", "list"]) -> str:
        """Return whether there is no map, or no list."""
        if self.native:
            return self.unset()
        return self._or_no_map(f"type({self.chain()}.orValue(null)) != {kind}")

    def _or_no_map(self, text: str) -> str:
        """Return that a test holds, or that there is no map around the field, where that is not
        sure: to look for a field in a list is an error.
        """
        if self.native or len(self.keys) < 2:
            return text
        return f"{self._around().no('map')} || {text}"

    def _in_map(self, text: str) -> str:
        if self.native or len(self.keys) < 2:
            return text
        return f"!({self._around().no('map')}) && {text}"

    def _around(self) -> "ObjectPlace":
        return replace(self, keys=self.keys[:-1])

    def items(self, at: Field) -> str:
        """Return the items of a list; none if there is no list."""
        if self.native and at.omitted and self.keys:
            return f"{self.chain()}.orValue([])"
        return f"({self.no('list')} ? [] : {self.value()})"

    def each(self, at: Field) -> tuple["ObjectPlace", ItemLoop]:
        """Return the place of the items of this list, and the loop over them."""
        depth = len(self.loops) + 1
        suffix = "" if depth == 1 else str(depth)
        index, item = f"index{suffix}", f"item{suffix}"
        loop = ItemLoop(self.items(at), index, item)
        place = ObjectPlace(item, self.pointer.index(index), self.native, (), (*self.loops, loop))
        return place, loop

    def edge(self, *, start: bool) -> "ObjectPlace":
        """Return the place before the first item of this list, or behind the last one."""
        return replace(self, pointer=self.pointer.key("0" if start else "-"))

    def guarded(self, guard: str) -> "ObjectPlace":
        """Return this place of the items for which ``guard`` holds."""
        *outer, loop = self.loops
        return replace(self, loops=(*outer, replace(loop, guard=guard)))


def touched(fields: Iterable[_Keys], keys: _Keys) -> bool:
    """Return whether one of the fields is this one, in it, or around it."""
    return any(each[: len(keys)] == keys[: len(each)] for each in fields)


def is_name(key: str) -> bool:
    return _NAME.fullmatch(key) is not None and key not in RESERVED


def is_always_there(at: Field) -> bool:
    """Return whether Go prints a field of every object: a struct, not a pointer to one."""
    return at.type.decoding == Decoding.STRUCT and not at.pointer and not at.omitted_zero


def conjunction(*parts: str) -> str:
    """Return that all hold; the empty string is true."""
    found = [part for part in parts if part]
    if len(found) <= 1:
        return "".join(found)
    return " && ".join(f"({part})" if " || " in part or " ? " in part else part for part in found)


def disjunction(*parts: str) -> str:
    """Return that one holds; no part may be empty."""
    if len(parts) == 1:
        return parts[0]
    return " || ".join(f"({part})" if " ? " in part or " && " in part else part for part in parts)


def negation(part: str) -> str:
    """Return that a part does not hold."""
    return f"!({part})"
