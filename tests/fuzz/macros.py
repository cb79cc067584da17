"""The part of the grammar that makes macros."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random

from policyd.cel.types import types
from policyd.cel.types.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
)


class Macros(ABC):
    """Expressions made of macros; ``_names`` are the variables of those around."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._names: list[tuple[str, Type]] = []

    @abstractmethod
    def of(self, wanted: Type, depth: int) -> str:
        """An expression of a type."""

    @abstractmethod
    def type(self, depth: int = 1) -> Type:
        """A random type."""

    def macro(self, wanted: Type, depth: int) -> str | None:
        makers: list[Callable[[Type, int], str]] = []
        if wanted == BOOL:
            makers = [self.quantified, self.has]
        elif wanted.kind is Kind.LIST:
            makers = [self.mapped, self.filtered, self.sorted, self.transformed_list]
        elif wanted.kind is Kind.MAP:
            makers = [self.transformed_map]
        elif types.is_optional(wanted):
            makers = [self.optional_map, self.chained]
        return self.random.choice(makers)(wanted, depth - 1) if makers else None

    def name(self) -> str:
        return self.random.choice(("x", "y", "i", "k", "object", "size", "e"))

    def within(self, names: list[tuple[str, Type]], body: Callable[[], str]) -> str:
        """A body in which names are known."""
        self._names += names
        text = body()
        del self._names[-len(names) :]
        return text

    def range_of(self, depth: int) -> tuple[str, list[tuple[str, Type]]]:
        """A list or map to walk over, and one or two names with their types."""
        one, two = self.name(), self.name()
        element = self.type()
        if self.random.random() < 0.7:
            over, names = self.of(list_of(element), depth), [(one, INT), (two, element)]
        else:
            over, names = self.of(map_of(STRING, element), depth), [(one, STRING), (two, element)]
            if self.random.random() < 0.5:
                return over, names[:1]
        return (over, names) if self.random.random() < 0.4 else (over, [(one, names[-1][1])])

    def quantified(self, _: Type, depth: int) -> str:
        over, names = self.range_of(depth)
        macro = self.random.choice(("all", "exists", "exists_one", "existsOne"))
        if len(names) == 1 and macro == "existsOne" and self.random.random() < 0.9:
            macro = "exists_one"
        body = self.within(names, lambda: self.of(BOOL, depth))
        return f"{over}.{macro}({', '.join(name for name, _ in names)}, {body})"

    def has(self, _: Type, depth: int) -> str:
        if self.random.random() < 0.4:
            base = self.random.choice(
                ("object.spec", "object", "object.metadata.labels", "object.spec.one")
            )
        else:
            base = self.of(map_of(STRING, self.type()), depth)
        field = self.random.choice(("k", "a", "spec", "replicas", "nothing", "missing"))
        return f"has({base}.{field})" if self.random.random() < 0.97 else f"has({base})"

    def mapped(self, wanted: Type, depth: int) -> str:
        over, names = self.range_of(depth)
        names = names[:1]
        body = self.within(names, lambda: self.of(wanted.params[0], depth))
        condition = ""
        if self.random.random() < 0.3:
            condition = self.within(names, lambda: self.of(BOOL, depth)) + ", "
        return f"{over}.map({names[0][0]}, {condition}{body})"

    def filtered(self, wanted: Type, depth: int) -> str:
        names = [(self.name(), wanted.params[0])]
        body = self.within(names, lambda: self.of(BOOL, depth))
        return f"{self.of(wanted, depth)}.filter({names[0][0]}, {body})"

    def sorted(self, wanted: Type, depth: int) -> str:
        names = [(self.name(), wanted.params[0])]
        key = self.random.choice((INT, STRING, DOUBLE, BOOL, DURATION, TIMESTAMP, UINT, BYTES))
        body = self.within(names, lambda: self.of(key, depth))
        return f"{self.of(wanted, depth)}.sortBy({names[0][0]}, {body})"

    def transformed_list(self, wanted: Type, depth: int) -> str:
        return self._transformed("transformList", wanted.params[0], depth)

    def transformed_map(self, wanted: Type, depth: int) -> str:
        if self.random.random() < 0.5:
            return self._transformed("transformMap", wanted.params[1], depth)
        return self._transformed("transformMapEntry", wanted, depth)

    def _transformed(self, macro: str, body_type: Type, depth: int) -> str:
        over, names = self.range_of(depth)
        while len(names) < 2:
            names.append((self.name(), DYN))
        parts = [name for name, _ in names]
        if self.random.random() < 0.3:
            parts.append(self.within(names, lambda: self.of(BOOL, depth)))
        parts.append(self.within(names, lambda: self.of(body_type, depth)))
        return f"{over}.{macro}({', '.join(parts)})"

    def optional_map(self, wanted: Type, depth: int) -> str:
        inner = self.type()
        names = [(self.name(), inner)]
        flat = self.random.random() < 0.4
        body = self.within(names, lambda: self.of(wanted if flat else wanted.params[0], depth))
        return f"{self.of(optional_of(inner), depth)}.{'optFlatMap' if flat else 'optMap'}({names[0][0]}, {body})"

    def chained(self, wanted: Type, depth: int) -> str:
        """Optional selections one after the other."""
        base = self.random.choice(
            ("object", "object.spec", "params", self.of(map_of(STRING, wanted.params[0]), depth))
        )
        steps = (
            ".?spec",
            ".?one",
            ".?k",
            "[?'k']",
            ".spec",
            ".one",
            ".k",
            "['list']",
            "[?0]",
            ".?a",
            "[0]",
            ".?nothing",
        )
        return (
            base
            + self.random.choice(steps[:4])
            + "".join(self.random.choices(steps, k=self.random.randrange(3)))
        )
