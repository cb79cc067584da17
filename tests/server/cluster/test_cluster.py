"""``policyd serve`` that asks a cluster: real policies, a real process, an API server of our own."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders.reviews import body
from tests.cluster.fake import ApiServer, Call, Reply, api_server, refusal, status
from tests.server.process import Process, until
from tests.server.serve import command, write_policy

MAY = "authorizer.group('').resource('secrets').check('get')"
ASKING = f'validations: [{{expression: "{MAY}.allowed()", message: not yours}}]'
MARKING = f"""mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: "[JSONPatch{{op: 'add', path: '/data/why', value: {MAY}.reason()}}]"
"""


def by_user(call: Call) -> Reply:
    user = call.body["spec"]["user"]
    return Reply(
        status(user == "ann", reason=f"asked for {user}").body,
        201,
        after=float(user.removeprefix("slow-")) if user.startswith("slow-") else 0.0,
    )


def without_lists(answer: Callable[[Call], Reply]) -> Callable[[Call], Reply]:
    """An API server that policyd may not list anything of."""
    return lambda call: refusal(403, "no lists") if "limit=" in call.path else answer(call)


@contextmanager
def asking(
    folder: Path, *flags: str, spec: str = ASKING, failure: str = "Fail", fresh: bool = False
) -> Iterator[tuple[Process, ApiServer]]:
    policies = write_policy(folder / "policies", "asks", spec, failure).parent
    with api_server(folder, by_user) as cluster:
        file = str(cluster.kubeconfig())
        arguments = command(policies, "--kubeconfig", file, *flags)
        with Process(arguments, folder / "server.log", fresh=fresh) as server:
            yield server, cluster


def answer(server: Process, user: str = "ann", path: str = "/validate") -> dict[str, Any]:
    code, said = server.post(path, body(userInfo={"username": user}))
    assert code == 200
    response: dict[str, Any] = said["response"]
    return response


def test_the_cluster_decides_once_a_question_and_request(tmp_path: Path) -> None:
    with asking(tmp_path) as (server, cluster):
        assert answer(server)["allowed"]
        denied = answer(server, "eve")
        assert denied["status"]["message"] == "policy 'asks' denied request: not yours"
        cluster.answer = lambda _: status(True)  # permissions change
        assert answer(server, "eve")["allowed"]
        assert [call.body["spec"]["user"] for call in cluster.calls] == ["ann", "eve", "eve"]
        labels = '{question="authorizer",result="success"}'
        assert server.metric(f"policyd_cluster_lookups_total{labels}") == 3
        seconds = "policyd_cluster_lookup_duration_seconds"
        assert server.metric(f'{seconds}_count{{question="authorizer"}}') == 3
        phases = "policyd_admission_phase_duration_seconds"
        assert server.metric(f'{phases}_count{{phase="lookup"}}') == 3
        assert answer(server, path="/mutate")["allowed"]  # nobody asks there
        assert len(cluster.calls) == 3
        assert server.terminate() == 0
    assert not server.lines("defect")


def test_mutations_ask_too(tmp_path: Path) -> None:
    with asking(tmp_path, spec=MARKING) as (server, _):
        assert answer(server, path="/mutate")["patchType"] == "JSONPatch"


@pytest.mark.parametrize(("failure", "allowed"), [("Fail", False), ("Ignore", True)])
def test_without_an_answer_the_failure_policy_decides(
    tmp_path: Path, failure: str, allowed: bool
) -> None:
    with asking(tmp_path, failure=failure) as (server, cluster):
        cluster.answer = lambda _: refusal(403, "policyd may not ask")
        response = answer(server)
        assert response["allowed"] is allowed
        (line,) = until(lambda: server.lines("error"), "the line of the error")
        assert (
            "cannot find out whether 'ann' may get secrets: "
            "the API server answered 403: policyd may not ask"
        ) in line["message"]
        if not allowed:
            assert response["status"]["message"].endswith(line["message"])
        decisions = 'policyd_policy_decisions_total{decision="error",policy="asks"}'
        assert server.metric(decisions) == 1


def test_a_late_answer_is_not_waited_for_and_nobody_else_waits(tmp_path: Path) -> None:
    with asking(tmp_path) as (server, _), ThreadPoolExecutor(1) as pool:
        answer(server)  # connections are made
        late = pool.submit(answer, server, "slow-5", "/validate?timeout=1s")
        answered = 0
        while not late.done():
            assert answer(server)["allowed"]
            answered += 1
        assert answered
        response = late.result()
        assert "not known in time whether 'slow-5' may get secrets" in response["status"]["message"]
        timeouts = '{question="authorizer",result="timeout"}'
        assert server.metric(f"policyd_cluster_lookups_total{timeouts}") == 1


def test_requests_that_wait_are_answered_before_the_server_ends(tmp_path: Path) -> None:
    with asking(tmp_path, "--drain", "0.1s") as (server, cluster), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(answer, server, "slow-0.5")
        while not cluster.calls:
            time.sleep(0.01)
        assert server.terminate() == 0
        assert waiting.result()["status"]["message"] == "policy 'asks' denied request: not yours"


def test_without_a_cluster_nothing_of_its_client_is_loaded(tmp_path: Path) -> None:
    def loaded(server: Process) -> bool:
        """Whether the compiled part of what the client needs is in the process."""
        return "/msgspec/" in Path(f"/proc/{server.child.pid}/maps").read_text()

    with asking(tmp_path, fresh=True) as (server, _):
        assert loaded(server)
    with Process(command(tmp_path / "policies"), tmp_path / "without.log", fresh=True) as without:
        assert not loaded(without)
        refused = answer(without)
    assert "there is no cluster to ask whether 'ann' may get" in refused["status"]["message"]


def test_params_of_the_cluster_are_seen_as_they_change(tmp_path: Path) -> None:
    wanted = (
        "paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        "  paramRef: {name: limits, parameterNotFoundAction: Deny}\n"
        "  validations: [{expression: \"params.data.open == 'yes'\", message: closed}]"
    )
    with asking(tmp_path, spec=wanted) as (server, cluster):
        cluster.answer = without_lists(lambda _: refusal(404, 'configmaps "limits" not found'))
        assert "no params found for policy binding" in answer(server)["status"]["message"]
        data = {"open": "yes"}
        metadata = {"name": "limits", "namespace": "shop"}
        found = {"kind": "ConfigMap", "metadata": metadata, "data": data}
        cluster.answer = without_lists(lambda _: Reply(found))
        until(lambda: answer(server)["allowed"], "the ConfigMap")
        data["open"] = "no"
        until(lambda: not answer(server)["allowed"], "its change")
        asked = [call.path for call in cluster.calls if "limit=" not in call.path]
        assert set(asked) == {"/api/v1/namespaces/shop/configmaps/limits"}
        count = server.metric('policyd_cluster_lookups_total{question="param",result="success"}')
        assert count == len(asked)
