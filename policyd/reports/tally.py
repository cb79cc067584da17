"""Counts results during a run, and keeps some findings for its summary."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from policyd.policy.kinds.match_targets import PolicyKey
from policyd.reports.evaluating import ObjectResults
from policyd.reports.report_document import ReportedObject
from policyd.reports.results import PolicyFacts, ReportResult, worst
from policyd.reports.sample import FindingSample
from policyd.reports.summary import (
    MOST_FINDINGS,
    MOST_PROBLEMS,
    RESULTS,
    NamespaceResults,
    PolicyResults,
    ReportedFinding,
    ResultCounts,
    ResultWord,
)

_Counts = Counter[ResultWord]


class ReportTally:
    """The counts so far. Its size does not grow with the number of objects."""

    def __init__(self) -> None:
        self.objects = 0
        self.owned = 0
        self.sample = FindingSample(MOST_FINDINGS)
        self.problems: list[str] = []
        self.more_problems = 0
        self._by_policy: defaultdict[PolicyKey, _Counts] = defaultdict(Counter)
        self._by_namespace: defaultdict[str, _Counts] = defaultdict(Counter)
        self._objects: Counter[str] = Counter()

    def count(self, reported: ReportedObject, evaluation: ObjectResults) -> None:
        """Count the results of an object, and keep its findings if there is room."""
        found: defaultdict[PolicyKey, set[ResultWord]] = defaultdict(set)
        for each in evaluation.results:
            found[each.policy].add(each.result)
        for key in evaluation.evaluated:
            result = worst(found[key])
            self._by_policy[key][result] += 1
            self._by_namespace[reported.namespace][result] += 1
        for each in evaluation.results:
            self.sample.add(_finding(reported, each))

    def count_object(self, namespace: str) -> None:
        """Count an object once, no matter how many of its versions are evaluated."""
        self.objects += 1
        self._objects[namespace] += 1

    def note(self, problem: str) -> None:
        """Keep a problem as long as there is room."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more_problems += 1

    @property
    def results(self) -> ResultCounts:
        """All results."""
        return _counts(sum(self._by_policy.values(), Counter[ResultWord]()))

    def by_policy(
        self, facts: Mapping[PolicyKey, PolicyFacts], idle: Iterable[PolicyKey]
    ) -> tuple[PolicyResults, ...]:
        """The results of each policy, sorted."""
        without = frozenset(idle)
        return tuple(
            PolicyResults(
                *key,
                each.category,
                each.severity,
                each.rollout,
                key in without,
                _counts(self._by_policy[key]),
            )
            for key, each in sorted(facts.items())
        )

    def by_namespace(self) -> tuple[NamespaceResults, ...]:
        """The results of each namespace, sorted."""
        return tuple(
            NamespaceResults(name, count, _counts(self._by_namespace[name]))
            for name, count in sorted(self._objects.items())
        )


def _counts(counts: ResultCounts) -> ResultCounts:
    return {word: counts.get(word, 0) for word in RESULTS}


def _finding(reported: ReportedObject, result: ReportResult) -> ReportedFinding:
    return ReportedFinding(
        namespace=reported.namespace,
        api_version=reported.api_version,
        kind=reported.kind,
        name=reported.name,
        policy=result.policy[0],
        rule=result.rule,
        result=result.result,
        category=result.category,
        severity=result.severity,
        message=result.message,
        field=result.property_of("field"),
        rollout=result.property_of("rollout"),
        exception=result.property_of("exception"),
    )
