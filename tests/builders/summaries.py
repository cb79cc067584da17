"""Summaries of runs of ``policyd report``."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from policyd.reports.summary import (
    RESULTS,
    NamespaceResults,
    PolicyResults,
    ReportedFinding,
    ReportWrites,
    ResultCounts,
    Summary,
)

STARTED = datetime(2026, 11, 23, 18, 0, 5, 250_000, UTC)


def finding(**changes: Any) -> ReportedFinding:
    """A violation of a policy by a Deployment."""
    made = ReportedFinding(
        namespace="shop",
        api_version="apps/v1",
        kind="Deployment",
        name="web",
        policy="require-labels",
        rule="team",
        result="fail",
        category="Labels",
        severity="high",
        message="metadata.labels must have the key team",
        field="",
        rollout="",
        exception="",
    )
    return replace(made, **changes)


def counts(*, passed: int = 0, **found: int) -> ResultCounts:
    """Counts of results; of those that are not named there are none."""
    return {each: found.get(each, 0) for each in RESULTS} | {"pass": passed}


def policy_results(name: str, *, idle: bool = False, **found: int) -> PolicyResults:
    """The results of a policy without a rollout."""
    return PolicyResults(name, "Policy", "Labels", "high", "", idle, counts(**found))


FINDINGS = (
    finding(),
    finding(namespace="mail", name="imap", result="warn", severity="low", policy="require-probes",
            rule="validations[0]", message="containers[0] has no readinessProbe"),
    finding(namespace="", api_version="v1", kind="Namespace", name="stage", severity="medium",
            rollout="namespace stage is not in the 25 percent (its number is 61)"),
    finding(name="legacy", result="skip", exception="billing-legacy", rule="",
            message="exception billing-legacy applies"),
    finding(name="broken", result="error", severity="", message="no such key: team", rule=""),
)  # fmt: skip


def summary(**changes: Any) -> Summary:
    """A complete run over three namespaces."""
    made = Summary(
        cluster="https://10.0.0.1:443",
        cluster_version="1.37",
        api="openreports.io/v1alpha1",
        started=STARTED,
        seconds=4.25,
        namespaces=(),
        objects=1234,
        owned=56,
        results=counts(passed=1230, fail=2, warn=1, error=1, skip=1),
        policies=(
            policy_results("require-labels", passed=30, fail=2, error=1, skip=1),
            replace(
                policy_results("require-probes", passed=1200, warn=1),
                rollout="25 percent",
                category="Availability",
                severity="low",
            ),
            policy_results("unused", idle=True),
        ),
        by_namespace=(
            NamespaceResults("", 3, counts(passed=2, fail=1)),
            NamespaceResults("mail", 231, counts(passed=300, warn=1)),
            NamespaceResults("shop", 1000, counts(passed=928, fail=1, error=1, skip=1)),
        ),
        findings=FINDINGS,
        more_findings=0,
        reports=ReportWrites(written=4, unchanged=1, deleted=2, failed=0, dry_run=False),
        problems=(),
        more_problems=0,
        interrupted=False,
    )
    return replace(made, **changes)
