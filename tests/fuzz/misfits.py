"""Calls whose arguments the checker cannot see: right and wrong ones behind ``dyn``, optionals in
their place, and lists of which only the first element fits. Costs and texts of run-time errors.
"""

from random import Random

from tests.cel.kubernetes import functions
from tests.fuzz import words

VALUES = (
    *words.INTS,
    *words.UINTS,
    *words.DOUBLES,
    *words.BYTES,
    *words.MISSING_PATHS,
    "'a'",
    "'b'",
    "''",
    "true",
    "false",
    "null",
    "int",
    "[1]",
    "['a']",
    "{'a': 1}",
    "[[1], [2]]",
    "duration('1h')",
    "duration('1s')",
    "timestamp(0)",
    "timestamp('2024-06-15T08:09:10+05:30')",
    "quantity('1')",
    "semver('1.2.3')",
    "ip('10.0.0.1')",
    "cidr('10.0.0.0/8')",
    "url('/a')",
    "format.uri()",
    "optional.none()",
    "optional.of('a')",
    "object.spec.list",
    "object.?spec.list",
)
# Operators and macros are the business of the other grammars.
NAMES = sorted(name for name in functions() if name.replace(".", "").isalnum())
METHODS = ("sort", "distinct", "min", "max", "sum", "isSorted", "join", "flatten", "unwrapOpt")
OF_PATCHES = "jsonpatch."  # only mutations have it


class Misfits:
    def __init__(self, random: Random) -> None:
        self.random = random

    def expression(self) -> str:
        return self._list_call() if self.random.random() < 0.3 else self._call()

    def _call(self) -> str:
        name = self.random.choice(NAMES)
        overload = self.random.choice(functions()[name])
        arguments = [self._hidden() for _ in overload.args]
        if name.startswith(OF_PATCHES):
            return self._list_call()
        if overload.member and arguments:
            return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
        return f"{name}({', '.join(arguments)})"

    def _hidden(self) -> str:
        chance = self.random.random()
        if chance < 0.15:
            return f"dyn(optional.of({self._value()}))"
        return f"dyn({self._mixed()})" if chance < 0.3 else f"dyn({self._value()})"

    def _mixed(self) -> str:
        """A list whose first elements are of one type, the last one of any."""
        first = self._value()
        others = ", ".join(f"dyn({self._value()})" for _ in range(self.random.randrange(1, 3)))
        return f"[dyn({first}), dyn({first}), {others}]"

    def _list_call(self) -> str:
        argument = self._hidden() if self.random.random() < 0.3 else ""
        return f"{self._mixed()}.{self.random.choice(METHODS)}({argument})"

    def _value(self) -> str:
        return self.random.choice(VALUES)
