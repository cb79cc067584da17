"""The overload rows that a version of Kubernetes knows, by id and by name, as the planner looks
them up.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from policyd._core.libraries import KNOWN_LIBRARIES
from policyd._core.library import Overload
from policyd.versions import OLDEST, KubernetesVersion

_ANY_NUMBER = -1


@dataclass(frozen=True, slots=True)
class Functions:
    by_id: dict[str, Overload]
    by_name: dict[str, tuple[Overload, ...]]

    @classmethod
    def of(cls, rows: Iterable[Overload]) -> "Functions":
        by_id, by_name = {}, defaultdict(list)
        for row in rows:
            by_id[row.id] = row
            by_name[row.name].append(row)
        return cls(by_id, {name: tuple(found) for name, found in by_name.items()})

    def candidates(self, name: str, arity: int) -> tuple[Overload, ...]:
        """The rows that a call with this many arguments may run, in the order they are tried."""
        rows = self.by_name.get(name, ())
        return tuple(row for row in rows if row.arity in (arity, _ANY_NUMBER) and row.runs)


@cache
def introduced() -> dict[str, KubernetesVersion]:
    """The version that each overload came with, by id; one that is older than all supported ones
    came with the oldest. An overload that changed has several rows.
    """
    found: dict[str, KubernetesVersion] = {}
    for library in KNOWN_LIBRARIES:
        for row in library.overloads:
            since = row.introduced or OLDEST
            found[row.id] = min(since, found.get(row.id, since))
    return found


@cache
def functions(version: KubernetesVersion) -> Functions:
    """The rows that a version knows."""
    rows = (row for library in KNOWN_LIBRARIES for row in library.overloads)
    return Functions.of(row for row in rows if row.known_to(version))
