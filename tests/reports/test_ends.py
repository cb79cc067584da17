"""Runs of ``policyd report`` that meet an API server that is busy, refuses, or ends, and signals."""

import os
import signal
from pathlib import Path

import pytest

from policyd.cluster.listing import ApiReadError
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.reports import paced_requests
from policyd.reports.apis import INSTALL, OPENREPORTS, served_api
from tests.builders.policies import teams
from tests.cluster.fake import ApiServer, Call, Reply, refusal
from tests.reports.reporting import PODS, REPORTS, Reporter, Reporting, once


def test_a_busy_server_is_asked_again(contents: Reporting, report: Reporter) -> None:
    contents.add(PODS, "bad", "shop")
    refusals = [refusal(429, "too many requests", Retry_After="0") for _ in range(8)]

    def special(call: Call) -> Reply | None:
        busy = call.method == "PATCH" or call.path.startswith(f"{PODS}?")
        return refusals.pop() if refusals and busy else None

    contents.special = special
    assert report(teams()).exit_code == 0
    assert contents.names == ["uid-bad"]


def test_a_conflict_is_tried_again(contents: Reporting, report: Reporter) -> None:
    contents.add(PODS, "bad", "shop")
    conflict = refusal(409, "the object has been modified", Retry_After="0")
    contents.special = once(lambda call: call.method == "PATCH", conflict)
    assert report(teams()).exit_code == 0
    assert contents.names == ["uid-bad"]


def test_what_may_not_be_written_is_a_problem_once_a_namespace(
    contents: Reporting, report: Reporter, server: ApiServer
) -> None:
    for namespace in ("mail", "shop"):
        for number in range(3):
            contents.add(PODS, f"{namespace}-{number}", namespace)
    contents.special = lambda call: (
        refusal(403, "reports is forbidden")
        if call.method == "PATCH" and "/mail/" in call.path
        else None
    )
    done = report(teams())
    assert done.exit_code == 3
    assert done.stderr.count("reports is forbidden") == 1
    assert "3 written, 0 unchanged, 0 deleted, 3 failed" in done.stdout
    assert sum(each.method == "PATCH" for each in server.calls) == 4


def test_a_namespace_that_is_being_deleted_is_no_problem(
    contents: Reporting, report: Reporter
) -> None:
    contents.add(PODS, "bad", "shop")
    body = refusal(403, "unable to create new content in namespace shop").body
    causes = [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]
    leaving = Reply({**body, "details": {"causes": causes}}, 403)
    contents.special = lambda call: leaving if call.method == "PATCH" else None
    done = report(teams())
    assert (done.exit_code, done.stderr) == (0, "")


def test_a_server_that_ends_in_between_ends_the_run(
    contents: Reporting, report: Reporter, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced_requests, "UNANSWERED_PAUSE", 0.01)
    monkeypatch.setattr(paced_requests, "UNANSWERED_SECONDS", 1.0)
    contents.stored("shop", "gone", "x")
    for number in range(50):
        contents.add(PODS, f"p{number:02}", "shop")

    def special(call: Call) -> Reply | None:
        if len(contents.writes) >= 10:
            raise ConnectionAbortedError  # no answer to anything from now on
        return None

    contents.special = special
    done = report(teams())
    assert done.exit_code == 3
    assert "the API server does not answer any more" in done.stderr
    assert len(contents.writes) == 10
    assert "gone" in contents.names
    contents.special = lambda call: None
    done = report(teams())
    assert "40 written, 10 unchanged, 1 deleted" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_run_with_a_summary_and_deletes_nothing(
    number: signal.Signals, contents: Reporting, report: Reporter
) -> None:
    contents.stored("shop", "gone", "x")
    for pod in range(50):
        contents.add(PODS, f"p{pod:02}", "shop")

    def special(call: Call) -> Reply | None:
        if len(contents.writes) == 10 and call.method == "PATCH":
            os.kill(os.getpid(), number)
        return None

    contents.special = special
    before = signal.getsignal(number)
    done = report(teams())
    assert signal.getsignal(number) == before
    assert done.exit_code == 3
    assert "ending after the current request" in done.stderr
    assert "interrupted; the next run writes the rest" in done.stderr
    assert len(contents.writes) == 11
    assert "11 written, 0 unchanged, 0 deleted, 0 failed" in done.stdout
    contents.special = lambda call: None
    assert "39 written, 11 unchanged, 1 deleted" in report(teams()).stdout


def test_a_signal_ends_a_wait_for_a_busy_server(contents: Reporting, report: Reporter) -> None:
    signals = [signal.SIGTERM]  # a second one would end the process

    def special(call: Call) -> Reply | None:
        if not call.path.startswith(f"{PODS}?"):
            return None
        for number in signals[:1]:
            signals.clear()
            os.kill(os.getpid(), number)
        return refusal(429, "too many requests", Retry_After="1")

    contents.special = special
    done = report(teams())
    assert done.exit_code == 3
    assert "cannot list pods: the run was interrupted" in done.stderr


def test_a_summary_that_cannot_be_written_is_an_error_before_the_run(
    contents: Reporting, report: Reporter, server: ApiServer, tmp_path: Path
) -> None:
    contents.add(PODS, "bad", "shop")
    file = tmp_path / "none" / "summary.txt"
    assert f"there is no directory {file.parent}" in report.error(
        teams(), flags=("--output", str(file))
    )
    assert server.calls == []


def test_without_an_api_of_reports_it_says_what_to_install(
    contents: Reporting, report: Reporter
) -> None:
    contents.apis = []
    done = report.error(teams())
    assert "serves neither openreports.io/v1alpha1 nor wgpolicyk8s.io/v1alpha2" in done
    assert f"kubectl apply -f {INSTALL['openreports.io/v1alpha1'][0]}\n" in done
    done = report.error(teams(), flags=("--api", "wgpolicyk8s.io/v1alpha2"))
    assert "the cluster does not serve wgpolicyk8s.io/v1alpha2\n" in done
    assert all(f"kubectl apply -f {each}\n" in done for each in INSTALL["wgpolicyk8s.io/v1alpha2"])


def test_an_api_of_which_one_definition_is_missing_is_not_used() -> None:
    served: JSONObject = {"resources": [{"name": "reports"}]}

    class Reader:
        def get(self, path: str) -> JSONObject:
            if "openreports" in path:
                return served
            raise ApiReadError("not found", 404)

    with pytest.raises(ConfigError, match=r"serves openreports.io/v1alpha1 without clusterreports"):
        served_api(Reader())  # type: ignore[arg-type]
    served["resources"].append({"name": "clusterreports"})
    assert served_api(Reader()) is OPENREPORTS  # type: ignore[arg-type]


def test_reports_that_may_not_be_listed_are_an_error(contents: Reporting, report: Reporter) -> None:
    contents.special = lambda call: (
        refusal(403, "reports is forbidden") if f"{REPORTS}/" in call.path else None
    )
    assert "cannot list the reports of earlier runs: " in report.error(teams())


@pytest.mark.parametrize("path", ["/apis/openreports.io/v1alpha1", "/api/v1/namespaces/own/"])
def test_a_signal_before_the_scan_is_no_error_of_the_settings(
    path: str, contents: Reporting, report: Reporter
) -> None:
    """Status 2 would be final for a Job."""
    contents.stored("shop", "gone", "x")
    signals = [signal.SIGTERM]

    def special(call: Call) -> Reply | None:
        if call.path.startswith(path):
            while signals:
                os.kill(os.getpid(), signals.pop())
            return refusal(429, "too many requests", Retry_After="1")
        return None

    contents.special = special
    done = report(teams(), flags=("--policy-configmaps", "a=b", "--policy-namespace", "own"))
    assert done.exit_code == 3, done.output
    assert "interrupted; the next run writes the rest" in done.stderr
    assert (done.stdout, contents.names) == ("", ["gone"])
