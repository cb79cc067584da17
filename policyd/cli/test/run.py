"""One run of ``policyd test``: which suites run, and what is observed. Prints nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.cli.shared.policy_options import require_policies
from policyd.cli.test.output import SuiteResults
from policyd.cli.test.runner import SuiteRunner, untested
from policyd.errors import ConfigError
from policyd.offline.coverage import Coverage
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.versions import NEWEST, KubernetesVersion


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run. ``only`` are the names of the cases to run (SUITE/CASE) by file."""

    select: re.Pattern[str] | None = None
    explain: bool = True
    require_tests: bool = False
    coverage: bool = False
    least: float = 0.0
    version: KubernetesVersion = NEWEST
    only: Mapping[str, frozenset[str]] | None = None
    defaults: bool = True

    @property
    def observes(self) -> bool:
        """Whether every case must be observed for coverage."""
        return self.require_tests or self.coverage


def suites_of(
    sources: Sources, paths: Sequence[Path], options: RunOptions, *, foreign: bool = False
) -> tuple[Document, ...]:
    """Return all suites. Raises ConfigError if there are none, unless tests are required: then each
    policy without a suite is reported, and there must be policies. ``foreign``: there are tests of
    other engines.
    """
    suites = sources.of_kind("PolicyTest")
    if not suites:
        require_policies(sources, paths)
    if not suites and not foreign and not options.require_tests:
        raise ConfigError(
            f"no suites (kind PolicyTest) in {', '.join(map(str, paths))}; "
            "policyd init creates a first policy and its suite"
        )
    return suites


def run(sources: Sources, suites: Sequence[Document], options: RunOptions) -> SuiteResults:
    """Run these suites."""
    seen = Coverage() if options.observes else None
    runner = SuiteRunner(
        sources,
        select=options.select,
        only=options.only,
        explain=options.explain,
        coverage=seen,
        defaults=options.defaults,
    )
    ran = tuple(runner.run(suites))
    policies = () if seen is None else tuple(seen.policies())
    missing = tuple(untested(policies, suites, sources)) if options.require_tests else ()
    return SuiteResults(ran, missing, policies if options.coverage else None, options.least)
