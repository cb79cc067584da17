"""Hostile arguments for every function, operator and macro of CEL, and the time that they take.

The cases are made from the tables of functions: a function with a type of argument that is not in
SHAPES has none, which is a failure.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from random import Random
from time import perf_counter_ns, thread_time_ns
from typing import Any

from policyd._core.eval.functions import Overload
from policyd._core.eval.program import Program
from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.types.types import DYN
from policyd.errors import BudgetExceeded
from policyd.versions import LATEST
from tests import authorizers

LATEST_KUBERNETES = Environment.kubernetes(LATEST)  # which has every function
Shape = Callable[[int], Any]
DEADLINE = 20_000_000  # nanoseconds
# Of CPU time beyond it, on a machine ten times as slow as most: what is quadratic takes a thousand times as long.
ALLOWANCE = 500_000_000
COMBINATIONS = 160  # of the shapes of the arguments of one function


def repeated(piece: str, before: str = "", after: str = "") -> Shape:
    """A string of that many characters."""
    return lambda size: before + piece * (size // len(piece)) + after


def constant(value: Any) -> Shape:
    """The same whatever the size."""
    return lambda _: value


TEXTS: tuple[Shape, ...] = (
    repeated("a"),
    repeated("0", after="x"),
    repeated("ab"),
    repeated("\U0001f600"),
    repeated("1"),
    repeated('"'),
    repeated("\x01"),
    repeated("%41"),
    repeated("a.", "1.2.3-", "b"),
    repeated("1.", "1.2.3-", "1"),
    repeated("a=1&", "http://h/?"),
    repeated("a", "http://", ":80"),
    repeated("%zz", "http://h/"),
    repeated(":"),
    repeated("0:", "::"),
    repeated("0", "10.0.0.0/"),
    repeated("0", "2024-01-01T00:00:00.", "Z"),
    repeated("1ns"),
    repeated("9", "1e"),
    repeated("0", "0.", "1e99"),
    repeated("1", "1.", "e-5x"),
    repeated("f", "0x", "p1"),
    repeated("1_"),
    repeated("9", after="Ki"),
    repeated(" "),
    repeated("a/"),
    repeated("~/"),
    repeated("-", "a", "a"),
    repeated("ä"),
    repeated("A", "+", ":0"),
    lambda size: "".join(Random(1).choices("ab", k=size)),
)
PARTS: tuple[Shape, ...] = (
    lambda size: "a" * (size // 2) + "b",
    lambda size: "ab" + "a" * (size // 2),
    lambda size: "a" * (size // 8) + "b" + "a" * (size // 8),
    lambda size: "ab" * (size // 4) + "c",
    lambda _: "",
    lambda _: "a",
    lambda _: "aaaaaaab",
    lambda size: "é" * (size // 3),
)
PATTERNS: tuple[Shape, ...] = (
    lambda _: "[ab]*a[ab]{900}c",
    lambda _: "a*b|a",
    lambda _: "0*1|0",
    lambda _: "(a?){300}a{300}",
    lambda _: "(x+x+)+y",
    lambda _: r"(\pL*a\pL{100}c)",
    lambda _: "b",
    lambda _: "",
    repeated(r"[\pL\pN]"),
    repeated("(a"),
    repeated("a{1000}"),
    repeated("a|"),
)
FORMATS: tuple[Shape, ...] = (
    repeated("%s"),
    repeated("%"),
    repeated("%.99999f"),
    repeated("%d", "%s"),
    repeated("%x"),
    repeated("9", "%.", "f"),
)
NUMBERS: tuple[Shape, ...] = (
    lambda _: 1,
    lambda size: size,
    lambda size: size // 2,
    lambda _: -1,
    lambda _: 2**63 - 1,
    lambda _: -(2**63),
)
COLLIDING = 2**61 - 1  # the modulus of Python's hash of numbers


def listed(item: Callable[[int], Any], bytes_each: int = 8) -> Shape:
    """A list of as many items as fit in that many bytes of JSON."""
    return lambda size: [item(index) for index in range(size // bytes_each)]


def of_texts(size: int) -> list[str]:
    """Few strings that differ at their end only."""
    return ["a" * (size // 10) + str(index) for index in range(10)]


def doubled(size: int) -> list[Any]:
    """A small value whose parts occur in it as often as can be."""
    value: list[Any] = ["a" * (size // 100)]
    for _ in range(40):
        value = [value, value]
    return value


def deep(size: int) -> list[Any]:
    value: list[Any] = [1]
    for _ in range(min(size // 4, 900)):
        value = [value]
    return value


def of(expression: str, *shapes: Shape) -> tuple[Shape, ...]:
    """What an expression makes of a string; the string where it makes an error."""

    def of_shape(shape: Shape) -> Shape:
        return lambda size: made(expression, shape(size))

    return tuple(of_shape(shape) for shape in shapes)


@cache
def compiled(expression: str, names: str) -> Program:
    return LATEST_KUBERNETES.extend(dict.fromkeys(names, DYN)).compile(expression)


def made(expression: str, value: Any) -> Any:
    variables = {**authorizers.variables(), "a": value}
    try:
        found = compiled(expression, "a").evaluate_with_cost(variables)[0]
    except BudgetExceeded:
        return value
    return value if isinstance(found, CelError) else found


MAPS: tuple[Shape, ...] = (
    lambda size: {f"{'k' * 20}{index}": index for index in range(size // 32)},
    lambda size: {"a": doubled(size)},
    lambda _: {},
)
LISTS: tuple[Shape, ...] = (
    listed(lambda index: index),
    listed(lambda index: -index),
    listed(lambda index: index % 16 * COLLIDING - 2**63 if index % 16 < 8 else index),
    listed(lambda _: "a", 4),
    listed(lambda index: [index], 10),
    listed(lambda index: {"name": str(index)}, 20),
    of_texts,
    doubled,
    deep,
    lambda _: [],
)
SHAPES: dict[str, tuple[Shape, ...]] = {
    "string": TEXTS,
    "int": NUMBERS,
    "uint": of("uint(a)", *NUMBERS),
    "double": tuple(constant(number) for number in (1e308, 5e-324, float("nan"), -0.0, 1 / 3)),
    "bool": (lambda _: True, lambda _: False),
    "bytes": of("bytes(a)", TEXTS[0], TEXTS[3], TEXTS[6]),
    "timestamp": of("timestamp(a)", lambda _: "0001-01-01T00:00:00Z", TEXTS[16]),
    "duration": of("duration(a)", lambda _: "1.5h", repeated("1ns")),
    "kubernetes.Quantity": of(
        "quantity(a)", lambda _: "1", lambda size: "9" * min(size, 3900), lambda _: "1e99999",
        lambda _: "-123456789123456789123456789e-99", lambda _: "7e99998",
    ),
    "kubernetes.Semver": of("semver(a)", TEXTS[8], TEXTS[9], lambda _: "1.2.3"),
    "kubernetes.URL": of("url(a)", TEXTS[10], TEXTS[11], repeated("%41", "/"), repeated("ä", "/")),
    "kubernetes.NamedFormat": of(
        "format.named(a).value()",
        *(
            constant(name)
            for name in ("dns1123Subdomain", "qualifiedName", "uri", "uuid", "byte", "datetime")
        ),
    ),
    "net.IP": of("ip(a)", lambda _: "::1", lambda _: "10.0.0.1"),
    "net.CIDR": of("cidr(a)", lambda _: "::/64", lambda _: "10.0.0.0/8"),
    "dyn": (TEXTS[0], LISTS[0], *MAPS, doubled),
    "optional": of("optional.of(a)", *LISTS[:2], doubled),
}  # fmt: skip
SHAPES["google.protobuf.Timestamp"] = SHAPES["timestamp"]
SHAPES["google.protobuf.Duration"] = SHAPES["duration"]
AUTHORIZER = "kubernetes.authorization."
# What is asked of an authorizer, with a string in the place of its argument.
AUTHORIZER_CALLS = {
    "Authorizer": "authorizer",
    "PathCheck": "authorizer.path('/a')",
    "GroupCheck": "authorizer.group('')",
    "ResourceCheck": "authorizer.group('').resource('pods')",
    "Decision": "authorizer.path('/healthz').check('get')",
}


def shapes(kind: str, name: str, position: int) -> tuple[Shape, ...]:
    """The hostile values for one argument; KeyError for a type that is not known here."""
    if kind == "string" and position:
        return PATTERNS if name in ("matches", "find", "findAll") else PARTS + TEXTS[:4]
    if kind == "string" and name == "format":
        return FORMATS
    if kind.startswith("list("):
        return lists_of(kind[5:-1])
    if kind.startswith("map("):
        return MAPS
    if kind.startswith("optional_type("):
        return SHAPES["optional"]
    return SHAPES["dyn" if kind in ("A", "B", "T", "dyn") else kind]


def lists_of(kind: str) -> tuple[Shape, ...]:
    if kind in ("A", "T", "dyn") or kind.startswith("list("):
        return LISTS
    if kind.startswith("optional_type("):
        return of("a.map(x, optional.of(x))", *LISTS[:1])
    if kind == "int":
        return LISTS[:3]
    if kind == "string":
        return (LISTS[3], of_texts, listed(lambda index: f"{'p' * 50}{index}", 60))
    items = SHAPES[kind]
    return tuple(lambda size, item=item: [item(min(size, 1000))] * (size // 16) for item in items)


@dataclass(frozen=True, slots=True)
class Case:
    """An expression over the variables a, b, c and d, and the shapes of each."""

    name: str
    expression: str
    arguments: tuple[tuple[Shape, ...], ...]

    def values(self, size: int) -> Iterator[dict[str, Any]]:
        rows = [[shape(size) for shape in shapes] for shapes in self.arguments]
        for row in islice(product(*rows), COMBINATIONS):
            yield dict(zip("abcd", row, strict=False))


SIGNATURE = re.compile(r"(?:(.*?)\.)?([^.(]*)\((.*)\)\Z", re.DOTALL)


def arguments_of(overload: Overload) -> tuple[str | None, list[str]]:
    """The receiver's type, if there is one, and those of the arguments."""
    head = overload.signature.rpartition(" -> ")[0]
    before, rest = head.rsplit(f"{overload.name.rpartition('.')[2]}(", 1)
    receiver = None if head.startswith(overload.name) else before.removesuffix(".")
    kinds = re.findall(r"[^,(]+(?:\((?:[^()]|\([^()]*\))*\))?", rest.removesuffix(")"))
    return receiver, [kind.strip() for kind in kinds if kind.strip()]


def case(overload: Overload) -> Case:
    """The hostile case of a function; KeyError if one of its types has no shapes."""
    receiver, kinds = arguments_of(overload)
    name = overload.name
    if name == "@sortByAssociatedKeys":
        return Case(overload.id, "a.sortBy(x, x)", (lists_of(kinds[0][5:-1]),))
    target = ""
    if receiver is not None and receiver.startswith(AUTHORIZER):
        target = AUTHORIZER_CALLS[receiver.removeprefix(AUTHORIZER)] + "."
    elif receiver is not None:
        kinds = [receiver, *kinds]
        target = "a."
    names = "abcd"[1 if target == "a." else 0 : len(kinds)]
    if name == "@in":
        text = "a in b"
    elif name.endswith("_") and name != "_":
        text = name.replace("_", "a", 1) if name[0] != "_" else f"a {name[1:-1]} b"
    else:
        text = f"{target}{name}({', '.join(names)})"
    return Case(
        overload.id,
        text,
        tuple(shapes(kind, name, position) for position, kind in enumerate(kinds)),
    )


# Forms that are no functions: what the planner has nodes for, and every macro.
FORMS = {
    "_?_:_": ("a == b ? a : b", (LISTS, LISTS)),
    "_&&_": ("a == b && b == a", (LISTS, LISTS)),
    "_||_": ("a != b || b != a", (LISTS, LISTS)),
    "_==_": ("a == b", ((*LISTS, *MAPS, *TEXTS[:4]), (*LISTS, *MAPS, *TEXTS[:4]))),
    "_!=_": ("a != b", (MAPS, MAPS)),
    "_[_]": ("a[b]", ((*LISTS, *MAPS), (*NUMBERS, *TEXTS[:3]))),
    "_?._": ("a.?b.?c.hasValue()", (MAPS,)),
    "_[?_]": ("a[?b].hasValue()", ((*LISTS, *MAPS), (*NUMBERS, *TEXTS[:3]))),
    "@not_strictly_false": ("a.all(x, a.exists(y, x != y))", (LISTS,)),
    "cel.@mapInsert": ("a.transformMapEntry(i, x, {x: i})", (LISTS,)),
    "has": ("has(a.b)", (MAPS,)),
    "all": ("a.all(x, a.all(y, x == y))", (LISTS,)),
    "exists": ("a.exists(x, x in a && x == a)", (LISTS,)),
    "exists_one": ("a.exists_one(x, x == a)", (LISTS,)),
    "existsOne": ("a.existsOne(i, x, i < 0)", (LISTS,)),
    "map": ("a.map(x, [x, x]).map(x, x + x)", (LISTS,)),
    "filter": ("a.filter(x, x in a)", (LISTS,)),
    "transformList": ("a.transformList(i, x, [x] + [x])", (LISTS,)),
    "transformMap": ("a.transformMap(i, x, i)", (LISTS,)),
    "transformMapEntry": ("a.transformMapEntry(i, x, {i: x})", (LISTS,)),
    "sortBy": ("a.sortBy(x, string(x))", (LISTS,)),
    "optMap": ("optional.of(a).optMap(x, x + x).hasValue()", (LISTS,)),
    "optFlatMap": ("optional.of(a).optFlatMap(x, optional.of(x + x)).hasValue()", (LISTS,)),
    "doubling of strings": (
        "[1, 2, 3, 4, 5, 6, 7, 8].map(i, a + a).map(x, x + x).map(x, x + x).size() > 0",
        (TEXTS[:4],),
    ),
    "messages": ("(['a'] + a).join()", (LISTS,)),
    "list literals": ("[a, a, a] + [a, a]", (LISTS,)),
    "map literals": ("{'a': a, 'b': dyn([a])} == {'a': a, 'b': dyn([a])}", (LISTS,)),
}  # fmt: skip


def cases() -> dict[str, Case]:
    """Every case by its name: those of functions are named by the overload's id."""
    found = {
        name: Case(name, expression, arguments) for name, (expression, arguments) in FORMS.items()
    }
    for library in KNOWN_LIBRARIES:
        for overload in library.overloads:
            if overload.runs:
                found[overload.id] = case(overload)
    return found


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU time, which others on the machine do not lengthen; ``ended`` by a budget, or not."""

    nanos: int
    ended: str
    shapes: str


def slowest(case: Case, size: int, deadline: int = DEADLINE, tries: int = 3) -> Timing:
    """The time of the combination that takes longest; each that takes long is tried again."""
    worst = Timing(0, "", "")
    for values in case.values(size):
        found = timed(case, values, deadline)
        for _ in range(tries - 1):
            if found.nanos <= max(worst.nanos, DEADLINE):
                break
            found = min(found, timed(case, values, deadline), key=lambda each: each.nanos)
        if found.nanos > worst.nanos:
            worst = found
    return worst


def timed(case: Case, values: dict[str, Any], deadline: int) -> Timing:
    program = compiled(case.expression, "".join(values))
    variables = {**authorizers.variables(), **values}
    ended = ""
    start = thread_time_ns()
    try:
        program.evaluate_with_cost(variables, deadline=perf_counter_ns() + deadline)
    except BudgetExceeded as exceeded:
        ended = str(exceeded)
    spent = thread_time_ns() - start
    return Timing(spent, ended, ", ".join(shown(value) for value in values.values()))


def shown(value: Any) -> str:
    """The beginning of a value, to find it again in a report."""
    if isinstance(value, str):
        return f"{value[:12]!r}*{len(value)}"
    if isinstance(value, list):
        return f"list of {len(value)}"
    if isinstance(value, dict):
        return f"map of {len(value)}"
    return f"{value}" if isinstance(value, int | float) else type(value).__name__
