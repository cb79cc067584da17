"""The ``exceptions`` of a Policy: who is let through, and until when. Decides nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from policyd._core.match.selectors import Selector
from policyd._core.pattern.strings import Wildcard

Today = Callable[[], datetime]


def wildcard(patterns: tuple[str, ...]) -> Callable[[str], bool] | None:
    """A test for ``*`` and ``?`` patterns; one that fits suffices. None if there
    are no patterns.
    """
    if not patterns:
        return None
    tests = tuple(Wildcard(pattern).matches for pattern in patterns)
    return lambda text: any(test(text) for test in tests)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Exemption:
    """One exception; all criteria that are given must hold.

    ``validations`` are the indexes that it lifts; empty: the whole policy, its mutations too.
    ``ends`` is the moment (UTC) from which it no longer applies: the end of the day ``until``.
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
        policy sees (None: they cannot be read, and no selector fits).
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
    """The moment in which the given day is over in UTC."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)
