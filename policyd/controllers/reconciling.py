"""Writes objects until the API server holds the wanted state, while others may change them too.

An object that seems to differ is read again before a write: the stored state decides, not the last
write. Objects that others keep changing are repaired less and less often. Does not know the purpose
of the objects.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from math import inf
from time import monotonic

from policyd.cluster.objects import ObjectClient, ObjectError, or_none
from policyd.controllers.controller import reason
from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField, changed_by, shown
from policyd.observability.logs import Log
from policyd.ownership import MANAGER

# An object that others change is repaired at once, then at this pace for the first times, then
# after twice the pause each time.
PAUSE_SECONDS = 1.0
QUICK_REPAIRS = 5
LONGEST_PAUSE_SECONDS = 300.0
# A deleted object enforces nothing: it is restored at least this often.
LONGEST_GONE_SECONDS = 4.0
# The same after errors, which end without notice. A deletion after errors is repaired at once,
# unless there was one within QUIET_SECONDS.
LONGEST_ERROR_SECONDS = 30.0
# After others left an object alone for this long, it is again repaired at once.
QUIET_SECONDS = 300.0
# Pauses are multiplied by a random number, so that two writers do not stay synchronized.
SPREAD = (0.8, 1.2)
# How soon to compare an object again that is correct, but not yet in the watch.
LATE_SECONDS = 1.0
_FIELDS = 5  # named in one log line


@dataclass(frozen=True)
class Aim(ABC):
    """The wanted state of one object: its kind and name, its path, its name in the log, and a
    ``version`` that changes only with the wanted state: other differences are changes by others.
    With ``whole`` the complete object is replaced if others changed it; otherwise policyd only
    applies the wanted fields.
    """

    key: tuple[str, str]
    path: str
    name: str
    version: object
    _: KW_ONLY
    whole: bool = False

    @abstractmethod
    def wanted(self, found: JSONObject | None) -> JSONObject | None:
        """Return the object to store, given the stored one; None for no object."""

    @abstractmethod
    def differences(self, found: JSONObject, wanted: JSONObject) -> Sequence[ManagedField]:
        """Return the fields whose stored and wanted values differ in meaning."""

    def replacing(self, found: JSONObject, wanted: JSONObject) -> JSONObject:
        """Return the object that replaces the stored one, no matter who wrote it."""
        return wanted

    def urgent(self, found: JSONObject | None) -> bool:
        """Whether the stored object enforces nothing."""
        return found is None

    def written(self, stored: JSONObject | None) -> str:
        """Return the log message after a write, or a deletion (None)."""
        return f"{self.name} was {'deleted' if stored is None else 'written'}"


@dataclass(frozen=True, slots=True)
class ReconcileStep:
    """The outcome for an object. ``pause``: the seconds until the next step may be due. ``error``:
    why the API server did not store the wanted object.
    """

    in_step: bool
    pause: float = inf
    wrote: bool = False
    error: ObjectError | None = None


_UNKNOWN = object()


@dataclass(eq=False, slots=True)
class _Record:
    """The history of an object that differed."""

    known: object = _UNKNOWN  # the version of the aim that was stored
    repairs: int = 0  # of changes by others, since they last left it alone for long
    failures: int = 0  # in a row
    tried_at: float = -inf
    gone: bool = False  # whether the object stored at the last check enforces nothing
    hurried_at: float = -inf  # when a deletion was last repaired at once after errors
    spread: float = 1.0
    differs_since: float | None = None
    problem: str = ""


@dataclass(eq=False)
class Reconciler:
    """Writes the objects of one controller. ``holds``: whether this replica writes; ``writes``
    counts success, error and conflict. ``event`` is the event of its log lines.
    """

    client: ObjectClient
    event: str
    log: Log
    _: KW_ONLY
    holds: Callable[[], bool]
    writes: dict[str, int]
    clock: Callable[[], float] = monotonic
    _records: dict[tuple[str, str], _Record] = field(default_factory=dict, init=False)

    @property
    def problem(self) -> str:
        """Why objects are not in step, or will not stay so; empty if they are."""
        return "; ".join(each.problem for each in self._records.values() if each.problem)

    def forget_all(self) -> None:
        """Forget changes by others, because another replica writes now."""
        self._records.clear()

    def forget(self, key: tuple[str, str]) -> None:
        """Forget an object that is no longer written."""
        self._records.pop(key, None)

    def rest(
        self, versions: Mapping[tuple[str, str], object], known: Container[tuple[str, str]]
    ) -> float:
        """Record objects that are correct, with their versions, and forget those that are no longer
        ``known``; return how long others must leave changed objects alone.
        """
        now = self.clock()
        self._records = {
            key: each
            for key, each in self._records.items()
            if key in known or now - each.tried_at < QUIET_SECONDS
        }
        records = ((self._record(key), each) for key, each in versions.items())
        return min((self._settled(record, each, now) for record, each in records), default=inf)

    async def step(self, aim: Aim, seen: JSONObject | None) -> ReconcileStep:
        """Bring an object in step, which the watch shows as ``seen``, or return when to try."""
        record = self._record(aim.key)
        now = self.clock()
        if _differing(aim, seen, aim.wanted(seen)) is None:
            return ReconcileStep(True, self._settled(record, aim.version, now))
        pause = self._pause(record, aim, seen, now)
        if pause > 0:
            return ReconcileStep(False, pause)
        try:
            return await self._repair(record, aim, now)
        except ObjectError as error:
            record.tried_at = now
            if error.status == HTTPStatus.CONFLICT:  # another client wrote meanwhile
                record.known, record.repairs = aim.version, max(1, record.repairs)
                return ReconcileStep(False, PAUSE_SECONDS)
            record.failures += 1
            record.problem = f"cannot write the {aim.name}: {reason(error)}"
            self.writes["error"] += 1
            return ReconcileStep(False, self._pause(record, aim, seen, now), error=error)

    def _record(self, key: tuple[str, str]) -> _Record:
        return self._records.setdefault(key, _Record())

    def _settled(self, record: _Record, version: object, now: float) -> float:
        """Record that an object is correct; return how long others must leave it alone."""
        record.known, record.differs_since, record.failures = version, None, 0
        record.gone = False
        if record.repairs > QUICK_REPAIRS and now - record.tried_at < QUIET_SECONDS:
            return record.tried_at + QUIET_SECONDS - now
        record.problem = ""
        return inf

    def _pause(self, record: _Record, aim: Aim, seen: JSONObject | None, now: float) -> float:
        """Record that an object differs; return the seconds until it may be written."""
        if record.differs_since is None:
            record.differs_since = now
            if now - record.tried_at >= QUIET_SECONDS:
                record.repairs = 0
        urgent = aim.urgent(seen)
        lost, record.gone = urgent and not record.gone, urgent
        longest, doubled = LONGEST_PAUSE_SECONDS, record.repairs - QUICK_REPAIRS
        if record.failures:
            if lost and now - record.hurried_at >= QUIET_SECONDS:
                record.hurried_at = now
                return 0.0
            longest, doubled = LONGEST_ERROR_SECONDS, record.failures - 1
        elif not record.repairs or record.known != aim.version:
            return 0.0
        elif urgent:
            longest = LONGEST_GONE_SECONDS
        pause = min(PAUSE_SECONDS * 2.0 ** min(max(doubled, 0), 20), longest)
        return record.tried_at + pause * record.spread - now

    async def _repair(self, record: _Record, aim: Aim, now: float) -> ReconcileStep:
        """Write an object unless it is correct."""
        record.spread = random.uniform(*SPREAD)  # noqa: S311 - a pause, no secret
        found = await or_none(self.client.get(aim.path))
        wanted = aim.wanted(found)
        fields = _differing(aim, found, wanted)
        if fields is None:  # the watch is late
            self._settled(record, aim.version, now)
            return ReconcileStep(True, LATE_SECONDS)
        if not self.holds():
            return ReconcileStep(False)
        others = record.known == aim.version
        if others:
            record.repairs += 1
            self.writes["conflict"] += 1
        record.tried_at = now
        stored = await self._write(aim, found, wanted)
        self.writes["success"] += 1
        record.known, record.failures = aim.version, 0
        if others:
            self._log_conflict(record, aim, _Conflict(found, wanted, fields))
        else:
            self.log.write("info", self.event, aim.written(stored))
        if _differing(aim, stored, wanted) is not None:
            return ReconcileStep(False, PAUSE_SECONDS, wrote=True)
        return ReconcileStep(True, self._settled(record, aim.version, now), wrote=True)

    async def _write(
        self, aim: Aim, found: JSONObject | None, wanted: JSONObject | None
    ) -> JSONObject | None:
        """Apply; replace the whole object if the changes of other managers remain."""
        if wanted is None:
            await self._delete(aim.path, found or {})
            return None
        if aim.whole:
            return await self.client.replace(aim.path, wanted)
        try:
            stored = await self.client.apply(aim.path, wanted, MANAGER, force=True)
        except ObjectError as error:
            # Without an item that another manager also wrote to, a part of it would remain.
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY or found is None:
                raise
            stored = found
        if aim.differences(stored, wanted):
            return await self.client.replace(aim.path, aim.replacing(stored, wanted))
        return stored

    async def _delete(self, path: str, found: JSONObject) -> None:
        metadata = found.get("metadata") or {}
        uid, version = (str(metadata.get(each) or "") for each in ("uid", "resourceVersion"))
        await or_none(self.client.delete(path, uid=uid, resource_version=version))

    def _log_conflict(self, record: _Record, aim: Aim, conflict: "_Conflict") -> None:
        """Log who changed an object that policyd wrote; once repairs are delayed, also report a
        problem.
        """
        if record.repairs > QUICK_REPAIRS:
            record.problem = (
                f"the {aim.name} is {conflict.what} each time it is written, so it is written"
                " less and less often"
            )
        message = f"the {aim.name} was {conflict.what}; it was {conflict.answer} again"
        manager, repairs = conflict.manager, record.repairs
        self.log.write("warning", self.event, message, manager=manager, repairs=repairs)


class _Conflict:
    """A change that another client made to an object, and policyd's response."""

    def __init__(
        self, found: JSONObject | None, wanted: JSONObject | None, fields: Sequence[ManagedField]
    ) -> None:
        self.manager = changed_by(found or {}, fields)
        self.answer = "deleted" if wanted is None else "written"
        by = f" by {self.manager}" if self.manager else ""
        self.what = (
            "deleted" if found is None else f"made{by}" if wanted is None else f"changed{by}"
        )
        if fields:
            names = [*map(shown, fields[:_FIELDS]), *(["…"] if len(fields) > _FIELDS else [])]
            self.what += f" ({', '.join(names)})"


def _differing(
    aim: Aim, found: JSONObject | None, wanted: JSONObject | None
) -> Sequence[ManagedField] | None:
    """Return the fields that differ, empty if all do; None if none does."""
    if found is None or wanted is None:
        return None if found is wanted else ()
    return aim.differences(found, wanted) or None
