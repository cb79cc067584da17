"""Run the cases of a suite (PolicyTest): build reviews, compare the answers of the webhooks, and
mutate the result again.

The function that calls the webhooks is an argument, because the engine is in a higher package.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from policyd.errors import PatchError, PolicydError, PolicyError, Problem
from policyd.json_types import JSONObject
from policyd.policy.model.kinds import PolicyTest
from policyd.policy.model.suite import Case, SuiteRequest, Webhook
from policyd.policy.source.documents import Document
from policyd.policy.source.files import read_bytes
from policyd.policy.source.fixtures import inside
from policyd.policy.source.loader import read_one
from policyd.policy.suite.expectations import CaseAnswer, Mismatch, compare, same
from policyd.policy.suite.reviews import build_review, namespace

# (AdmissionReview, webhooks) -> the combined answer of the webhooks, called in order.
Admit = Callable[[JSONObject, tuple[Webhook, ...]], CaseAnswer]
# A Namespace object -> the same policies with that namespace.
WithNamespace = Callable[[JSONObject], Admit]


# The key of a Mismatch if a second run of the mutations changes their own result.
IDEMPOTENT = "idempotent"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case. ``error``: it could not be run at all; then it has no mismatches."""

    suite: str
    name: str
    file: str
    line: int
    mismatches: tuple[Mismatch, ...] = ()
    error: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the answer was as expected."""
        return not self.mismatches and not self.error


class _CaseError(Exception):
    """The case cannot be run; the message is the reason."""


def run(
    document: Document,
    admit: Admit,
    *,
    with_namespace: WithNamespace | None = None,
    select: re.Pattern[str] | None = None,
) -> list[CaseResult]:
    """Return the results of all cases (whose ``suite/case`` name ``select`` matches), in order."""
    return [run_case(document, i, admit, with_namespace) for i in selected(document, select)]


def selected(document: Document, select: re.Pattern[str] | None = None) -> list[int]:
    """Return the indexes of the cases whose ``suite/case`` name ``select`` matches."""
    return [
        index
        for index, case in enumerate(_model(document).cases)
        if select is None or select.search(f"{document.name}/{case.name}")
    ]


def run_case(
    document: Document, index: int, admit: Admit, with_namespace: WithNamespace | None = None
) -> CaseResult:
    """Return the result of one case."""
    case = _model(document).cases[index]
    line = document.place(f"cases[{index}]")[0]
    return _run_case(document, case, line, admit, with_namespace)


def _model(document: Document) -> PolicyTest:
    if not isinstance(document.model, PolicyTest):
        raise PolicyError(document.problems)
    return document.model


def problems(results: list[CaseResult]) -> list[Problem]:
    """Return the failed cases as problems, for loading a set with its suites.

    They name the keys that differ without values: their readers may have no access to the files.
    """
    return [
        Problem(
            f"case {result.name!r} failed: {_differing(result)}",
            hint="policyd test shows the expected and the found values",
            file=result.file,
            line=result.line,
            rule="suite",
        )
        for result in results
        if not result.passed
    ]


def _differing(result: CaseResult) -> str:
    if result.error:
        return "the case cannot be run"
    return f"unexpected {', '.join(each.key for each in result.mismatches)}"


def _run_case(
    document: Document,
    case: Case,
    line: int,
    admit: Admit,
    with_namespace: WithNamespace | None,
) -> CaseResult:
    start = perf_counter_ns()
    mismatches: tuple[Mismatch, ...] = ()
    error = ""
    try:
        admission_review = _review_of(case.request, document)
        if case.request.namespace_labels is not None:
            if with_namespace is None:
                raise _CaseError("namespaceLabels cannot be set for these policies")
            admit = with_namespace(_namespace(admission_review, case.request.namespace_labels))
        webhooks: tuple[Webhook, ...] = (case.webhook,) if case.webhook else ("mutate", "validate")
        answer = _answer(admission_review, webhooks, admit)
        mismatches = (
            *compare(case.expect, answer),
            *_run_again(case, admission_review, answer, admit),
        )
    except (_CaseError, PolicydError, OSError) as wrong:
        error = str(wrong)
    return CaseResult(
        suite=document.name,
        name=case.name,
        file=document.file,
        line=line,
        mismatches=mismatches,
        error=error,
        seconds=(perf_counter_ns() - start) / 1e9,
    )


def _review_of(request: SuiteRequest, suite: Document) -> JSONObject:
    """Build the AdmissionReview that the case describes."""
    whole = request.review or _fixture(suite, request.review_file)
    if whole is not None:
        if "request" in whole:
            return whole
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}
    given = request.model_dump(
        mode="json",
        by_alias=True,
        exclude_unset=True,
        exclude={
            "object",
            "object_file",
            "old_object",
            "old_object_file",
            "operation",
            "namespace_labels",
        },
    )
    return build_review(
        request.object if request.object is not None else _fixture(suite, request.object_file),
        old_object=(
            request.old_object
            if request.old_object is not None
            else _fixture(suite, request.old_object_file)
        ),
        operation=request.operation,
        overrides=given,
    )


def _fixture(suite: Document, name: str | None) -> JSONObject | None:
    if name is None:
        return None
    shown = str(Path(suite.file).parent / name)
    try:
        real = inside(suite, name)
        if real.exists() and not real.is_file():
            raise _CaseError(f"{shown}: not a regular file")
        value = read_one(read_bytes(real), shown)
    except (ValueError, EOFError, zlib.error) as error:  # the last two of a broken .gz
        raise _CaseError(f"{shown}: {error}") from None
    if not isinstance(value, dict):
        raise _CaseError(f"{shown}: expected one object")
    return value


def _namespace(review: JSONObject, labels: dict[str, str]) -> JSONObject:
    name = review.get("request", {}).get("namespace", "")
    if not name:
        raise _CaseError("namespaceLabels: the request has no namespace")
    return namespace(name, labels)


def _answer(review: JSONObject, webhooks: tuple[Webhook, ...], admit: Admit) -> CaseAnswer:
    """Return the combined answer of the webhooks; the patch is applied by another library than the
    one that created it.
    """
    try:
        answer = admit(review, webhooks)
    except PatchError as error:
        raise _CaseError(f"the patch does not apply: {error}") from None
    if not answer.patch:
        return answer
    return replace(answer, object=_patched(review["request"].get("object"), answer.patch))


def _run_again(
    case: Case, review: JSONObject, answer: CaseAnswer, admit: Admit
) -> Iterator[Mismatch]:
    """Run the mutations again on their result: they must not change it, or with
    ``idempotent: false`` must change it.
    """
    again: list[JSONObject] | str = []
    if answer.patch:
        sent = {**review, "request": {**review["request"], "object": answer.object}}
        second = _answer(sent, ("mutate",), admit)
        if not second.response["allowed"]:
            again = str(second.response["status"]["message"])
        elif second.patch and not same(second.object, answer.object):
            again = second.patch
    if case.idempotent and again:
        yield Mismatch(IDEMPOTENT, [], again)
    elif not case.idempotent and not again:
        yield Mismatch(IDEMPOTENT, False, True)


def _patched(before: Any, patch: Any) -> JSONObject:
    """Return the object after the patch, applied by another library than its creator's."""
    try:
        after: JSONObject = jsonpatch.apply_patch(before, patch)
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        raise _CaseError(f"the patch {patch} does not apply: {error}") from None
    return after
