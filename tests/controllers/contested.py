"""An API server whose objects others change too, and a watch of it that may be late or lose events.
No tests here.
"""

import copy
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from policyd.cluster.objects import ObjectError
from policyd.controllers.reconciling import Aim
from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField, field_path
from policyd.ownership import MANAGER

Result = TypeVar("Result")
FOREIGN = "aks-enforcer"


def at_once(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("it waited")


class Contested:
    """Implements the requests of ObjectClient that a Reconciler sends. ``errors`` are the statuses
    of the next answers, ``meanwhile`` what somebody does before the next write arrives.
    """

    def __init__(self) -> None:
        self.stored: dict[str, JSONObject] = {}
        self.seen: dict[str, JSONObject] = {}  # by the watch
        self.sent: list[str] = []
        self.errors: list[int] = []
        self.forced = False  # whether others' parts survive an apply
        self._events: list[tuple[str, JSONObject | None]] = []
        self._version = 0

    # What policyd sends.

    async def get(self, path: str) -> JSONObject:
        self._answer("GET", path)
        return copy.deepcopy(self._found(path))

    async def apply(
        self, path: str, body: JSONObject, manager: str, *, force: bool, dry_run: bool = False
    ) -> JSONObject:
        self._answer("APPLY", path)
        spec = dict(body["spec"])
        if self.forced and path in self.stored:
            spec = {**self.stored[path]["spec"], **spec}
        return self.put(path, spec, manager)

    async def replace(self, path: str, body: JSONObject) -> JSONObject:
        self._answer("PUT", path)
        if body["metadata"]["resourceVersion"] != self._found(path)["metadata"]["resourceVersion"]:
            raise ObjectError(f"{path} changed", 409, "Conflict")
        return self.put(path, body["spec"], MANAGER)

    async def delete(self, path: str, *, uid: str = "", resource_version: str = "") -> JSONObject:
        self._answer("DELETE", path)
        if self._found(path)["metadata"]["resourceVersion"] != resource_version:
            raise ObjectError(f"{path} changed", 409, "Conflict")
        self.remove(path)
        return {}

    @property
    def writes(self) -> int:
        """How many writes arrived."""
        return sum(not each.startswith("GET") for each in self.sent)

    # What others do.

    def put(self, path: str, spec: JSONObject, manager: str = FOREIGN) -> JSONObject:
        """Store an object, as its only manager."""
        known = self.stored.get(path)
        if known is not None and known["spec"] == spec:
            return copy.deepcopy(known)  # a write that changes nothing has no new version
        self._version += 1
        fields: JSONObject = {"f:spec": {f"f:{each}": {} for each in spec}}
        entry = {"manager": manager, "time": "2027-01-01T00:00:00Z", "fieldsV1": fields}
        version = str(self._version)
        metadata = {"uid": path, "resourceVersion": version, "managedFields": [entry]}
        self.stored[path] = {"metadata": metadata, "spec": dict(spec)}
        self._events.append((path, copy.deepcopy(self.stored[path])))
        return copy.deepcopy(self.stored[path])

    def remove(self, path: str) -> None:
        self._version += 1
        del self.stored[path]
        self._events.append((path, None))

    # What the watch does.

    def deliver(self, count: int) -> None:
        """Show the next events."""
        for path, found in self._events[:count]:
            if found is None:
                self.seen.pop(path, None)
            else:
                self.seen[path] = found
        del self._events[:count]

    def lose(self, count: int) -> None:
        """Lose the next events."""
        del self._events[:count]

    def relist(self) -> None:
        self.seen = copy.deepcopy(self.stored)
        self._events.clear()

    def _answer(self, method: str, path: str) -> None:
        self.sent.append(f"{method} {path}")
        if self.errors:
            status = self.errors.pop(0)
            if status:
                raise ObjectError(f"{method} {path}: the API server answered {status}", status)

    def _found(self, path: str) -> JSONObject:
        if path not in self.stored:
            raise ObjectError(f"{path} not found", 404, "NotFound")
        return self.stored[path]


@dataclass(frozen=True)
class SpecAim(Aim):
    """An object with this spec, or none."""

    spec: Mapping[str, int] | None

    def wanted(self, found: JSONObject | None) -> JSONObject | None:
        return None if self.spec is None else {"metadata": {}, "spec": dict(self.spec)}

    def differences(self, found: JSONObject, wanted: JSONObject) -> Sequence[ManagedField]:
        one, other = found["spec"], wanted["spec"]
        names = sorted(one.keys() | other.keys())
        return [field_path("spec", each) for each in names if one.get(each) != other.get(each)]

    def replacing(self, found: JSONObject, wanted: JSONObject) -> JSONObject:
        return {**wanted, "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}


def spec_aim(path: str, spec: Mapping[str, int] | None) -> SpecAim:
    return SpecAim(("Thing", path), path, f"Thing {path}", spec, spec)
