from collections.abc import Callable, Container, Iterable
from typing import Any, Protocol, final

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.program import Program
from policyd._core.json.request import AdmissionRequest
from policyd._core.match.matcher import Hit
from policyd._core.schema.types import Field

ROOTS: tuple[str, ...]
_Gvk = tuple[str, str, str]
_Reads = Callable[[Any, bool], Any]
_ReadSlots = tuple[tuple[int, Any, bool], ...]

class _GoTypes(Protocol):
    def go_type(self, gvk: tuple[str, str, str]) -> Field | None: ...

class Stopped(Exception): ...
class TimedOut(Stopped): ...

@final
class Subject:
    def __init__(
        self,
        object: Any,
        old_object: Any,
        request: Any,
        conditions_request: Any,
        namespace_object: Any,
        authorizer: Any = None,
        within: str = "",
        unreadable: str = "",
        reads: _Reads | None = None,
    ) -> None: ...
    @property
    def request(self) -> Any: ...
    @property
    def conditions_request(self) -> Any: ...
    def seeing(self, object: Any) -> Subject: ...
    @property
    def object(self) -> Any: ...
    @property
    def old_object(self) -> Any: ...
    @property
    def namespace_object(self) -> Any: ...
    @property
    def authorizer(self) -> Any: ...
    @property
    def reads(self) -> Any: ...
    @property
    def within(self) -> str: ...
    @property
    def unreadable(self) -> str: ...

def subject_of(
    hit: Hit,
    object: Any,
    old_object: Any,
    sent: AdmissionRequest,
    namespace_object: Any,
    authorizer: Any,
    within: str,
    kind: _Gvk,
    go_types: _GoTypes,
    reads: _Reads | None,
) -> Subject: ...
def typing_of(go_types: _GoTypes, roots: tuple[tuple[Any, tuple[str, str, str]], ...]) -> Any: ...

@final
class Frame:
    def __init__(
        self,
        slots: int,
        names: dict[str, int],
        variables: int,
        used: Container[str],
        typed: bool = False,
        params_kind: _Gvk | None = None,
        reads: _ReadSlots = (),
    ) -> None: ...
    @property
    def uses_authorizer(self) -> bool: ...
    @property
    def sees_namespace(self) -> bool: ...
    @property
    def reads(self) -> tuple[Any, ...]: ...
    @property
    def variables(self) -> int: ...

class Plan:
    def __init__(
        self, conditions: Iterable[Program], frame: Frame, fail: bool, counters: PolicyCounters
    ) -> None: ...
    @property
    def conditions(self) -> tuple[Program, ...]: ...
    @property
    def frame(self) -> Frame: ...
    @property
    def fail(self) -> bool: ...

class PlannedPolicy:
    direct_validation: tuple[Any, Any] | None
    direct_mutation: Any
