"""The overloads that a version of Kubernetes supports, by id and by name, for the planner."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from policyd._core.eval.functions import Overload
from policyd._core.lib.libraries import KNOWN_LIBRARIES
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
        """Return the overloads for a call with this many arguments, in the order they are tried."""
        rows = self.by_name.get(name, ())
        known = (arity, _ANY_NUMBER)
        return tuple([row for row in rows if row.arity in known and row.runs])


@dataclass(frozen=True, slots=True)
class Declaration:
    """One overload across versions. ``since`` is the oldest supported version for anything older;
    ``removed`` is None for an overload that still exists.
    """

    id: str
    name: str
    signature: str
    since: KubernetesVersion
    removed: KubernetesVersion | None


@cache
def declarations() -> tuple[Declaration, ...]:
    """Return the overloads of all supported versions. A changed overload has several rows."""
    found: dict[str, list[Overload]] = defaultdict(list)
    for library in KNOWN_LIBRARIES:
        for row in library.overloads:
            found[row.id].append(row)
    return tuple(_declaration(rows) for rows in found.values())


def _declaration(rows: list[Overload]) -> Declaration:
    first = rows[0]
    since = min(row.introduced or OLDEST for row in rows)
    ends = [row.removed for row in rows if row.removed is not None]
    removed = max(ends) if len(ends) == len(rows) else None
    return Declaration(first.id, first.name, first.signature, since, removed)


@cache
def introduced() -> dict[str, KubernetesVersion]:
    """Return the version that introduced each overload, by id."""
    return {each.id: each.since for each in declarations()}


@cache
def functions(version: KubernetesVersion) -> Functions:
    """Return the overloads that a version supports."""
    rows = (row for library in KNOWN_LIBRARIES for row in library.overloads)
    return Functions.of(row for row in rows if row.known_to(version))
