"""How hard runs of ``policyd report`` press an API server: each attempt has its turn, waits are kept,
and lists whose pages would be too large are read in smaller ones.
"""

import time
from urllib.parse import parse_qsl, urlsplit

import pytest

from policyd.cluster import bounds
from policyd.reports import paced_requests
from tests.builders.policies import demand, policy, rule, teams
from tests.cluster.fake import REVIEWS, ApiServer, Call, Reply, refusal
from tests.reports.reporting import PODS, Reporter, Reporting, once


@pytest.fixture
def times(server: ApiServer) -> list[tuple[float, str]]:
    """When each request came in, and its path."""
    found: list[tuple[float, str]] = []
    before = server.answer

    def answer(call: Call) -> Reply:
        found.append((time.monotonic(), call.path))
        return before(call)

    server.answer = answer
    return found


def test_a_wait_that_the_server_demands_is_kept(contents: Reporting, report: Reporter) -> None:
    contents.add(PODS, "bad", "shop")
    at: list[float] = []
    busy = once(lambda call: call.method == "PATCH", refusal(429, "later", Retry_After="2"))

    def special(call: Call) -> Reply | None:
        if call.method == "PATCH":
            at.append(time.monotonic())
        return busy(call)

    contents.special = special
    assert report(teams()).exit_code == 0
    assert len(at) == 2
    assert at[1] - at[0] >= 2


def test_attempts_of_a_server_in_trouble_have_their_turns_too(
    contents: Reporting, report: Reporter, times: list[tuple[float, str]]
) -> None:
    for number in range(5):
        contents.add(PODS, f"p{number:02}", "shop")
    contents.special = lambda call: refusal(503, "in trouble") if call.method == "PATCH" else None
    done = report(teams(), flags=("--qps", "5"))
    assert done.exit_code == 3
    assert "5 failed" in done.stdout
    assert len(times) > 20, "no attempt was repeated"
    took = times[-1][0] - times[0][0]
    assert len(times) <= 5 + 5 * took + 1, f"{len(times)} requests in {took} s"


def test_lookups_of_policies_have_their_turns_too(
    contents: Reporting, report: Reporter, server: ApiServer, times: list[tuple[float, str]]
) -> None:
    """SubjectAccessReviews, each about another object."""
    for number in range(30):
        contents.add(PODS, f"p{number:02}", "shop")
    allowed = "authorizer.group('').resource('pods').name(object.metadata.name).check('get')"
    checks = policy("may", rule("pods"), validations=[demand(f"{allowed}.allowed()", "may not")])
    done = report(checks, flags=("--user", "alice", "--qps", "20"))
    assert done.exit_code == 0, done.output
    assert sum(path == REVIEWS for _, path in times) == 30
    took = times[-1][0] - times[0][0]
    assert len(times) <= 20 + 20 * took + 1, f"{len(times)} requests in {took} s"


def test_pages_that_would_be_too_large_have_fewer_objects(
    contents: Reporting,
    report: Reporter,
    server: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "MAX_PAGE_BYTES", 20_000)
    for number in range(300):
        size = 15_000 if number == 200 else 100
        contents.add(PODS, f"p{number:03}", "shop", spec={"text": "x" * size})
    done = report(teams())
    assert (done.exit_code, done.stderr) == (0, "")
    assert len(contents.names) == 300
    sizes = [dict(parse_qsl(urlsplit(each.path).query)).get("limit") for each in server.calls
             if each.path.startswith(f"{PODS}?")]  # fmt: skip
    assert sizes[:3] == ["500", "125", "31"]


def test_an_object_beyond_the_limit_is_a_problem_of_its_kind(
    contents: Reporting, report: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_PAGE_BYTES", 10_000)
    contents.stored("shop", "gone", "x")
    contents.add(PODS, "small", "shop")
    contents.add(PODS, "large", "shop", spec={"text": "x" * 20_000})
    done = report(teams())
    assert done.exit_code == 3
    assert "cannot list pods: the response is larger than 10000 bytes" in done.stderr
    assert contents.names == ["gone", "uid-small"]


def test_a_run_goes_on_after_a_restart_of_the_server(
    contents: Reporting, report: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced_requests, "UNANSWERED_PAUSE", 0.01)
    for number in range(20):
        contents.add(PODS, f"p{number:02}", "shop")
    away = [True] * 6

    def special(call: Call) -> Reply | None:
        if len(contents.writes) == 10 and away:
            away.pop()
            raise ConnectionAbortedError
        return None

    contents.special = special
    done = report(teams())
    assert (done.exit_code, done.stderr) == (0, "")
    assert "20 written, 0 unchanged, 0 deleted, 0 failed" in done.stdout


def test_a_response_that_is_no_object_is_a_problem_of_its_kind(
    contents: Reporting, report: Reporter
) -> None:
    contents.add(PODS, "bad", "shop")
    contents.add("/api/v1/configmaps", "bad", "shop")
    contents.special = lambda call: (
        Reply(b"<html>a proxy</html>") if call.path.startswith(f"{PODS}?") else None
    )
    done = report(teams(rule("pods", "configmaps")))
    assert done.exit_code == 3
    assert "cannot list pods: GET /api/v1/pods: the response is not JSON" in done.stderr
    assert contents.names == ["uid-bad"]


def test_a_server_that_never_answers_is_not_waited_for(
    contents: Reporting, report: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced_requests, "UNANSWERED_PAUSE", 0.01)

    attempts: list[Call] = []

    def special(call: Call) -> Reply | None:
        attempts.append(call)
        raise ConnectionAbortedError

    contents.special = special
    assert "cannot discover openreports.io/v1alpha1" in report.error(teams())
    assert len(attempts) < 20  # with one that has answered before there would be many more
