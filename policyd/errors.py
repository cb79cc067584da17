"""All exception classes of policyd, one family for each cause. Imports nothing from the package."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "advice"]


@dataclass(frozen=True, slots=True)
class Fix:
    """A safe correction of a problem: replace the string ``old``, which begins ``offset``
    characters after the problem's place, with ``new``.
    """

    old: str
    new: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a problem concerns; ``message`` describes it."""

    message: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One error or piece of advice about a policy source, with its place and remedy.

    ``line`` and ``column`` count from 1 (0: unknown). ``path`` is a field path like
    ``spec.validations[0].expression``. ``excerpt`` is printed below the message: for CEL the
    expression with a caret. ``rule`` is a stable name for filters. ``summary`` explains the
    ``message`` of a parser in plain words; it is empty if the message is plain. ``fix`` is the
    correction of ``policyd lint --fix``; None if there is no certain one. ``document`` identifies
    the document at fault in its file: its label, or a hash of an unlabelled text; empty if the file
    is at fault. ``related``: for programs; the message names the first of them.
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
    summary: str = ""
    fix: Fix | None = None
    document: str = ""
    related: tuple[Related, ...] = ()

    @property
    def text(self) -> str:
        """Return the message for people: the summary first, if there is one."""
        return f"{self.summary} ({self.message})" if self.summary else self.message

    @property
    def place(self) -> str:
        """Return the file, line and column, as far as they are known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)

    def __str__(self) -> str:
        shown = ": ".join(part for part in (self.place, self.path, self.text) if part)
        if self.excerpt:
            shown += "\n" + self.excerpt
        return f"{shown}\n  hint: {self.hint}" if self.hint else shown


class PolicydError(Exception):
    """The base class of all errors that policyd raises on purpose."""

    exit_code = 1


class ConfigError(PolicydError):
    """The settings cannot be used."""

    exit_code = 2


@contextmanager
def file_errors(file: object, option: str = "") -> Iterator[None]:
    """Raise ConfigError if a file cannot be read, unpacked or written, with the ``option`` that
    named it. The error names ``file`` unless the system names another file.
    """
    try:
        yield
    except (OSError, EOFError, zlib.error, ValueError) as error:
        name, reason = getattr(error, "filename", None), getattr(error, "strerror", None)
        raise ConfigError(f"{option}{name or file}: {reason or error}") from None


class PolicyError(PolicydError):
    """A policy source cannot be used; contains every problem, not only the first."""

    exit_code = 2

    def __init__(self, problems: tuple[Problem, ...] | list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class PolicySchemaError(PolicyError):
    """A document does not have the form that its kind requires."""


class CelCompileError(PolicyError):
    """A CEL expression does not compile; ``text`` is the error as Kubernetes prints it."""

    def __init__(self, text: str, problems: tuple[Problem, ...] | list[Problem]) -> None:
        super().__init__(problems)
        self.text = text


class CelSyntaxError(CelCompileError):
    """An expression is not valid CEL."""


class CelTypeError(CelCompileError):
    """An expression has undeclared names, unknown overloads, or the wrong type."""


class EvaluationError(PolicydError):
    """An expression evaluated to an error; raised only by the public ``Program.evaluate``."""


class CelPanic(PolicydError):
    """The equivalent of a Go panic in cel-go: it ends the whole expression, and ``||`` does not
    absorb it.
    """


class BudgetExceeded(PolicydError):
    """The cost budget or the deadline ended an evaluation; failurePolicy decides."""


class CostExceeded(BudgetExceeded):
    """An expression exceeded its cost limit, in the cost units of Kubernetes."""


class DeadlineExceeded(BudgetExceeded):
    """The deadline of the request has passed."""


class Unanswered(PolicydError):
    """An evaluation needs the answer to ``question`` to continue; ``unknown`` is the message.

    Expressions are pure: evaluating again once the answer is known is safe.
    """

    def __init__(self, question: object, unknown: str) -> None:
        super().__init__(unknown)
        self.question = question


class MutationError(PolicydError):
    """A mutation cannot be applied to the object; the message is the API server's."""


class StatusError(PolicydError):
    """The request fails with this Status regardless of failurePolicy."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class PatchError(PolicydError):
    """A JSON pointer or patch is malformed or does not fit its document."""


class ReviewError(PolicydError):
    """The AdmissionReview of a client cannot be read; ``status`` is the HTTP status of the
    response.
    """

    exit_code = 2

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class UnreadableReview(ReviewError):
    """An AdmissionReview that an API server can send but policyd cannot evaluate: too deep or
    large, or with strings that are not Unicode. The failurePolicy of each policy decides, and the
    HTTP status is 200.
    """


class CallerRefused(ReviewError):
    """The client has not proved that it is an API server that may send this review. ``cause`` is a
    label of metrics.
    """

    def __init__(self, cause: str, message: str, status: int = 401) -> None:
        super().__init__(message, status)
        self.cause = cause


class UnknownIssuerKey(CallerRefused):
    """The key that signed the token is not known; it may be a new one."""


class InternalError(PolicydError):
    """A defect of policyd itself."""
