"""What a projection of JMESPath yields, as CEL: a list, or a question about its elements."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from policyd.export.expressions.cel import MEMBER, TERNARY, TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, exists, negated, some
from policyd.importers.jmespath.kinds import JsonKind
from policyd.importers.jmespath.values import CelValue


@dataclass(frozen=True, slots=True)
class Generator:
    """``for variable in source if conditions``; with ``key``, the keys and values of a map.

    ``of_keys``: the source is a map, and the variable one of its keys. A source that is missing is
    empty, or an error if ``strict``.
    """

    variable: str
    source: CelValue
    conditions: tuple[Cel, ...] = ()
    key: str | None = None
    of_keys: bool = False
    strict: bool = False

    def macro(self, name: str, *arguments: str) -> Cel:
        """Return a call of a macro over the source; ``map`` has another name for maps."""
        variables = [self.variable] if self.key is None else [self.key, self.variable]
        if self.key is not None and name == "map":
            name = "transformList"
        return Cel(f"{self.whole}.{name}({', '.join([*variables, *arguments])})")

    def exists(self, holds: Cel) -> Cel:
        """Return CEL that is true if a condition holds for a turn."""
        return exists(self.macro("exists", "").text.removesuffix(" )"), holds)

    @property
    def whole(self) -> str:
        """Return what it generates from."""
        if self.strict:
            return self.source.text(MEMBER)
        return self.source.or_value("{}" if self.of_keys or self.key is not None else "[]")


@dataclass(frozen=True, slots=True)
class CelList:
    """The values of a projection: ``element`` for each turn of the generators, without missing
    ones.

    The list is null unless ``needs`` holds.
    """

    generators: tuple[Generator, ...]
    element: "CelValue | CelList"
    needs: Cel = TRUE

    @property
    def kind(self) -> JsonKind:
        """Return the kind of the list."""
        return JsonKind("list", self.element.kind)

    @property
    def may_be_missing(self) -> bool:
        """Return whether the list may be null."""
        return self.needs != TRUE

    @property
    def name(self) -> str:
        """Return the name of the field that the elements come from."""
        return self.element.name

    def presence(self) -> Cel:
        """Return CEL that is true if the list is not null; TRUE if it never is."""
        return self.needs

    def sure(self) -> "CelList":
        """Return this list for a place where it is known not to be null."""
        if self.needs == TRUE:
            return self
        first, *more = self.generators
        source = replace(
            first.source, base=first.source.cel(), steps=(), needs=TRUE, nullable=False
        )
        return replace(self, generators=(replace(first, source=source), *more), needs=TRUE)

    @property
    def whole(self) -> Generator | None:
        """Return the generator whose source has exactly these elements; None if there is none."""
        (first, *more) = self.generators
        if more or first.conditions or first.key is not None:
            return None
        return first if self.element.text() == first.variable else None

    @property
    def variables(self) -> frozenset[str]:
        """Return the variables of its macros."""
        both = {name for each in self.generators for name in (each.key, each.variable) if name}
        inner = self.element.variables if isinstance(self.element, CelList) else frozenset()
        return frozenset(both) | inner

    def exists(self, holds: Callable[[CelValue], Cel], *, strict: bool = False) -> Cel:
        """Return CEL that is true if ``holds``, about the element, is true for any.

        It is false for null, or an error if ``strict``.
        """
        inner = _asked(self.element, holds)
        for generator in reversed(self._generators(strict)):
            condition = every(*generator.conditions, inner)
            if condition == TRUE:
                inner = relation(f"size({generator.whole})", ">", "0")
            else:
                inner = generator.exists(condition)
        return inner

    def has(self, item: str, *, strict: bool = False) -> Cel | None:
        """Return CEL that is true if an item, CEL, is an element; None if that is no `in`."""
        *outer, last = self._generators(strict)
        if last.conditions or last.key is not None or self.element.text() != last.variable:
            return None
        inner = relation(item, "in", last.whole)
        for generator in reversed(outer):
            inner = generator.macro("exists", every(*generator.conditions, inner).text)
        return inner

    def every(self, holds: Callable[[CelValue], Cel]) -> Cel:
        """Return CEL that is true if ``holds`` is true for all; true for null."""
        inner = _asked(self.element, holds)
        for generator in reversed(self.generators):
            unless = [negated(every(*generator.conditions))] if generator.conditions else []
            inner = generator.macro("all", some(*unless, inner).text)
        return inner

    def size(self) -> Cel:
        """Return CEL of the number of elements; null is an error."""
        *outer, last = self._generators(True)
        count = f"size({last.whole})"
        if condition := _condition(last, self.element):
            kept = last.macro("filter", *condition)
            if last.key is not None:
                kept = last.macro("map", *condition, last.variable)
            count = f"size({kept.text})"
        for generator in reversed(outer):
            count = f"{generator.macro('map', *_condition(generator, None), count).text}.sum()"
        return Cel(count)

    def value(self) -> CelValue:
        """Return the list as one value."""
        return CelValue(self.cel(), self.kind, needs=self.needs, name=self.name)

    def cel(self) -> Cel:
        """Return the list as CEL; null is an error."""
        *outer, last = self._generators(True)
        whole = _collected(last, self.element)
        for generator in reversed(outer):
            mapped = generator.macro("map", *_condition(generator, None), whole.text)
            whole = Cel(f"{mapped.text}.flatten()")
        return whole

    def _generators(self, strict: bool) -> tuple[Generator, ...]:
        """Return the generators; if ``strict``, a list that is null is an error."""
        first, *more = self.generators
        return (replace(first, strict=strict and self.needs != TRUE), *more)

    def text(self, level: int = TERNARY) -> str:
        """Return ``cel`` for a place of this level."""
        return self.cel().at(level)

    def or_value(self, default: str) -> str:
        """Return the list, or a default in CEL if it is null."""
        if self.needs == TRUE or default == "[]":
            return replace(self, needs=TRUE).text(MEMBER)
        return f"({self.needs.text} ? {self.text()} : {default})"


def _asked(element: "CelValue | CelList", holds: Callable[[CelValue], Cel]) -> Cel:
    return holds(element.value() if isinstance(element, CelList) else element)


def _collected(generator: Generator, element: "CelValue | CelList") -> Cel:
    condition = _condition(generator, element)
    whole = element.text() == generator.variable and generator.key is None
    if not whole or (generator.of_keys and not condition):
        return generator.macro("map", *condition, element.text())
    if condition:
        return generator.macro("filter", *condition)
    return Cel(generator.whole)


def _condition(generator: Generator, element: "CelValue | CelList | None") -> list[str]:
    need = TRUE if element is None else element.presence()
    given = generator.conditions or need != TRUE
    return [every(*generator.conditions, need).text] if given else []
