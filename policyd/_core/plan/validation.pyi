from collections.abc import Container, Iterable
from typing import Any, final

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.program import Program
from policyd._core.pattern.checks import Pattern
from policyd._core.plan.plan import Frame, Plan, Subject

@final
class PlannedValidation:
    program: Program | None
    pattern: Pattern | None
    message_program: Program | None
    message: str
    reason: str
    field: str
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

@final
class ValidationOutcome:
    failures: list[tuple[int, str, str, bool]]
    annotations: list[tuple[str, str]]
    annotation_errors: list[str]
    ignored: list[str]
    lifted: list[int]
    fields: dict[int, str]
    timed_out: bool
    whole: bool

@final
class ValidationPlan(Plan):
    validations: tuple[PlannedValidation, ...]
    annotations: tuple[tuple[str, Program], ...]
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
    def violated(self, subject: Subject, params: Any, deadline: int) -> frozenset[int | str]:
        """What fails or errs: the indexes of validations, and the texts of errors that are of no
        validation. Counts the time, but no decision; a passed deadline is no violation.
        """
