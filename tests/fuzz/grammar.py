"""Random expressions led by types: every declared overload, macro and kind of literal, some of them wrong on purpose."""

from collections import defaultdict
from collections.abc import Callable
from random import Random

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.types import types
from policyd.cel.types.declarations import OverloadDecl, parse_signature
from policyd.cel.types.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
)
from tests.fuzz import words
from tests.fuzz.macros import Macros

QUANTITY, SEMVER, URL = (Type(f"kubernetes.{name}") for name in ("Quantity", "Semver", "URL"))
IP, CIDR, FORMAT = Type("net.IP"), Type("net.CIDR"), Type("kubernetes.NamedFormat")
SCALARS = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION)
OPAQUE = (QUANTITY, SEMVER, URL, IP, CIDR, FORMAT)
INFIX = {
    f"_{op}_": op for op in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||")
} | {"@in": "in"}
# Only macros make these.
INTERNAL = ("@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys")
# With the same result type, operators and conversions would otherwise hide among hundreds of rows.
OVERLOADS: tuple[OverloadDecl, ...] = tuple(
    parse_signature(row.signature, row.name, row.id)
    for library in KNOWN_LIBRARIES
    if library.name != "jsonpatch"
    for row in library.overloads
    if row.name not in INTERNAL
)
Bound = dict[Type, Type]


def match(pattern: Type, wanted: Type, bound: Bound) -> bool:
    """Whether a declared type can be the type that is wanted; learns its parameters."""
    if pattern.kind is Kind.PARAM:
        return bound.setdefault(pattern, wanted) == wanted
    if DYN in (pattern, wanted):
        return pattern == wanted
    if pattern.name != wanted.name or len(pattern.params) != len(wanted.params):
        return False
    return all(
        match(one, other, bound) for one, other in zip(pattern.params, wanted.params, strict=True)
    )


class Grammar(Macros):
    """One random expression after the other; ``wrong`` is the part of arguments of another type."""

    def __init__(self, random: Random, *, wrong: float = 0.03) -> None:
        super().__init__(random)
        self.wrong = wrong
        self._by_result: dict[Type, dict[str, list[tuple[OverloadDecl, Bound]]]] = {}
        self._size = 0

    # Whole expressions

    def expression(self, number: int) -> str:
        """Every overload comes in turn, at the root or inside of something else."""
        self._names.clear()
        self._size = 0
        declared = OVERLOADS[number % len(OVERLOADS)]
        depth = self.random.choice((0, 1, 1, 2, 2, 3, 4))
        kind = self.random.random()
        if kind < 0.6:
            return self.call(declared, {}, depth)
        if kind < 0.7:
            return self.random.choice(words.BAD_LITERALS) if depth == 0 else self.any(depth)
        return self.any(depth + 1)

    def any(self, depth: int) -> str:
        return self.of(self.type(2), depth)

    def type(self, depth: int = 1) -> Type:
        """A random type of values."""
        kind = self.random.random()
        if depth == 0 or kind < 0.6:
            return self.random.choice(SCALARS)
        if kind < 0.7:
            return self.random.choice(OPAQUE)
        if kind < 0.82:
            return list_of(self.type(depth - 1))
        if kind < 0.92:
            return map_of(
                self.random.choice((STRING, STRING, INT, BOOL, UINT)), self.type(depth - 1)
            )
        if kind < 0.97:
            return optional_of(self.type(depth - 1))
        return types.type_of(self.type(0))

    # An expression of a type

    def of(self, wanted: Type, depth: int) -> str:
        """An expression of the type wanted, or now and then of another."""
        random = self.random
        self._size += 1
        if wanted.kind is Kind.PARAM or wanted == DYN:
            wanted = self.type()
        if random.random() < self.wrong:
            wanted = self.type()
        if depth <= 0 or self._size > 60:
            return self.leaf(wanted)
        kind = random.random()
        if kind < 0.1:
            return self.leaf(wanted)
        if kind < 0.15:
            return f"dyn({self.of(wanted, depth - 1)})"
        if kind < 0.2:
            return f"({self.of(BOOL, depth - 1)} ? {self.of(wanted, depth - 1)} : {self.of(wanted, depth - 1)})"
        if kind < 0.25:
            return self.unwrapped(wanted, depth)
        if kind < 0.29:
            return self.picked(wanted, depth)
        if kind < 0.5 and (made := self.macro(wanted, depth)):
            return made
        if kind < 0.65 and wanted.kind in (Kind.LIST, Kind.MAP):
            return self.literal(wanted, depth)
        named = self._overloads(wanted)
        if not named:
            return self.leaf(wanted)
        declared, bound = random.choice(named[random.choice(list(named))])
        return self.call(declared, bound, depth)

    def unwrapped(self, wanted: Type, depth: int) -> str:
        held = self.of(optional_of(wanted), depth - 1)
        if self.random.random() < 0.3:
            return f"{held}.value()"
        return f"{held}.orValue({self.of(wanted, depth - 1)})"

    def picked(self, wanted: Type, depth: int) -> str:
        """An element of a list or map, or a field."""
        if self.random.random() < 0.5:
            index = self.random.choice(("0", "0", "1", "-1", "0u", "0.0", self.of(INT, depth - 1)))
            return f"{self.of(list_of(wanted), depth - 1)}[{index}]"
        base = self.of(map_of(STRING, wanted), depth - 1)
        return base + self.random.choice(
            (".k", "['k']", ".a", "['a']", f"[{self.of(STRING, depth - 1)}]")
        )

    def _overloads(self, wanted: Type) -> dict[str, list[tuple[OverloadDecl, Bound]]]:
        """Those that give the type, by name."""
        if wanted not in self._by_result:
            named: dict[str, list[tuple[OverloadDecl, Bound]]] = defaultdict(list)
            for declared in OVERLOADS:
                bound: Bound = {}
                if declared.result.kind is not Kind.PARAM and match(declared.result, wanted, bound):
                    named[declared.function].append((declared, bound))
            self._by_result[wanted] = dict(named)
        return self._by_result[wanted]

    # Calls

    def call(self, declared: OverloadDecl, bound: Bound, depth: int) -> str:
        """A call of that overload."""
        bound = dict(bound)
        for parameter in declared.type_params:
            bound.setdefault(parameter, self.type())
        args = [
            self.argument(declared, i, substitute(arg, bound), depth - 1)
            for i, arg in enumerate(declared.args)
        ]
        if self.random.random() < self.wrong / 3:  # the wrong number of them
            args = args[:-1] if self.random.random() < 0.5 else [*args, self.leaf(self.type())]
        return self.spelled(declared, args)

    def argument(self, declared: OverloadDecl, place: int, wanted: Type, depth: int) -> str:
        pool = words.ARGUMENTS.get((declared.function, place))
        random = self.random
        if wanted == STRING and pool and random.random() < 0.8:
            text = self.quoted(random.choice(pool))
            return text if random.random() < 0.7 else f"dyn({text})"
        return self.of(wanted, depth)

    def spelled(self, declared: OverloadDecl, args: list[str]) -> str:
        name, random = declared.function, self.random
        infix = INFIX.get(name)
        if infix and len(args) == 2:
            text = random.choice((f" {infix} ", f" {infix} ", f"\n{infix} ")).join(args)
            return text if random.random() < 0.1 else f"({text})"
        match name, args:
            case (("!_" | "-_"), [only]):
                return f"{name[0]}{only}" if random.random() < 0.5 else f"{name[0]}({only})"
            case "_?_:_", [condition, yes, no]:
                return f"({condition} ? {yes} : {no})"
            case "_[_]", [base, index]:
                return f"{base}[{index}]"
            case "_[?_]", [base, index]:
                return f"{base}[?{index}]"
            case "_?._", [base, _]:
                return f"{base}.?{random.choice(('k', 'a', 'spec', 'x'))}"
        if name.startswith(("_", "!", "-", "@")):
            name = "f"
        if declared.member and args and random.random() > self.wrong / 3:
            return f"{args[0]}.{name}({', '.join(args[1:])})"
        return f"{name}({', '.join(args)})"

    # Leaves

    def leaf(self, wanted: Type) -> str:
        random = self.random
        known = [name for name, held in self._names if held in (wanted, DYN)]
        if known and random.random() < 0.6:
            return random.choice(known)
        kind = random.random()
        if kind < 0.3 and wanted in words.PATHS:
            return random.choice(words.PATHS[wanted])
        if kind < 0.34:
            return random.choice(words.MISSING_PATHS)
        if kind < 0.37:
            return random.choice(
                (
                    "a0",
                    "a1",
                    "params",
                    "object",
                    "oldObject",
                    "undeclared",
                    *(n for n, _ in self._names),
                )
            )
        return self.literal(wanted, 0)

    def literal(self, wanted: Type, depth: int) -> str:
        random = self.random
        if wanted in _LITERALS:
            return _LITERALS[wanted](self)
        if wanted.kind is Kind.LIST:
            count = random.choice((0, 1, 1, 2, 2, 3))
            return f"[{', '.join(self._entry(wanted.params[0], depth) for _ in range(count))}]"
        if wanted.kind is Kind.MAP:
            key, value = wanted.params
            entries = []
            for name in ("k", "a")[: random.choice((0, 1, 1, 1, 2))]:
                made = (
                    self.quoted(name)
                    if key == STRING and random.random() < 0.8
                    else self.of(key, 0)
                )
                mark = "?" if random.random() < 0.03 else ""
                entries.append(
                    f"{mark}{made}: {self.of(optional_of(value) if mark else value, depth - 1)}"
                )
            return f"{{{', '.join(entries)}}}"
        if types.is_optional(wanted):
            if random.random() < 0.25:
                return "optional.none()"
            maker = random.choice(("optional.of", "optional.of", "optional.ofNonZeroValue"))
            return f"{maker}({self.of(wanted.params[0], depth - 1)})"
        if wanted.kind is Kind.TYPE:
            name = random.choice(
                (
                    "int",
                    "string",
                    "list",
                    "map",
                    "null_type",
                    "google.protobuf.Timestamp",
                    "bool",
                    "type",
                )
            )
            return name if random.random() < 0.5 else f"type({self.leaf(random.choice(SCALARS))})"
        return "null"

    def _entry(self, wanted: Type, depth: int) -> str:
        if self.random.random() < 0.03:
            return f"?{self.of(optional_of(wanted), depth - 1)}"
        return self.of(wanted, depth - 1)

    def parsed(self, function: str) -> str:
        """``quantity('1Gi')``."""
        return f"{function}({self.quoted(self.random.choice(words.ARGUMENTS[function, 0]))})"

    def quoted(self, text: str) -> str:
        """A string literal, in one of its spellings."""
        style, quote = self.random.random(), self.random.choice("'\"")
        if style < 0.1 and "\n" not in text and quote not in text and not text.endswith("\\"):
            return f"{self.random.choice('rR')}{quote}{text}{quote}"
        escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
        if style < 0.15:
            escaped = "".join(
                f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"
                for char in text
            )
        elif style < 0.2:
            return f"{quote * 3}{escaped}{quote * 3}"
        return f"{quote}{escaped}{quote}"


def substitute(declared: Type, bound: Bound) -> Type:
    if declared.kind is Kind.PARAM:
        return bound[declared]
    return Type(declared.name, tuple(substitute(each, bound) for each in declared.params))


_LITERALS: dict[Type, Callable[[Grammar], str]] = {
    BOOL: lambda grammar: grammar.random.choice(("true", "false")),
    INT: lambda grammar: grammar.random.choice(words.INTS),
    UINT: lambda grammar: grammar.random.choice(words.UINTS),
    DOUBLE: lambda grammar: grammar.random.choice(words.DOUBLES),
    STRING: lambda grammar: grammar.quoted(grammar.random.choice(words.TEXTS)),
    BYTES: lambda grammar: grammar.random.choice(words.BYTES),
    NULL: lambda grammar: "null",
    TIMESTAMP: lambda grammar: grammar.parsed("timestamp"),
    DURATION: lambda grammar: grammar.parsed("duration"),
    QUANTITY: lambda grammar: grammar.parsed("quantity"),
    SEMVER: lambda grammar: grammar.parsed("semver"),
    URL: lambda grammar: grammar.parsed("url"),
    IP: lambda grammar: grammar.parsed("ip"),
    CIDR: lambda grammar: grammar.parsed("cidr"),
    FORMAT: lambda grammar: f"format.{grammar.random.choice(words.FORMATS[:9])}()",
}
