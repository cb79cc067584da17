"""The overload rows of the known libraries, by id and by name, as the planner looks them up."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from policyd._core.libraries import KNOWN_LIBRARIES
from policyd._core.library import Library, Overload

_ANY_NUMBER = -1


@dataclass(frozen=True, slots=True)
class Functions:
    by_id: dict[str, Overload]
    by_name: dict[str, tuple[Overload, ...]]

    @classmethod
    def of(cls, libraries: Iterable[Library]) -> "Functions":
        by_name = defaultdict(list)
        for library in libraries:
            for overload in library.overloads:
                by_name[overload.name].append(overload)
        rows = {row.id: row for library in libraries for row in library.overloads}
        return cls(rows, {name: tuple(found) for name, found in by_name.items()})

    def candidates(self, name: str, arity: int) -> tuple[Overload, ...]:
        """The rows that a call with this many arguments may run, in the order they are tried."""
        rows = self.by_name.get(name, ())
        return tuple(row for row in rows if row.arity in (arity, _ANY_NUMBER) and row.runs)


FUNCTIONS = Functions.of(KNOWN_LIBRARIES)
