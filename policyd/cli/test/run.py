"""One run of ``policyd test``: which suites run, what is observed, and why cases fail.

Prints nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.cli.shared.output import within
from policyd.cli.shared.policy_arguments import applied
from policyd.cli.shared.policy_options import require_policies
from policyd.cli.shared.terminal.progress import with_progress
from policyd.errors import ConfigError, Problem
from policyd.offline.coverage import Coverage, PolicyCoverage, percent
from policyd.offline.explained_policies import ExplainedPolicies
from policyd.offline.stories import WebhookStory
from policyd.offline.suite_policies import SuitePolicies, suite_sources
from policyd.policy.compile import compiler
from policyd.policy.model.suite_cases import SuiteCase
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite import runner
from policyd.versions import NEWEST, KubernetesVersion

NOT_RUN = "no case was run"  # what is broken is reported, before cases fail because of it


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


@dataclass(frozen=True, slots=True)
class SuiteResults:
    """A whole run. ``coverage`` is None without --coverage."""

    suites: tuple[SuiteRun, ...]
    untested: tuple[Problem, ...] = ()
    coverage: tuple[PolicyCoverage, ...] | None = None
    least: float = 0.0

    @property
    def covers_too_little(self) -> bool:
        """Whether the coverage is below the minimum."""
        return self.coverage is not None and percent(self.coverage) < self.least

    @property
    def passed(self) -> bool:
        """Whether no case failed, no test is missing and enough is covered."""
        failed = any(each.failed for each in self.suites)
        return not (failed or self.untested or self.covers_too_little)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run. ``only`` are the names of the cases to run (SUITE/CASE) by file."""

    select: re.Pattern[str] | None = None
    explain: bool = True
    require_tests: bool = False
    coverage: bool = False
    least: float | None = None
    version: KubernetesVersion = NEWEST
    only: Mapping[str, frozenset[str]] | None = None
    defaults: bool = True

    @property
    def observes(self) -> bool:
        """Whether every case must be observed for coverage."""
        return self.require_tests or self.covers

    @property
    def covers(self) -> bool:
        """Whether the coverage is reported."""
        return self.coverage or self.least is not None


def suites_of(
    sources: Sources, paths: Sequence[Path], options: RunOptions, *, foreign: bool = False
) -> tuple[Document, ...]:
    """Return all suites. Raises ConfigError if there are none, unless tests are required: then each
    policy without a suite is reported, and there must be policies. ``foreign``: there are tests of
    other engines.
    """
    suites = sources.of_kind("PolicyTest")
    if suites:
        return suites
    missing = (
        "" if foreign or options.require_tests else f"no suites (kind PolicyTest) {within(paths)}"
    )
    if missing and (instead := applied(list(map(str, paths)))):
        raise ConfigError(f"{missing}\n  hint: {instead}")
    require_policies(sources, paths)
    if missing:
        raise ConfigError(f"{missing}; policyd init creates a first policy and its suite")
    return suites


def run(sources: Sources, suites: Sequence[Document], options: RunOptions) -> SuiteResults:
    """Run these suites, and observe what the options select."""
    seen = Coverage() if options.observes else None
    ran = tuple(SuiteRunner(sources, options, seen).run(suites))
    policies = () if seen is None else tuple(seen.policies())
    missing = tuple(_untested(policies, suites, sources)) if options.require_tests else ()
    return SuiteResults(ran, missing, policies if options.covers else None, options.least or 0.0)


@dataclass
class SuiteRunner:
    """Runs suites of one load. Every case is added to ``coverage`` if it is given."""

    sources: Sources
    options: RunOptions
    coverage: Coverage | None = None

    def __post_init__(self) -> None:
        self._whole = compiler.compile_strict(self.sources)
        if self.coverage is not None:
            self.coverage.expect(self.sources.documents)

    def run(self, suites: Sequence[Document]) -> Iterator[SuiteRun]:
        """Run every selected case. Raises ConfigError for a suite without policies."""
        only, select = self.options.only, self.options.select
        work = [
            (suite, case)
            for suite in suites
            for case in runner.selected(suite, select)
            if only is None or f"{suite.name}/{case.name}" in only.get(suite.file, ())
        ]
        found: dict[int, list[CaseRun]] = {id(each): [] for each in suites}
        current: RunningSuite | None = None
        for document, case in with_progress(work, "testing"):
            if current is None or current.document is not document:
                current = self.policies_of(document)
            found[id(document)].append(current.run(case))
        return (SuiteRun(each, tuple(found[id(each)])) for each in suites)

    def policies_of(self, document: Document) -> "RunningSuite":
        policies = SuitePolicies.of(document, self._whole)
        if not policies.names:
            raise ConfigError(
                f"{document.file}: the suite has no policies: name their files under policies:, "
                "or add their paths to the command"
            )
        if self.coverage is not None:
            self.coverage.expect(suite_sources(document, self.sources).documents)
        return RunningSuite(self, document, policies)


class RunningSuite:
    """The policies of one suite: evaluated plainly, or traced for explanations and coverage."""

    def __init__(self, run: SuiteRunner, document: Document, policies: SuitePolicies) -> None:
        self.document = document
        self._all = run
        self._policies = policies
        self._stories: list[WebhookStory] = []
        self._witness: ExplainedPolicies | None = None

    def run(self, case: SuiteCase) -> CaseRun:
        traced = self._all.coverage is not None
        result = self._run(case, traced)
        if result.passed or result.error or not self._all.options.explain:
            return CaseRun(case, result)
        if not traced:
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
                    self.document, self._all.sources, self._record
                )
            evaluator = self._witness
        return runner.run_case(
            self.document,
            case,
            evaluator.admit,
            within=evaluator.admitting,
            defaults=self._all.options.defaults,
            mapper=self._policies.mapper,
        )

    def _record(self, story: WebhookStory) -> None:
        self._stories.append(story)
        if self._all.coverage is not None:
            self._all.coverage.see(story)


def _untested(
    policies: Sequence[PolicyCoverage], suites: Sequence[Document], sources: Sources
) -> Iterator[Problem]:
    """Report each policy that no suite tests, or that no case of its suites matches."""
    for each in policies:
        if each.matched:
            continue
        policy = each.document
        line, column = policy.place("metadata.name")
        named = (policy.kind, policy.name)
        naming = [
            suite.file
            for suite in suites
            if any((one.kind, one.name) == named for one in suite_sources(suite, sources).documents)
        ]
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
