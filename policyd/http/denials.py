"""The recent denials on the admin port: merges several processes' denials, and applies queries."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from policyd.errors import ReviewError

# Denials of one process, and of one page.
MOST = 200
_NAMES = ("namespace", "policy", "since", "limit")
# Digits of a sequence: microseconds since 1970.
_DIGITS = 16
_Row = Mapping[str, Any]


class RecentDenials(NamedTuple):
    """Denials ordered by ``sequence``. ``next`` is the highest sequence possible so far: later
    denials get a higher one. No denial after ``complete_since`` is missing.
    """

    rows: Sequence[_Row]
    next: int
    complete_since: int


# For a process that is not known yet: clients that follow the denials request all again.
NONE = RecentDenials((), 0, 0)


class DenialQuery(NamedTuple):
    """Selects denials with a higher sequence than ``since``, and of these the last ``limit``."""

    namespace: str = ""
    policy: str = ""
    since: int = 0
    limit: int = MOST

    def page(self, recent: RecentDenials) -> dict[str, Any]:
        """Return the selected denials as the body of a response."""
        rows = [
            row
            for row in recent.rows
            if row["sequence"] > self.since
            and (not self.namespace or row.get("namespace") == self.namespace)
            and (not self.policy or row["policy"] == self.policy)
        ]
        return {
            "denials": rows[-self.limit :],
            "next": recent.next,
            "completeSince": recent.complete_since,
        }


def merged(parts: Iterable[RecentDenials]) -> RecentDenials:
    """Return the last denials of several processes as one list."""
    parts = tuple(parts)
    rows = sorted(chain.from_iterable(part.rows for part in parts), key=_sequence)
    complete = max((part.complete_since for part in parts), default=0)
    if len(rows) > MOST:
        complete = max(complete, rows[-MOST - 1]["sequence"])
    # A process may have recorded a denial since another process answered.
    return RecentDenials(rows[-MOST:], min((part.next for part in parts), default=0), complete)


def denial_query(query: str, policy: str = "") -> DenialQuery:
    """Parse a query string; for the path of one ``policy`` it may name no policy. Raises
    ReviewError.
    """
    given: dict[str, str] = {}
    names = [each for each in _NAMES if each != "policy" or not policy]
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in names:
            raise ReviewError(f"expected {', '.join(names[:-1])} or {names[-1]}, got {_cut(name)}")
        if name in given:
            raise ReviewError(f"{name}: expected one value, got a second one: {_cut(value)}")
        if not value:
            raise ReviewError(f"{name}: expected a value, got none")
        given[name] = value
    return DenialQuery(
        given.get("namespace", ""),
        policy or given.get("policy", ""),
        _since(given["since"]) if "since" in given else 0,
        _limit(given["limit"]) if "limit" in given else MOST,
    )


def _since(value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return int(moment.timestamp() * 1e6)
    except (ValueError, OverflowError):
        pass
    raise ReviewError(
        f"since: expected a sequence or a time like 2026-11-22T09:07:49Z, got {_cut(value)}"
    )


def _limit(value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) <= _DIGITS and 1 <= int(value) <= MOST:
        return int(value)
    raise ReviewError(f"limit: expected a number from 1 to {MOST}, got {_cut(value)}")


def _cut(value: str) -> str:
    return repr(value[:80])


def _sequence(row: _Row) -> int:
    sequence: int = row["sequence"]
    return sequence
