"""PolicyExceptions in the real process: from a file that is edited, and from ConfigMaps of teams in
a fake API server.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.config_maps import policy_map
from tests.builders.objects import config_map
from tests.builders.policies import policy_exception
from tests.builders.reviews import body
from tests.cluster.fake import ApiServer, Call, Reply, api_server, refusal
from tests.cluster.watched import WatchedList
from tests.server.config_maps import shown
from tests.server.process import Process, until
from tests.server.serve import DENY, serving, write_policy

SELECTOR = "policyd.dev/exceptions=true"


def denied(server: Process, namespace: str = "team-a", name: str = "x") -> bool:
    """Whether a forbidden ConfigMap is denied."""
    obj = config_map(name, namespace, data={"forbidden": "x"})
    status, said = server.post("/validate", body(object=obj, namespace=namespace, name=name))
    assert status == 200
    return not said["response"]["allowed"]


def test_an_exception_is_taken_from_a_file_and_taken_back(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policies", "p", DENY).parent
    made = policy_exception("legacy", "*", resources=[{"names": ["legacy-*"]}])
    with serving(tmp_path, folder) as server:
        assert denied(server, name="legacy-1")
        new = folder / ".exceptions"
        new.write_text(json.dumps(made))
        new.rename(folder / "exceptions.yaml")
        until(lambda: not denied(server, name="legacy-1"), "the exception")
        assert denied(server, name="other")
        assert server.metric('policyd_policy_exceptions{state="active"}') == 1
        assert server.metric('policyd_policy_decisions_total{decision="exempt",policy="p"}') == 1
        (line,) = until(lambda: server.lines("exemption"), "the line of the log")
        assert line["exception"] == "legacy" and line["message"] == "ticket 4711"
        new.write_text(json.dumps({**made, "spec": {**made["spec"], "reason": ""}}))
        new.rename(folder / "exceptions.yaml")
        until(lambda: not shown(server)["lastReload"]["succeeded"], "the refusal")
        assert not denied(server, name="legacy-1")  # the former set stays in use, as a whole
        (folder / "exceptions.yaml").unlink()
        until(lambda: denied(server, name="legacy-1"), "its removal")


def test_a_broken_exception_at_start_exempts_nothing(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policies", "p", DENY).parent
    (folder / "e.yaml").write_text(json.dumps(policy_exception("legacy", "*", reason="")))
    with serving(tmp_path, folder) as server:
        assert denied(server) and shown(server)["policies"][0]["state"] == "active"
        assert "spec.reason: Required value" in shown(server)["lastReload"]["errors"][0]


class Teams:
    """A fake API server with the ConfigMaps of teams."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server = server
        self.labelled = WatchedList()
        self.away = False
        self.folder = folder
        self.policies = write_policy(folder / "policies", "p", DENY).parent
        server.answer = self.answer

    def answer(self, call: Call) -> Reply:
        if self.away:
            return refusal(503, "etcd is away")
        path = call.path.partition("?")[0]
        if path.endswith("/configmaps"):
            assert "policyd.dev%2Fexceptions" in call.path
            return self.labelled.answer(call)
        return refusal(404, "not found")

    def put(self, namespace: str, name: str, **keys: JSONObject | str) -> None:
        self.labelled.put(name, namespace, data=policy_map(name, None, version=1, **keys)["data"])

    @contextmanager
    def serving(self, *more: str, allowed: str = "team-*") -> Iterator[Process]:
        flags = ["--kubeconfig", str(self.server.kubeconfig())]
        flags += ["--exception-configmaps", SELECTOR, "--exception-namespaces", allowed]
        with serving(self.folder, self.policies, *flags, *more) as process:
            yield process


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    with api_server(tmp_path, lambda _: refusal(404, "not found")) as server:
        made = Teams(server, tmp_path)
        try:
            yield made
        finally:
            made.labelled.close()


def maps(server: Process) -> list[dict[str, Any]]:
    return [each for each in shown(server)["configMaps"] if "namespace" in each]


def test_a_team_excepts_its_own_namespace_from_the_first_request_on(teams: Teams) -> None:
    teams.put("team-a", "mine", e=policy_exception("legacy", "p"))
    teams.put("other", "mine", e=policy_exception("legacy", "p"))
    with teams.serving() as server:
        assert not denied(server) and denied(server, "other") and denied(server, "team-b")
        (line,) = until(lambda: server.lines("exemption"), "the line of the log")
        assert line["exception"] == "team-a/legacy"
        teams.put("team-b", "mine", e=policy_exception("legacy", "p"))
        until(lambda: not denied(server, "team-b"), "the exception of the other team")
        assert server.metric('policyd_exception_configmaps{state="current"}') == 2
        assert server.metric('policyd_policy_configmaps{state="current"}') == 0
        teams.labelled.remove("mine", "team-a")
        until(lambda: denied(server), "the removal")
        assert not denied(server, "team-b")


def test_an_error_holds_back_the_edit_of_one_team_only(teams: Teams) -> None:
    teams.put("team-a", "mine", e=policy_exception("legacy", "p"))
    with teams.serving() as server:
        generation = shown(server)["generation"]
        teams.put("team-a", "mine", e=policy_exception("legacy", "p", reason=""), f=DENY)
        until(lambda: maps(server)[0].get("heldVersion"), "the edit that is held back")
        assert not denied(server)
        line = until(lambda: server.lines("exceptions-held"), "the line of the log")[0]
        assert line["namespace"] == "team-a" and line["name"] == "mine"
        assert line["level"] == "warning" and len(line["errors"]) == 2
        assert server.metric('policyd_exception_configmaps{state="held"}') == 1
        assert shown(server)["generation"] == generation  # nothing was loaded again
        assert shown(server)["lastReload"]["succeeded"]
        teams.put("team-b", "mine", e=policy_exception("legacy", "p"))
        until(lambda: not denied(server, "team-b"), "the exception of the other team")
        write_policy(teams.policies, "p", DENY.replace("forbidden", "renamed"))
        until(lambda: not denied(server, "team-c"), "an edit of the policies")


def test_policies_of_a_team_are_not_enforced(teams: Teams) -> None:
    deny = (teams.policies / "p.yaml").read_text().replace("name: p", "name: mine")
    teams.put("team-a", "mine", p=deny.replace("forbidden", "more"))
    with teams.serving() as server:
        assert [each["name"] for each in shown(server)["policies"]] == ["p"]
        (line,) = until(lambda: server.lines("exceptions-held"), "the line of the log")
        assert "PolicyException documents only" in line["errors"][0]


def test_broken_policies_do_not_keep_out_exceptions(teams: Teams) -> None:
    with teams.serving() as server:
        write_policy(teams.policies, "q", "validations: [{expression: 'object.'}]")
        until(lambda: not shown(server)["lastReload"]["succeeded"], "the refusal")
        teams.put("team-a", "mine", e=policy_exception("legacy", "p"))
        until(lambda: not denied(server), "the exception")


def test_named_namespaces_are_listed_one_by_one(teams: Teams) -> None:
    teams.put("team-a", "mine", e=policy_exception("legacy", "p"))
    with teams.serving("--workers", "2", allowed="team-a") as server:
        until(lambda: not denied(server), "the exception")
        asked = {each.path.partition("?")[0] for each in teams.server.calls}
        lists = {each for each in asked if each.endswith("/configmaps")}
        assert lists == {"/api/v1/namespaces/team-a/configmaps"}
        until(lambda: server.lines("workers"), "all workers")
        assert server.metric('policyd_policy_exceptions{state="active"}') == 1
        assert server.metric('policyd_exception_configmaps{state="current"}') == 1


def test_without_an_api_server_nothing_is_excepted(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.server.process.PATIENCE", 60.0)
    teams.put("team-a", "mine", e=policy_exception("legacy", "p"))
    teams.away = True
    with teams.serving() as server:  # after ten seconds
        assert denied(server)
        assert "cannot follow the exceptions of teams" in server.lines("cluster")[-1]["message"]
        teams.away = False
        until(lambda: not denied(server), "the exceptions")
