from collections.abc import Iterable
from typing import Any, final

from policyd._core.counters import PolicyCounters
from policyd._core.program import Program

class Stopped(Exception): ...
class TimedOut(Stopped): ...

@final
class Subject:
    object: Any
    old_object: Any
    request: Any
    conditions_request: Any
    namespace_object: Any
    authorizer: Any
    def __init__(
        self,
        object: Any,
        old_object: Any,
        request: Any,
        conditions_request: Any,
        namespace_object: Any,
        authorizer: Any = None,
    ) -> None: ...

@final
class Frame:
    slots: int
    variables: int
    def __init__(self, slots: int, names: dict[str, int], variables: int) -> None: ...

@final
class Validation:
    program: Program
    message_program: Program | None
    message: str
    reason: str
    def __init__(
        self,
        program: Program,
        expression: str,
        message: str,
        message_program: Program | None,
        reason: str,
    ) -> None: ...

@final
class Outcome:
    failures: list[tuple[int, str, str, bool]]
    annotations: list[tuple[str, str]]
    annotation_errors: list[str]
    ignored: list[str]
    timed_out: bool

class Plan:
    conditions: tuple[Program, ...]
    frame: Frame
    fail: bool

@final
class ValidationPlan(Plan):
    validations: tuple[Validation, ...]
    annotations: tuple[tuple[str, Program], ...]
    def __init__(
        self,
        conditions: Iterable[Program],
        frame: Frame,
        fail: bool,
        counters: PolicyCounters,
        validations: Iterable[Validation],
        annotations: Iterable[tuple[str, Program]],
    ) -> None: ...
    def run(
        self, subject: Subject, params: Any, deadline: int, exempt: frozenset[int]
    ) -> Outcome | None: ...

@final
class MutationPlan(Plan):
    programs: tuple[Program, ...]
    def __init__(
        self,
        conditions: Iterable[Program],
        frame: Frame,
        fail: bool,
        counters: PolicyCounters,
        programs: Iterable[Program],
    ) -> None: ...
    def matches(self, subject: Subject, params: Any, deadline: int) -> bool | str: ...
    def evaluate(
        self, index: int, subject: Subject, params: Any, deadline: int
    ) -> tuple[Any, str | None]: ...
