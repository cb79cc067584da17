from collections.abc import Container, Iterable
from typing import Any, final

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.program import Program
from policyd._core.json.request import AdmissionRequest
from policyd._core.match.matcher import Hit

ROOTS: tuple[str, ...]

class Stopped(Exception): ...
class TimedOut(Stopped): ...

@final
class Subject:
    object: Any
    old_object: Any
    namespace_object: Any
    authorizer: Any
    within: str
    unreadable: str
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
    ) -> None: ...
    @property
    def request(self) -> Any: ...
    @property
    def conditions_request(self) -> Any: ...
    def seeing(self, object: Any) -> Subject:
        """A copy with another ``object``."""

def subject_of(
    hit: Hit,
    object: Any,
    old_object: Any,
    sent: AdmissionRequest,
    namespace_object: Any,
    authorizer: Any,
    within: str,
) -> Subject:
    """The Subject of policies matched by ``hit``. ``request`` is the one ``sent``; policies see the
    kind and resource that they match in it.
    """

@final
class Frame:
    uses_authorizer: bool
    sees_namespace: bool
    variables: int
    def __init__(
        self, slots: int, names: dict[str, int], variables: int, used: Container[str]
    ) -> None: ...

class Plan:
    conditions: tuple[Program, ...]
    frame: Frame
    fail: bool
    def __init__(
        self, conditions: Iterable[Program], frame: Frame, fail: bool, counters: PolicyCounters
    ) -> None: ...

class PlannedPolicy:
    """What the core reads of a policy for each request: its direct form. None: it
    is evaluated step by step.
    """

    simple: tuple[Any, Any] | None  # (ValidationPlan, params)
    direct_mutation: Any  # MutationInvocation | None
