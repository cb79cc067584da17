"""Run the cases of a suite (PolicyTest): build reviews, compare the answers of the webhooks, and
mutate the result again.

The function that calls the webhooks is an argument, because the engine is in a higher package.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter_ns
from typing import Any, Literal

import jsonpatch
from jsonpointer import JsonPointerException

from policyd.errors import PatchError, PolicydError, PolicyError, Problem
from policyd.json_types import JSONObject
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model.findings import path_text
from policyd.policy.model.suite import PolicyTest, Webhook
from policyd.policy.model.suite_cases import SuiteCase, cases_of
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.case_files import CaseError
from policyd.policy.suite.case_review import review_of
from policyd.policy.suite.expectations import CaseAnswer, Mismatch, compare, same
from policyd.policy.suite.reviews import Assumption, assumption, namespace
from policyd.policy.suite.state import NO_STATE, CaseState, state_of

# The values that get the API server's defaults: the manifests of which a review is built and what
# mutations change of them; only what mutations change; or nothing.
Completed = Literal["manifests", "changes", ""]
# -> the combined answer of the webhooks, called in order.
Admit = Callable[[JSONObject, tuple[Webhook, ...], Completed], CaseAnswer]
# The state of the cluster for one case -> the same policies in that cluster.
Within = Callable[[CaseState], Admit]
# The same as ``Admit`` for one case, whose defaults are decided.
_Call = Callable[[JSONObject, tuple[Webhook, ...]], CaseAnswer]

BOTH: tuple[Webhook, ...] = ("mutate", "validate")
# The key of a Mismatch if a second run of the mutations changes their own result.
IDEMPOTENT = "idempotent"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case. ``error``: it could not be run at all; then it has no mismatches, and
    no ``answer``. ``assumed``: what its request only assumes about the kind of its object.
    """

    suite: str
    name: str
    file: str
    line: int
    mismatches: tuple[Mismatch, ...] = ()
    error: str = ""
    seconds: float = 0.0
    assumed: Assumption | None = None
    answer: CaseAnswer | None = field(default=None, repr=False, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the answer was as expected."""
        return not self.mismatches and not self.error


def run(
    document: Document,
    admit: Admit,
    *,
    within: Within | None = None,
    select: re.Pattern[str] | None = None,
    mapper: ResourceMapper = BUILT_IN,
) -> list[CaseResult]:
    """Return the results of all cases (whose ``suite/case`` name ``select`` matches), in order.
    ``mapper`` knows the kinds of the policies.
    """
    return [
        run_case(document, case, admit, within=within, mapper=mapper)
        for case in selected(document, select)
    ]


def selected(document: Document, select: re.Pattern[str] | None = None) -> list[SuiteCase]:
    """Return the cases whose ``suite/case`` name ``select`` matches; each row of a table is one."""
    if not isinstance(document.model, PolicyTest):
        raise PolicyError(document.problems)
    return [
        case
        for case in cases_of(document.model)
        if select is None or select.search(f"{document.name}/{case.name}")
    ]


def run_case(
    document: Document,
    case: SuiteCase,
    admit: Admit,
    *,
    within: Within | None = None,
    defaults: bool = True,
    mapper: ResourceMapper = BUILT_IN,
) -> CaseResult:
    """Return the result of one case. ``defaults`` False: manifests get no defaults, whatever the
    suite says.
    """
    start = perf_counter_ns()
    answer: CaseAnswer | None = None
    mismatches: tuple[Mismatch, ...] = ()
    error, assumed, line = "", None, 0
    try:
        if case.expect is None:
            raise CaseError("the case expects nothing")
        defaults = defaults and case.defaults
        state = state_of(document, case, defaults=defaults)
        mapper = mapper.with_definitions(definitions_among(state.objects))
        review = review_of(case, document, mapper)
        assumed = _assumed(case, review, mapper)
        # A whole review has its defaults already.
        given: Completed = "changes" if case.request.is_whole else "manifests"
        call = _call(case, review, state, admit, within, completed=given if defaults else "")
        answer = _answer(review, (case.webhook,) if case.webhook else BOTH, call)
        mismatches = (*compare(case.expect, answer), *_run_again(case, review, answer, call))
    except (CaseError, PolicydError, OSError) as wrong:
        error, line = str(wrong), wrong.line if isinstance(wrong, CaseError) else 0
    return CaseResult(
        suite=document.name,
        name=case.name,
        file=document.file,
        line=line or document.place(path_text(case.path))[0],
        mismatches=mismatches,
        error=error,
        seconds=(perf_counter_ns() - start) / 1e9,
        assumed=assumed,
        answer=answer,
    )


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
            document=f"PolicyTest {result.suite}",
        )
        for result in results
        if not result.passed
    ]


def _differing(result: CaseResult) -> str:
    if result.error:
        return "the case cannot be run"
    return f"unexpected {', '.join(each.key for each in result.mismatches)}"


def _assumed(case: SuiteCase, review: JSONObject, mapper: ResourceMapper) -> Assumption | None:
    if case.request.is_whole or case.request.resource is not None:
        return None
    obj = review["request"]["object"] or review["request"]["oldObject"] or {}
    return assumption(str(obj.get("apiVersion")), str(obj.get("kind")), None, mapper)


def _call(
    case: SuiteCase,
    review: JSONObject,
    state: CaseState,
    admit: Admit,
    within: Within | None,
    *,
    completed: Completed,
) -> _Call:
    """Return the policies in the state of the case."""
    labels = case.request.namespace_labels
    if labels is not None:
        state = replace(state, namespaces=(*state.namespaces, _namespace(review, labels)))
    if state != NO_STATE:
        if within is None:
            fields = "params, namespaces, authorizer and rollout"
            raise CaseError(f"{fields} cannot be set for these policies")
        admit = within(state)
    return lambda review, webhooks: admit(review, webhooks, completed)


def _namespace(review: JSONObject, labels: dict[str, str]) -> JSONObject:
    name = review.get("request", {}).get("namespace", "")
    if not name:
        raise CaseError("namespaceLabels: the request has no namespace")
    return namespace(name, labels)


def _answer(review: JSONObject, webhooks: tuple[Webhook, ...], call: _Call) -> CaseAnswer:
    """Return the combined answer of the webhooks; the patch is applied by another library than the
    one that created it.
    """
    try:
        answer = call(review, webhooks)
    except PatchError as error:
        raise CaseError(f"the patch does not apply: {error}") from None
    if not answer.patch:
        return answer
    return replace(answer, object=_patched(review["request"].get("object"), answer.patch))


def _run_again(
    case: SuiteCase, review: JSONObject, answer: CaseAnswer, call: _Call
) -> Iterator[Mismatch]:
    """Run the mutations again on their result: they must not change it, or with
    ``idempotent: false`` must change it.
    """
    again: list[JSONObject] | str = []
    if answer.patch:
        sent = {**review, "request": {**review["request"], "object": answer.object}}
        second = _answer(sent, ("mutate",), call)
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
        raise CaseError(f"the patch {patch} does not apply: {error}") from None
    return after
