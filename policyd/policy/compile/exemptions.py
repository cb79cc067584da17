"""The ``exceptions`` of a Policy: the requests that it skips, and until when. Nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from policyd._core.match.selectors import Selector
from policyd._core.pattern.strings import Wildcard

Today = Callable[[], datetime]


def wildcard(patterns: tuple[str, ...]) -> Callable[[str], bool] | None:
    """Return a test whether any of the ``*`` and ``?`` patterns matches; None without patterns."""
    if not patterns:
        return None
    tests = tuple(Wildcard(pattern).matches for pattern in patterns)
    return lambda text: any(test(text) for test in tests)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Exemption:
    """One exception; all criteria that are set must hold.

    ``validations`` are the indexes of the skipped validations; empty: the whole policy, with its
    mutations. ``ends`` is the time (UTC) when it expires: the end of the day ``until``.
    """

    name: str
    reason: str = ""
    namespaces: Callable[[str], bool] | None = None
    names: Callable[[str], bool] | None = None
    users: Callable[[str], bool] | None = None
    groups: Callable[[str], bool] | None = None
    operations: frozenset[str] = frozenset()
    selector: Selector | None = None
    validations: frozenset[int] = frozenset()
    ends: datetime | None = None
    now: Today = _now

    def applies(
        self,
        operation: str,
        namespace: str,
        name: str,
        user: Mapping[str, object],
        labels: dict[str, str] | None,
    ) -> bool:
        """Whether this exception covers a request; ``labels`` are those of the object that the
        policy evaluates (None: they cannot be read, and no selector matches).
        """
        if self.ends is not None and self.now() >= self.ends:
            return False
        if self.operations and operation not in self.operations:
            return False
        if self.namespaces is not None and not self.namespaces(namespace):
            return False
        if self.names is not None and not self.names(name):
            return False
        if self.users is not None and not self.users(str(user.get("username", ""))):
            return False
        if self.groups is not None:
            groups = user.get("groups")
            if not isinstance(groups, list) or not any(map(self.groups, groups)):
                return False
        if self.selector is None:
            return True
        return labels is not None and self.selector.matches(labels)


def end_of(day: date) -> datetime:
    """Return the time at which a day ends in UTC."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)
