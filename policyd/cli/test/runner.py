"""Runs suites for the command line, with explanations of the cases that fail. Prints nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policyd.cli.shared.terminal.progress import with_progress
from policyd.errors import ConfigError, Problem
from policyd.offline.coverage import Coverage, PolicyCoverage
from policyd.offline.explained_policies import ExplainedPolicies
from policyd.offline.stories import WebhookStory
from policyd.offline.suite_policies import SuitePolicies, suite_sources
from policyd.policy.compile import compiler
from policyd.policy.model.suite_cases import SuiteCase
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite import runner


@dataclass(frozen=True, slots=True)
class CaseRun:
    """A case with its explanation, if it failed and explanations are wanted.

    ``again`` explains the second run of the mutations, if the case failed there.
    """

    case: SuiteCase
    result: runner.CaseResult
    stories: tuple[WebhookStory, ...] = ()
    again: tuple[WebhookStory, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """A suite and its selected cases."""

    document: Document
    cases: tuple[CaseRun, ...]

    @property
    def failed(self) -> int:
        """The number of failed cases."""
        return sum(not case.result.passed for case in self.cases)

    @property
    def seconds(self) -> float:
        """The time of all cases."""
        return sum(case.result.seconds for case in self.cases)


class SuiteRunner:
    """Runs suites of one load. Every case is added to ``coverage`` if it is given."""

    def __init__(
        self,
        sources: Sources,
        *,
        select: re.Pattern[str] | None = None,
        only: Mapping[str, frozenset[str]] | None = None,
        explain: bool = False,
        coverage: Coverage | None = None,
        defaults: bool = True,
    ) -> None:
        self._sources = sources
        self._defaults = defaults
        self._whole = compiler.compile_strict(sources)
        self._select = select
        self._only = only
        self._explain = explain
        self._coverage = coverage
        if coverage is not None:
            coverage.expect(sources.documents)

    def run(self, suites: Sequence[Document]) -> list[SuiteRun]:
        """Run every selected case. Raises ConfigError for a suite without policies."""
        work = [(each, case) for each in suites for case in self._cases(each)]
        found: dict[int, list[CaseRun]] = {id(each): [] for each in suites}
        current: tuple[Document, _SuitePolicies] | None = None
        for document, case in with_progress(work, "testing"):
            if current is None or current[0] is not document:
                current = (document, self._policies_of(document))
            found[id(document)].append(current[1].run(case))
        return [SuiteRun(each, tuple(found[id(each)])) for each in suites]

    def _cases(self, document: Document) -> Iterator[SuiteCase]:
        for case in runner.selected(document, self._select):
            name = f"{document.name}/{case.name}"
            if self._only is None or name in self._only.get(document.file, ()):
                yield case

    def _policies_of(self, document: Document) -> "_SuitePolicies":
        policies = SuitePolicies.of(document, self._whole)
        if not policies.names:
            raise ConfigError(
                f"{document.file}: the suite has no policies: name their files under policies:, "
                "or add their paths to the command"
            )
        if self._coverage is not None:
            self._coverage.expect(suite_sources(document, self._sources).documents)
        return _SuitePolicies(
            document,
            self._sources,
            policies,
            explain=self._explain,
            coverage=self._coverage,
            defaults=self._defaults,
        )


class _SuitePolicies:
    """The policies of one suite: evaluated plainly, or traced for explanations and coverage."""

    def __init__(
        self,
        document: Document,
        sources: Sources,
        policies: SuitePolicies,
        *,
        explain: bool,
        coverage: Coverage | None,
        defaults: bool,
    ) -> None:
        self._document = document
        self._sources = sources
        self._policies = policies
        self._explain = explain
        self._coverage = coverage
        self._stories: list[WebhookStory] = []
        self._witness: ExplainedPolicies | None = None
        self._defaults = defaults

    def run(self, case: SuiteCase) -> CaseRun:
        result = self._run(case, self._coverage is not None)
        if result.passed or result.error or not self._explain:
            return CaseRun(case, result)
        if self._coverage is None:
            self._run(case, True)
        first = len(self._stories)
        webhooks = [story.webhook for story in self._stories]
        if webhooks.count("mutate") > 1:
            first = webhooks.index("mutate", webhooks.index("mutate") + 1)
        once, again = self._stories[:first], self._stories[first:]
        if any(each.key == runner.IDEMPOTENT for each in result.mismatches):
            return CaseRun(case, result, tuple(once), tuple(again))
        return CaseRun(case, result, tuple(once))

    def _run(self, case: SuiteCase, traced: bool) -> runner.CaseResult:
        self._stories = []
        evaluator: SuitePolicies | ExplainedPolicies = self._policies
        if traced:
            if self._witness is None:
                self._witness = ExplainedPolicies.of_suite(
                    self._document, self._sources, self._record
                )
            evaluator = self._witness
        return runner.run_case(
            self._document,
            case,
            evaluator.admit,
            within=evaluator.admitting,
            defaults=self._defaults,
            mapper=self._policies.mapper,
        )

    def _record(self, story: WebhookStory) -> None:
        self._stories.append(story)
        if self._coverage is not None:
            self._coverage.see(story)


def untested(
    policies: Sequence[PolicyCoverage], suites: Sequence[Document], sources: Sources
) -> Iterator[Problem]:
    """Report each policy that no suite tests, or that no case of its suites matches."""
    for each in policies:
        if each.matched:
            continue
        policy = each.document
        line, column = policy.place("metadata.name")
        naming = [s.file for s in suites if _tests(s, policy, sources)]
        if naming:
            text = f"no case of {', '.join(naming[:3])} matches {policy.label}"
            hint = (
                "add a case with a request that its matchConstraints and a binding match; "
                "policyd explain shows why a request does not match"
            )
        else:
            text = f"{policy.label} has no suite: no PolicyTest tests it"
            hint = "write suite.yaml beside it: a PolicyTest that names the policy under policies:"
        yield Problem(text, policy.file, line, column, hint=hint, rule="require-tests")


def _tests(document: Document, policy: Document, sources: Sources) -> bool:
    of_suite = suite_sources(document, sources).documents
    return any((one.kind, one.name) == (policy.kind, policy.name) for one in of_suite)
