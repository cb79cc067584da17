"""The findings and writes of one run of ``policyd report``. Plain data; renders and computes
nothing.

A **result** is for one object and one policy that matches it. If the policy has several findings
for the object, the worst one counts: fail, error, warn, skip, then pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from policyd.bounded_text import with_field

ResultWord = Literal["fail", "error", "warn", "skip", "pass"]
# The worst comes first, as in columns and filters.
RESULTS: tuple[ResultWord, ...] = ("fail", "error", "warn", "skip", "pass")
# The number of results by word.
ResultCounts = Mapping[ResultWord, int]
# Findings that a summary lists; the others are only counted.
MOST_FINDINGS = 1_000
# Problems that a summary lists; the others are only counted.
MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class PolicyResults:
    """The results of one policy. ``category`` and ``severity`` are its annotations, "" without.

    ``rollout`` is the stage of its rollout, such as ``25 percent``; "" without a rollout.
    ``idle``: it matches none of the listed resources.
    """

    name: str
    kind: str
    category: str
    severity: str
    rollout: str
    idle: bool
    results: ResultCounts


@dataclass(frozen=True, slots=True)
class NamespaceResults:
    """The results of the objects in one namespace; "" for cluster-scoped objects."""

    namespace: str
    objects: int
    results: ResultCounts


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One finding of a report. ``result`` is fail, warn, error or skip.

    ``rule`` is the validation, "" if the finding is about the whole policy. ``rollout`` is why the
    rollout of the policy does not enforce it, "" if it is enforced. ``exception`` names the
    exception that applies (result skip).
    """

    namespace: str
    api_version: str
    kind: str
    name: str
    policy: str
    rule: str
    result: str
    category: str
    severity: str
    message: str
    field: str
    rollout: str
    exception: str

    @property
    def text(self) -> str:
        """The message with the field."""
        return with_field(self.field, self.message)


@dataclass(slots=True)
class ReportWrites:
    """The changes of reports; with ``dry_run`` those that would be made.

    ``failed``: reports that could not be written or deleted; the reasons are in
    ``Summary.problems``.
    """

    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole run.

    ``cluster`` is the address of the API server, ``cluster_version`` its version ("" if unknown).
    ``api`` is the apiVersion of the reports, such as ``openreports.io/v1alpha1``. ``namespaces``
    are given with ``-n``; empty: all, and cluster-scoped objects. ``owned``: the number of objects
    whose owners were checked instead. ``policies`` are sorted by name and kind, ``by_namespace`` by
    name. ``findings`` are at most MOST_FINDINGS, some of each policy, namespace and result, in the
    order of the scan; ``more_findings`` is the number of omitted ones; likewise ``problems``
    (failed reads, writes and deletions) and ``more_problems``. ``interrupted``: a signal ended the
    run early.
    """

    cluster: str
    cluster_version: str
    api: str
    started: datetime
    seconds: float
    namespaces: tuple[str, ...]
    objects: int
    owned: int
    results: ResultCounts
    policies: tuple[PolicyResults, ...]
    by_namespace: tuple[NamespaceResults, ...]
    findings: tuple[ReportedFinding, ...]
    more_findings: int
    reports: ReportWrites
    problems: tuple[str, ...]
    more_problems: int
    interrupted: bool

    @property
    def complete(self) -> bool:
        """Whether everything was read and written."""
        return not self.problems and not self.interrupted
