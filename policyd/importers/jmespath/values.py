"""Values of JMESPath expressions as CEL: one value with the fields on the way to it. Knows how they
are written, not how expressions are read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from policyd.export.expressions.cel import (
    FALSE,
    MEMBER,
    RELATION,
    SUM,
    TERNARY,
    TRUE,
    Cel,
    relation,
)
from policyd.importers.jmespath.cel import every, is_field, quoted
from policyd.importers.jmespath.kinds import ANY, STRING, JsonKind
from policyd.policy.kinds.object_types import go_fields

# Before the path of a field that each item of a list has.
EACH = "[]."
# A field by name, an item by index, or a field whose name is CEL.
FieldStep = str | int | Cel


@dataclass(frozen=True, slots=True)
class CelValue:
    """``base`` is CEL, an error unless ``needs`` holds; ``steps`` are fields and indexes below it,
    each of which may be missing. ``present`` are fields below that are never missing, as dotted
    paths; paths of a list's items begin with ``[]``. ``nullable``: without steps, the value may
    still be null. ``name`` is the last field.
    """

    base: Cel
    kind: JsonKind = ANY
    steps: tuple[FieldStep, ...] = ()
    needs: Cel = TRUE
    present: frozenset[str] = frozenset()
    nullable: bool = False
    name: str = ""

    @property
    def may_be_missing(self) -> bool:
        """Return whether there may be no value."""
        return bool(self.steps) or self.nullable or self.needs != TRUE

    def select(self, name: str, kind: JsonKind = ANY) -> "CelValue":
        """Return a field of this value, which may be missing unless it is known to be present."""
        below = frozenset(
            each.removeprefix(f"{name}.") for each in self.present if each.startswith(f"{name}.")
        )
        if not self.steps and name in self.present and is_field(name):
            base = Cel(f"{self.base.at(MEMBER)}.{name}")
            return CelValue(base, kind, needs=self.needs, present=below, name=name)
        return replace(self, steps=(*self.steps, name), kind=kind, present=below, name=name)

    def at(self, step: FieldStep, kind: JsonKind = ANY) -> "CelValue":
        """Return an item by its index, or a field whose name is CEL."""
        if isinstance(step, int) and step < 0:
            step = Cel(f"size({self.or_value('[]')}) - {-step}")
        name = self.name if isinstance(step, int) else ""
        steps = (*self.steps, step)
        return replace(self, steps=steps, kind=kind, present=frozenset(), name=name)

    def cel(self) -> Cel:
        """Return the value as CEL that is an error if it is missing."""
        if not self.steps:
            return self.base
        return Cel(self.base.at(MEMBER) + "".join(_access(each) for each in self.steps))

    def text(self, level: int = TERNARY) -> str:
        """Return ``cel`` for a place of this level."""
        return self.cel().at(level)

    def optional(self) -> str:
        """Return the value as an optional of CEL."""
        below = "".join(_access(each, "?") for each in self.steps)
        if self.needs != TRUE:
            some = f"{self.base.at(MEMBER)}{below}" if below else f"optional.of({self.base.text})"
            return f"({self.needs.at(RELATION)} ? {some} : optional.none())"
        if below:
            return self.base.at(MEMBER) + below
        if self.nullable:
            some, none = f"optional.of({self.base.text})", "optional.none()"
            return f"({self.base.at(RELATION)} != null ? {some} : {none})"
        return f"optional.of({self.base.text})"

    def or_value(self, default: str) -> str:
        """Return the value, or a default in CEL if it is missing."""
        if not self.may_be_missing:
            return self.text(MEMBER)
        if self.steps and self.needs == TRUE:
            if self._is_null_if_empty():
                return f"({self.optional()}.orValue(null) == null ? {default} : {self.text()})"
            return f"{self.optional()}.orValue({default})"
        return f"({self.presence().at(RELATION)} ? {self.text(RELATION)} : {default})"

    def presence(self) -> Cel:
        """Return CEL that is true if there is a value; TRUE if there always is."""
        return every(self.needs, self._own_presence())

    def _is_null_if_empty(self) -> bool:
        """Whether it is a list that the API server prints as null: rules of a ClusterRole."""
        return self.base.text in _OBJECTS and self.steps in _NULL_LISTS

    def _own_presence(self) -> Cel:
        if not self.steps:
            if self.base.text == "null":
                return FALSE
            return relation(self.base.at(RELATION), "!=", "null") if self.nullable else TRUE
        if len(self.steps) == 1 and isinstance(self.steps[0], str) and is_field(self.steps[0]):
            there = Cel(f"has({self.text()})")
            if self._is_null_if_empty():
                return every(there, relation(self.text(RELATION), "!=", "null"))
            return there
        return Cel(f"{replace(self, needs=TRUE).optional()}.hasValue()")


_OBJECTS = ("object", "oldObject")
_NULL_LISTS = tuple(
    (name,)
    for kind in ("ClusterRole", "EndpointSlice", "Role")
    for name in go_fields("nullable")[kind]
)


@dataclass(frozen=True, slots=True)
class Constant(CelValue):
    """A value that the expression spells out."""

    constant: object = None


@dataclass(frozen=True, slots=True)
class Nulls(CelValue):
    """A map that the expression spells out, all of its fields null."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Joined(CelValue):
    """A string of parts: what is written, and CEL of strings."""

    parts: tuple[str | Cel, ...] = ()

    @classmethod
    def of(cls, parts: Iterable[str | Cel]) -> "Joined":
        """Return the concatenation."""
        merged: list[str | Cel] = []
        for part in parts:
            if isinstance(part, str) and merged and isinstance(merged[-1], str):
                merged[-1] += part
            elif part != "":
                merged.append(part)
        return cls(_sum(merged), STRING, parts=tuple(merged))

    @property
    def ends(self) -> tuple[str, "Joined"] | None:
        """Return ``startsWith``, ``endsWith`` or ``contains``, and of what, for a pattern whose
        only wildcards are a ``*`` at its ends; None if it has others, or none.
        """
        parts = list(self.parts)
        before = isinstance(parts[0], str) and parts[0].startswith("*")
        after = isinstance(parts[-1], str) and parts[-1].endswith("*")
        if before:
            parts[0] = str(parts[0])[1:]
        if after:
            parts[-1] = str(parts[-1])[:-1]
        if any(isinstance(each, str) and ("*" in each or "?" in each) for each in parts):
            return None
        methods = {(True, True): "contains", (True, False): "endsWith", (False, True): "startsWith"}
        method = methods.get((before, after))
        return None if method is None else (method, Joined.of(parts))

    @property
    def is_pattern(self) -> bool:
        """Return whether what is written has wildcards."""
        return any(isinstance(each, str) and ("*" in each or "?" in each) for each in self.parts)


def _sum(parts: Sequence[str | Cel]) -> Cel:
    texts = [quoted(each) if isinstance(each, str) else each.at(SUM) for each in parts]
    if len(parts) == 1 and isinstance(parts[0], Cel):
        return parts[0]
    return Cel(" + ".join(texts) or "''", SUM if len(texts) > 1 else MEMBER)


@dataclass(frozen=True, slots=True)
class Count(CelValue):
    """The length of a list; ``some`` is true if it is not 0."""

    some: Cel | None = None


@dataclass(frozen=True, slots=True)
class Ordered(CelValue):
    """A list in another order than ``items``."""

    items: object = None


def _access(step: FieldStep, mark: str = "") -> str:
    """Return CEL that selects a step; with the mark ``?``, as an optional value."""
    if isinstance(step, str) and is_field(step):
        return f".{mark}{step}"
    key = step.text if isinstance(step, Cel) else quoted(step) if isinstance(step, str) else step
    return f"[{mark}{key}]"
