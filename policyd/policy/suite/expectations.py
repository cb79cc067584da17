"""Compare the expectations of a suite's case with the answer of the webhooks. Calls no webhook."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from policyd.bounded_text import cause_text
from policyd.json_types import JSON, JSONObject
from policyd.policy.model.suite import Expect


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One key of ``expect`` (or ``idempotent``) that the answer does not meet."""

    key: str
    expected: Any
    found: Any


# The key of a Mismatch if a policy erred and the case does not expect it, or the reverse.
ERROR = "error"


class CaseNote(NamedTuple):
    """A violation that denies the request, or an error: the policy and the text."""

    policy: str
    text: str

    def __str__(self) -> str:
        return f"{self.policy}: {self.text}"


@dataclass(frozen=True, slots=True)
class CaseAnswer:
    """The combined answer of the webhooks; ``object`` is the object after mutation.

    ``denials`` are the violations that deny, ``errors`` the errors of policies, also those that
    failurePolicy ignores. ``completed`` adds the API server's defaults to an object, if the request
    has them.
    """

    response: JSONObject
    warnings: tuple[str, ...]
    audit_annotations: dict[str, str]
    patch: list[JSONObject]
    object: JSONObject | None
    denials: tuple[CaseNote, ...] = ()
    errors: tuple[CaseNote, ...] = ()
    completed: Callable[[JSON], JSON] | None = None


def compare(expect: Expect, answer: CaseAnswer) -> Iterator[Mismatch]:
    """Yield every key set in ``expect`` that the answer does not meet."""
    status = answer.response.get("status", {})
    causes = [cause_text(cause) for cause in status.get("details", {}).get("causes", [])]
    for key, expected, exact in (
        ("allowed", expect.allowed, answer.response["allowed"]),
        ("code", expect.code, status.get("code")),
        ("reason", expect.reason, status.get("reason", "")),
    ):
        if expected is not None and expected != exact:
            yield Mismatch(key, expected, exact)
    yield from _error(expect, answer)
    message = status.get("message", "")
    for name, texts, found in (
        ("message", expect.message, [message] if message else []),
        ("causes", expect.causes, causes),
        ("warnings", expect.warnings, list(answer.warnings)),
    ):
        if texts is not None and not _texts_found(texts, found):
            yield Mismatch(name, list(texts), found)
    annotations = answer.audit_annotations
    for key, value in (expect.audit_annotations or {}).items():
        if annotations.get(key) != value:
            yield Mismatch(f"auditAnnotations[{key}]", value, annotations.get(key))
    if expect.patched is not None and not _is_patched(expect.patched, answer):
        yield Mismatch("patched", expect.patched, answer.object)
    if expect.patch is not None and not same(list(expect.patch), answer.patch):
        yield Mismatch("patch", list(expect.patch), answer.patch)


def _is_patched(expected: JSONObject, answer: CaseAnswer) -> bool:
    """Whether the objects are the same, or are with their defaults: a mutation that sets what is
    the default changes nothing in a cluster.
    """
    if same(expected, answer.object):
        return True
    completed = answer.completed
    return completed is not None and same(completed(expected), completed(answer.object))


def _error(expect: Expect, answer: CaseAnswer) -> Iterator[Mismatch]:
    """Compare ``error``. A denial that only errors cause says nothing about the validations, so a
    case that does not name the error fails.
    """
    found = [str(each) for each in answer.errors]
    if expect.error is not None:
        if expect.error and not found:
            yield Mismatch(ERROR, True, False)
        elif found and not expect.error:
            yield Mismatch(ERROR, False, found)
    elif found and not answer.denials and _expects_denial(expect) and not _named(expect, answer):
        yield Mismatch(ERROR, False, found)


def _expects_denial(expect: Expect) -> bool:
    if expect.allowed is not None:
        return not expect.allowed
    return bool(expect.code is not None or expect.reason or expect.message or expect.causes)


def _named(expect: Expect, answer: CaseAnswer) -> bool:
    """Whether a text of ``message`` or ``causes`` is part of an error."""
    texts = (*(expect.message or ()), *(expect.causes or ()))
    return any(text in each.text for text in texts for each in answer.errors)


def _texts_found(texts: tuple[str, ...], found: list[str]) -> bool:
    """Whether each string is a substring of one found; an empty list expects none."""
    if not texts:
        return not found
    return all(any(text in each for each in found) for text in texts)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
