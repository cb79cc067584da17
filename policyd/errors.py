"""Every exception class of policyd, one family per culprit. Imports nothing of the package."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "advice"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong (or advisable) in a policy source, with its place and remedy.

    ``line`` and ``column`` count from 1 (0: unknown). ``path`` is a field path like
    ``spec.validations[0].expression``. ``excerpt`` is further text shown below the message,
    for CEL the expression with a caret. ``rule`` is a stable name that tools may filter by.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    hint: str = ""
    excerpt: str = ""
    rule: str = "invalid"
    severity: Severity = "error"

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        text = ": ".join(part for part in (place, self.path, self.message) if part)
        if self.excerpt:
            text += "\n" + self.excerpt
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class PolicydError(Exception):
    """The base of all errors that policyd raises on purpose."""

    exit_code = 1


class ConfigError(PolicydError):
    """The operator's settings cannot be used."""

    exit_code = 2


class PolicyError(PolicydError):
    """A policy source cannot be used; holds every problem found, not only the first."""

    exit_code = 2

    def __init__(self, problems: tuple[Problem, ...] | list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class PolicySchemaError(PolicyError):
    """The document is not of the form its kind demands."""


class CelCompileError(PolicyError):
    """A CEL expression that does not compile; ``text`` is what Kubernetes would print for it."""

    def __init__(self, text: str, problems: tuple[Problem, ...] | list[Problem]) -> None:
        super().__init__(problems)
        self.text = text


class CelSyntaxError(CelCompileError):
    """The text is not CEL."""


class CelTypeError(CelCompileError):
    """The expression is CEL, but undeclared names, no such overload, or of the wrong type."""


class EvaluationError(PolicydError):
    """An expression ended with an error; raised only by the public ``Program.evaluate``."""


class CelPanic(PolicydError):
    """What Go's panics are in cel-go: ends the whole expression, and no ``||`` absorbs it."""


class BudgetExceeded(PolicydError):
    """The cost budget or the deadline ended an evaluation; failurePolicy decides."""


class CostExceeded(BudgetExceeded):
    """An expression cost more than it may, in Kubernetes' cost units."""


class DeadlineExceeded(BudgetExceeded):
    """The moment by which the request must be answered has passed."""


class Unanswered(PolicydError):
    """An evaluation cannot go on before ``question`` is answered; ``unknown`` says so in words.

    Expressions are pure: evaluating again once the answer is known is safe.
    """

    def __init__(self, question: object, unknown: str) -> None:
        super().__init__(unknown)
        self.question = question


class MutationError(PolicydError):
    """A mutation's value cannot be applied to the object; the text is the API server's."""


class StatusError(PolicydError):
    """The request fails with this Status whatever failurePolicy says."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class PatchError(PolicydError):
    """A JSON pointer or patch that is malformed or does not fit its document."""


class ReviewError(PolicydError):
    """The client's AdmissionReview cannot be read; ``status`` is the HTTP status it earns."""

    exit_code = 2

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class UnreadableReview(ReviewError):
    """A review that an API server can send and policyd cannot evaluate: too deep, too large, or
    with strings that are not Unicode. Each policy's failurePolicy answers it, never a status.
    """


class InternalError(PolicydError):
    """A defect of policyd itself."""
