"""Questions to an API server, over real connections: what is sent, and what its answers mean."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.cluster import connect, open_reader, reader
from policyd.cluster.client import ClusterClient
from tests.cluster.fake import REVIEWS, TOKEN, ApiServer, Call, Reply, api_server, refusal, status

Result = TypeVar("Result")
ASKED = Attributes("bob", "get", resource="pods")
NO = AccessDecision(False)
YES = AccessDecision(True)


async def with_client(client: ClusterClient, *asked: Attributes) -> list[AccessDecision | Failure]:
    try:
        return await asyncio.gather(*map(client.may, asked))
    finally:
        await client.close()


def ask(server: ApiServer, *asked: Attributes) -> list[AccessDecision | Failure]:
    return asyncio.run(with_client(connect(server.kubeconfig(), 5.0), *asked or (ASKED,)))


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


SENT: list[tuple[Attributes, dict[str, Any]]] = [
    (
        Attributes("bob", "get", path="/healthz"),
        {"user": "bob", "nonResourceAttributes": {"path": "/healthz", "verb": "get"}},
    ),
    (
        Attributes("bob", "list", resource="pods"),
        {
            "user": "bob",
            "resourceAttributes": {"verb": "list", "group": "", "version": "*", "resource": "pods"},
        },
    ),
    (
        Attributes(
            "bob",
            "update",
            groups=("a", "b"),
            uid="u1",
            extra=(("scopes", ("x", "y")), ("dept", ())),
            group="apps",
            resource="deployments",
            subresource="scale",
            namespace="shop",
            name="web",
            field_selector="spec.nodeName=a",
            label_selector="app in (web)",
        ),
        {
            "user": "bob",
            "uid": "u1",
            "groups": ["a", "b"],
            "extra": {"scopes": ["x", "y"], "dept": []},
            "resourceAttributes": {
                "verb": "update",
                "group": "apps",
                "version": "*",
                "resource": "deployments",
                "subresource": "scale",
                "namespace": "shop",
                "name": "web",
                "fieldSelector": {"rawSelector": "spec.nodeName=a"},
                "labelSelector": {"rawSelector": "app in (web)"},
            },
        },
    ),
]


@pytest.mark.parametrize(("asked", "spec"), SENT)
def test_the_question_as_it_is_sent(
    server: ApiServer, asked: Attributes, spec: dict[str, Any]
) -> None:
    assert ask(server, asked) == [YES]
    (call,) = server.calls
    assert (call.method, call.path, call.token) == ("POST", REVIEWS, TOKEN)
    assert call.body["apiVersion"] == "authorization.k8s.io/v1"
    assert call.body["kind"] == "SubjectAccessReview"
    sent = call.body["spec"]
    if "resourceAttributes" in sent:
        sent["resourceAttributes"].setdefault("group", "")
    assert sent == spec


PARSING = "spec.resourceAttributes.{} ignored due to parse error"


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        (status(True, reason="a role"), AccessDecision(True, "a role")),
        (status(False), NO),
        (status(False, denied=True, reason="never"), AccessDecision(False, "never")),
        (
            status(True, denied=True, reason="x"),
            AccessDecision(
                False,
                "x",
                "webhook subject access review returned both allow and deny response",
            ),
        ),
        (
            status(True, evaluationError="no role a; no role b"),
            AccessDecision(True, "", "no role a; no role b"),
        ),
        (status(True, evaluationError=PARSING.format("labelSelector")), YES),
        (
            status(
                False,
                evaluationError="; ".join(
                    ["no role", PARSING.format("fieldSelector"), PARSING.format("labelSelector")]
                ),
            ),
            AccessDecision(False, "", "no role"),
        ),
        (Reply({"kind": "SubjectAccessReview", "spec": {}}, 201), NO),
        (status(True, further="field"), YES),
    ],
)
def test_what_an_answer_means(server: ApiServer, reply: Reply, decision: AccessDecision) -> None:
    server.answer = lambda _: reply
    assert ask(server) == [decision]


@pytest.mark.parametrize(
    ("reply", "why", "calls"),
    [
        (refusal(403, "policyd may not"), "the API server answered 403: policyd may not", 1),
        (refusal(422, "no user"), "the API server answered 422: no user", 1),
        (refusal(429, "later"), "the API server answered 429: later", 3),
        (refusal(500, "broken"), "the API server answered 500: broken", 3),
        (Reply(b"<html>", 502, {"Content-Type": "text/html"}), "the API server answered 502", 3),
        (Reply(b"x", 404, {"Content-Type": None}), "the lookup in the API server failed", 1),
        (Reply(b"<html>"), "the lookup in the API server failed", 1),
        (Reply({"status": {"allowed": "yes"}}), "the lookup in the API server failed", 1),
        (Reply([], 403), "the lookup in the API server failed", 1),
    ],
)
def test_an_answer_that_is_none(server: ApiServer, reply: Reply, why: str, calls: int) -> None:
    server.answer = lambda _: reply
    (found,) = ask(server)
    assert isinstance(found, Failure)
    assert found.why.startswith(why)
    assert len(server.calls) == calls


def test_what_passes_is_asked_again_not_before_it_was_told(server: ApiServer) -> None:
    replies = [refusal(429, "later", Retry_After="1"), refusal(503, "soon"), status(True)]
    server.answer = lambda _: replies.pop(0)
    assert ask(server) == [YES]
    assert len(server.calls) == 3


def test_nobody_is_there(server: ApiServer, tmp_path: Path) -> None:
    kubeconfig = server.kubeconfig()
    text = kubeconfig.read_text().replace(server.url, "https://127.0.0.1:1")
    kubeconfig.write_text(text)
    (found,) = run(with_client(connect(kubeconfig, 5.0), ASKED))
    assert isinstance(found, Failure)
    assert found.why.startswith("the API server cannot be reached: ")


def test_another_authority_than_the_configured_one_is_not_trusted(
    server: ApiServer, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with api_server(other, lambda _: status(True)) as impostor:
        kubeconfig = server.kubeconfig()
        kubeconfig.write_text(kubeconfig.read_text().replace(server.url, impostor.url))
        (found,) = run(with_client(connect(kubeconfig, 5.0), ASKED))
        assert impostor.calls == []
    assert isinstance(found, Failure)
    assert "CERTIFICATE_VERIFY_FAILED" in found.why


def test_questions_side_by_side_and_connections_again(server: ApiServer) -> None:
    server.answer = lambda call: Reply(**{**vars(status(True)), "after": 0.1})

    async def scenario() -> None:
        client = connect(server.kubeconfig(), 5.0)
        for _ in range(2):
            asked = [ASKED._replace(name=str(number)) for number in range(8)]
            assert await asyncio.gather(*map(client.may, asked)) == [YES] * 8
        await client.close()

    run(scenario())
    assert server.most_at_once > 4
    assert len({call.client for call in server.calls}) == 8


def test_a_question_that_is_given_up_leaves_the_client_usable(server: ApiServer) -> None:
    def answer(call: Call) -> Reply:
        slow = call.body["spec"]["user"] == "slow"
        return Reply(**{**vars(status(True)), "after": 0.5 if slow else 0.0})

    server.answer = answer

    async def scenario() -> None:
        client = connect(server.kubeconfig(), 5.0)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.may(ASKED._replace(user="slow")), 0.05)
            assert await client.may(ASKED) == YES
        await client.close()

    run(scenario())


def test_a_command_remembers_a_bounded_number_of_decisions(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_DECISIONS", 3)
    server.answer = lambda _: status(True)
    names = ["a", "b", "a", "c", "d", "a"]  # d has no room until all others are forgotten
    with open_reader(server.kubeconfig(), None, 5.0) as made:
        for name in names:
            assert made.check(Attributes("bob", "get", resource="pods", name=name)) == YES
    sent = [call.body["spec"]["resourceAttributes"]["name"] for call in server.calls]
    assert sent == ["a", "b", "c", "d", "a"]
