from collections.abc import Container, Iterable
from typing import Any, final

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.program import Program
from policyd._core.pattern.checks import Pattern
from policyd._core.plan.plan import Frame, Plan, Subject

@final
class PlannedValidation:
    def __init__(
        self,
        program: Program | None,
        expression: str,
        message: str,
        message_program: Program | None,
        reason: str,
        pattern: Pattern | None = None,
        field: str = "",
    ) -> None: ...
    @property
    def program(self) -> Program | None: ...
    @property
    def pattern(self) -> Pattern | None: ...
    @property
    def message_program(self) -> Program | None: ...
    @property
    def message(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def field(self) -> str: ...

@final
class ValidationOutcome:
    @property
    def failures(self) -> list[tuple[int, str, str, bool]]: ...
    @property
    def annotations(self) -> list[tuple[str, str]]: ...
    @property
    def annotation_errors(self) -> list[str]: ...
    @property
    def ignored(self) -> list[str]: ...
    @property
    def lifted(self) -> list[int]: ...
    @property
    def fields(self) -> dict[int, str]: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def whole(self) -> bool: ...

@final
class ValidationPlan(Plan):
    def __init__(
        self,
        conditions: Iterable[Program],
        frame: Frame,
        fail: bool,
        counters: PolicyCounters,
        validations: Iterable[PlannedValidation],
        annotations: Iterable[tuple[str, Program]],
    ) -> None: ...
    def run(
        self, subject: Subject, params: Any, deadline: int, exempt: Container[int]
    ) -> ValidationOutcome | None: ...
    def violated(self, subject: Subject, params: Any, deadline: int) -> frozenset[int | str]: ...
    @property
    def validations(self) -> tuple[PlannedValidation, ...]: ...
    @property
    def annotations(self) -> tuple[tuple[str, Program], ...]: ...
