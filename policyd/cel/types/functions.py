"""The overloads that a version of Kubernetes supports, by id and by name, for the planner, and the
order in which cel-go tries the overloads of a function. The order shows if the type of an operand
is unknown: ``{}['a'] + x`` takes the first overload that fits. Overloads that ``_IDS`` does not
list are tried in the order of their library's table.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from policyd._core.eval.functions import Overload
from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.types.declarations import OverloadDecl
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
        """Return the overloads for a call with this many arguments, in trial order."""
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


_ORDERED = (
    "bool", "int64", "int64_double", "int64_uint64", "uint64", "uint64_double", "uint64_int64",
    "double", "double_int64", "double_uint64", "string", "bytes", "timestamp", "duration",
)  # fmt: skip
_NUMBERS = ("double", "int64", "uint64")
_IDS = (
    *(f"{name}_{kind}" for name in ("negate", "multiply", "divide") for kind in _NUMBERS),
    "add_bytes", "add_double", "add_duration_duration", "add_duration_timestamp",
    "add_timestamp_duration", "add_int64", "add_list", "add_string", "add_uint64",
    "subtract_double", "subtract_duration_duration", "subtract_int64",
    "subtract_timestamp_duration", "subtract_timestamp_timestamp", "subtract_uint64",
    *(
        f"{name}_{kind}"
        for name in ("less", "less_equals", "greater", "greater_equals")
        for kind in _ORDERED
    ),
    "list_a_index_of_int", "string_index_of_string", "string_index_of_string_int",
    "list_a_last_index_of_int", "string_last_index_of_string", "string_last_index_of_string_int",
    "int64_to_int64", "double_to_int64", "duration_to_int64", "string_to_int64",
    "timestamp_to_int64", "uint64_to_int64", "string_to_ip", "cidr_ip",
    "string_to_string", "bool_to_string", "bytes_to_string", "double_to_string",
    "duration_to_string", "int64_to_string", "timestamp_to_string", "uint64_to_string",
    "ip_to_string", "cidr_to_string",
)  # fmt: skip
_RANK = {overload: rank for rank, overload in enumerate(_IDS)}


def in_order(overloads: Iterable[OverloadDecl]) -> list[OverloadDecl]:
    """Return the overloads, each function's in trial order."""
    return sorted(overloads, key=lambda overload: _RANK.get(overload.id, len(_RANK)))
