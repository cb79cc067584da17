"""One run of suites as ``policyd test`` is asked for it: which suites, and what is told of them.
Prints nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.cli.test.output import Tested
from policyd.cli.test.runner import Runner, untested
from policyd.errors import ConfigError
from policyd.offline.coverage import Coverage
from policyd.policy.source.documents import Document, Sources
from policyd.versions import NEWEST, KubernetesVersion


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked for."""

    select: re.Pattern[str] | None = None
    explain: bool = True
    require_tests: bool = False
    coverage: bool = False
    least: float = 0.0
    version: KubernetesVersion = NEWEST

    @property
    def observes(self) -> bool:
        """Whether every case must be watched."""
        return self.require_tests or self.coverage


def suites_of(sources: Sources, paths: Sequence[Path], options: Options) -> tuple[Document, ...]:
    """All suites; there must be one, unless it is said which policies lack theirs."""
    suites = sources.of_kind("PolicyTest")
    if not suites and not options.require_tests:
        raise ConfigError(
            f"no suites (kind PolicyTest) in {', '.join(map(str, paths))}; "
            "policyd init creates a first policy and its suite"
        )
    return suites


def run(sources: Sources, suites: Sequence[Document], options: Options) -> Tested:
    """Run suites of these sources."""
    seen = Coverage() if options.observes else None
    runner = Runner(sources, select=options.select, explain=options.explain, coverage=seen)
    ran = tuple(runner.run(suites))
    policies = () if seen is None else tuple(seen.policies())
    missing = tuple(untested(policies, suites, sources)) if options.require_tests else ()
    return Tested(ran, missing, policies if options.coverage else None, options.least)
