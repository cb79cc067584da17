"""Runs of ``policyd report`` that read policies and exceptions from ConfigMaps, as the server does."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.report.sources import SourceOptions, selection_of
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tests.builders.policies import policy_exception, teams
from tests.cluster.fake import ApiServer, Call, Reply, refusal
from tests.reports.reporting import PODS, Reporter, Reporting, once

CONFIG_MAPS = "/api/v1/configmaps"
POLICIES = ("--policy-configmaps", "kind=policies", "--policy-namespace", "policyd")
EXCEPTIONS = ("--exception-configmaps", "kind=exceptions", "--exception-namespaces")
BROKEN = {"e.yaml": "kind: PolicyException\napiVersion: policyd.dev/v1\nmetadata: {name: e}\n"}


def add(contents: Reporting, name: str, namespace: str, *documents: JSONObject) -> None:
    """Add a ConfigMap with these documents in one key."""
    contents.add(CONFIG_MAPS, name, namespace, data=keys(*documents))


def keys(*documents: JSONObject) -> dict[str, str]:
    return {"all.yaml": "\n---\n".join(map(json.dumps, documents)), "notes.txt": "not a policy"}


def lists(server: ApiServer) -> list[str]:
    """The lists of ConfigMaps that were sent, in order."""
    return [each.path for each in server.calls if "/configmaps?" in each.path]


def results(contents: Reporting) -> dict[str, str]:
    """The result in each report, by the name of its object."""
    made = contents.reports.values()
    return {each["scope"]["name"]: each["results"][0]["result"] for each in made}


def test_policies_of_config_maps_are_checked_beside_those_of_files(
    contents: Reporting, report: Reporter, server: ApiServer
) -> None:
    contents.add(PODS, "bad", "shop")
    add(contents, "one", "policyd", teams())
    add(contents, "elsewhere", "shop", {**teams(), "metadata": {"name": "other"}})
    renamed = {**teams(), "metadata": {"name": "filed"}}
    done = report(renamed, flags=POLICIES)
    assert (done.exit_code, done.stderr) == (0, "")
    [made] = contents.reports.values()
    assert [each["policy"] for each in made["results"]] == ["filed", "team"]
    [listed] = lists(server)
    assert listed.startswith("/api/v1/namespaces/policyd/configmaps?")
    assert "labelSelector=kind%3Dpolicies" in listed
    assert "limit=500" in listed


def test_without_paths_and_in_pages(
    contents: Reporting, report: Reporter, server: ApiServer
) -> None:
    contents.add(PODS, "bad", "shop")
    contents.page = 2
    for number in range(5):
        add(contents, f"c{number}", "policyd", {**teams(), "metadata": {"name": f"p{number}"}})
    done = run(*POLICIES)
    assert done[0] == 0, done
    [made] = contents.reports.values()
    assert [each["policy"] for each in made["results"]] == [f"p{number}" for number in range(5)]
    assert len(lists(server)) == 3


def run(*flags: str) -> tuple[int, str]:
    """The exit status of a run without paths, and its error or what it prints to standard error."""
    done = CliRunner().invoke(policyd, ["report", "--qps", "100000", *flags])
    return done.exit_code, done.stderr + str(done.exception)


def test_an_exempt_object_is_skipped(
    contents: Reporting, report: Reporter, server: ApiServer
) -> None:
    for namespace in ("mail", "shop"):
        contents.add(PODS, f"bad-{namespace}", namespace)
    add(contents, "ours", "shop", policy_exception("ours", "team"))
    assert report(teams()).exit_code == 0
    assert results(contents) == {"bad-mail": "fail", "bad-shop": "fail"}
    assert lists(server) == []
    done = report(teams(), flags=(*EXCEPTIONS, "sh*"))
    assert (done.exit_code, done.stderr) == (0, "")
    assert results(contents) == {"bad-mail": "fail", "bad-shop": "skip"}
    [listed] = lists(server)
    assert listed.startswith("/api/v1/configmaps?")


def test_only_the_allowed_namespaces_except_and_only_themselves(
    contents: Reporting, report: Reporter, server: ApiServer
) -> None:
    for namespace in ("mail", "shop"):
        contents.add(PODS, f"bad-{namespace}", namespace)
    everywhere = policy_exception("e", "team", resources=[{"names": ["*"]}])
    add(contents, "mine", "mail", everywhere)
    flags = (*EXCEPTIONS, "shop", "--exception-namespaces", "none")
    assert report(teams(), flags=flags).exit_code == 0
    assert results(contents) == {"bad-mail": "fail", "bad-shop": "fail"}
    assert [each.partition("?")[0] for each in lists(server)] == [
        f"/api/v1/namespaces/{each}/configmaps" for each in ("shop", "none")
    ]
    assert report(teams(), flags=(*EXCEPTIONS, "*")).exit_code == 0
    assert results(contents) == {"bad-mail": "skip", "bad-shop": "fail"}


def test_a_broken_config_map_of_a_team_is_left_out_alone(
    contents: Reporting, report: Reporter
) -> None:
    for namespace in ("mail", "shop"):
        contents.add(PODS, f"bad-{namespace}", namespace)
    contents.add(CONFIG_MAPS, "broken", "mail", data=BROKEN)
    add(contents, "policies", "mail", teams())
    add(contents, "ours", "shop", policy_exception("ours", "team"))
    done = report(teams(), flags=(*EXCEPTIONS, "*"))
    assert done.exit_code == 0, "no team makes the runs of all fail"
    assert "warning: ConfigMap broken of namespace mail is not used" in done.stderr
    assert "warning: ConfigMap policies of namespace mail is not used" in done.stderr
    assert results(contents) == {"bad-mail": "fail", "bad-shop": "skip"}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"p.yaml": "kind: [\n"}, "configmap/broken/p.yaml"),
        (keys({**teams(), "spec": {}}), "configmap/broken/all.yaml"),
        (keys(teams()), "Policy team is defined twice"),
    ],
)
def test_a_broken_config_map_of_policies_ends_the_run_before_it_writes(
    contents: Reporting, data: dict[str, str], complaint: str, report: Reporter
) -> None:
    contents.add(PODS, "bad", "shop")
    contents.stored("shop", "gone", "x")
    add(contents, "a", "policyd", teams())
    contents.add(CONFIG_MAPS, "broken", "policyd", data=data)
    status, error = run(*POLICIES)
    assert status == 1, "an error of policies, for which the process exits with 2"
    assert complaint in error
    assert contents.writes == []


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (POLICIES, "cannot list the ConfigMaps kind=policies of namespace policyd: "),
        ((*EXCEPTIONS, "*"), "cannot list the ConfigMaps kind=exceptions of all namespaces: "),
        ((*EXCEPTIONS, "shop"), "cannot list the ConfigMaps kind=exceptions of namespace shop: "),
    ],
)
def test_config_maps_that_may_not_be_listed_end_the_run_before_it_writes(
    contents: Reporting, report: Reporter, flags: tuple[str, ...], complaint: str
) -> None:
    contents.add(PODS, "bad", "shop")
    contents.stored("shop", "gone", "x")
    forbidden = refusal(403, "configmaps is forbidden")
    contents.special = lambda call: forbidden if "/configmaps?" in call.path else None
    error = report.error(teams(), flags=flags)
    assert complaint in error
    assert "configmaps is forbidden" in error
    assert contents.writes == []


def test_a_busy_server_is_asked_for_config_maps_again(
    contents: Reporting, report: Reporter
) -> None:
    contents.add(PODS, "bad", "shop")
    add(contents, "ours", "shop", policy_exception("ours", "team"))
    busy: Reply = refusal(429, "too many requests", Retry_After="0")

    def listed(call: Call) -> bool:
        return "/configmaps?" in call.path

    contents.special = once(listed, busy)
    assert report(teams(), flags=(*EXCEPTIONS, "*")).exit_code == 0
    assert results(contents) == {"bad": "skip"}


def test_no_policies_in_config_maps(report: Reporter) -> None:
    status, error = run(*POLICIES)
    assert status == 1
    assert "no policies in the ConfigMaps kind=policies of namespace policyd" in error


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ((), "no policies: set --policies, --policy-configmaps or both"),
        (POLICIES[:2], "--policy-configmaps with a kubeconfig needs --policy-namespace"),
        ((*EXCEPTIONS, "x"), "no policies: set --policies, --policy-configmaps or both"),
        ((*POLICIES, *EXCEPTIONS[:2]), "must be set together"),
        ((*POLICIES, "--exception-namespaces", "x"), "must be set together"),
        ((*POLICIES[:1], "a b"), "expected a label selector"),
        ((*POLICIES, *EXCEPTIONS, "A_b"), "expected a namespace or a pattern like team-*"),
    ],
)
def test_options_that_cannot_work(report: Reporter, flags: tuple[str, ...], complaint: str) -> None:
    status, error = run(*flags)
    assert status != 0
    assert complaint in error


def test_the_namespace_of_the_pod_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = SourceOptions(policy_configmaps="a=b")
    monkeypatch.setattr("policyd.cluster.NAMESPACE_FILE", tmp_path / "namespace")
    with pytest.raises(ConfigError, match="--policy-namespace is not set, and there is no /"):
        selection_of(given, in_pod=True)
    (tmp_path / "namespace").write_text("policyd\n")
    assert selection_of(given, in_pod=True).namespace == "policyd"
    assert selection_of(replace(given, policy_namespace="other"), in_pod=True).namespace == "other"


def test_a_namespace_alone_selects_nothing(report: Reporter) -> None:
    error = report.error(teams(), flags=POLICIES[2:])
    assert error == "--policy-namespace needs --policy-configmaps"
