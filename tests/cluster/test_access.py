"""Questions to an API server, over real connections: what is sent, and what its answers mean."""

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from policyd._core.authorization import Attributes, Decision, Failure
from policyd.cluster import connect
from policyd.cluster.client import ClusterClient
from policyd.errors import ConfigError
from tests.cluster.fake import REVIEWS, TOKEN, ApiServer, Call, Reply, api_server, refusal, status

Result = TypeVar("Result")
ASKED = Attributes("bob", "get", resource="pods")
NO = Decision(False)
YES = Decision(True)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    with api_server(tmp_path, lambda _: status(True)) as running:
        yield running


async def with_client(client: ClusterClient, *asked: Attributes) -> list[Decision | Failure]:
    try:
        return await asyncio.gather(*map(client.may, asked))
    finally:
        await client.close()


def ask(server: ApiServer, *asked: Attributes) -> list[Decision | Failure]:
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
        (status(True, reason="a role"), Decision(True, "a role")),
        (status(False), NO),
        (status(False, denied=True, reason="never"), Decision(False, "never")),
        (
            status(True, denied=True, reason="x"),
            Decision(
                False,
                "x",
                "webhook subject access review returned both allow and deny response",
            ),
        ),
        (
            status(True, evaluationError="no role a; no role b"),
            Decision(True, "", "no role a; no role b"),
        ),
        (status(True, evaluationError=PARSING.format("labelSelector")), YES),
        (
            status(
                False,
                evaluationError="; ".join(
                    ["no role", PARSING.format("fieldSelector"), PARSING.format("labelSelector")]
                ),
            ),
            Decision(False, "", "no role"),
        ),
        (Reply({"kind": "SubjectAccessReview", "spec": {}}, 201), NO),
        (status(True, further="field"), YES),
    ],
)
def test_what_an_answer_means(server: ApiServer, reply: Reply, decision: Decision) -> None:
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
        (Reply(b"x", 404, {"Content-Type": None}), "the API server cannot be asked", 1),
        (Reply(b"<html>"), "the API server cannot be asked", 1),
        (Reply({"status": {"allowed": "yes"}}), "the API server cannot be asked", 1),
        (Reply([], 403), "the API server cannot be asked", 1),
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


def service_account(folder: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files and variables that a Pod has."""
    import lightkube.config.kubeconfig as library

    account = folder / "serviceaccount"
    account.mkdir()
    (account / "token").write_text(TOKEN)
    (account / "namespace").write_text("policyd")
    (account / "ca.crt").write_bytes((server.folder / "ca.crt").read_bytes())
    host, _, port = server.url.removeprefix("https://").rpartition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    given = library.KubeConfig.from_service_account
    monkeypatch.setattr(
        library.KubeConfig, "from_service_account", classmethod(lambda cls: given(account))
    )
    return account


def test_a_pod_asks_as_its_service_account_and_reads_a_new_token(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = service_account(tmp_path, server, monkeypatch)

    async def scenario() -> None:
        client = connect(None, 5.0)
        assert await client.may(ASKED) == YES
        (account / "token").write_text("second")
        server.tokens = {"second"}
        assert await client.may(ASKED) == YES
        assert await client.may(ASKED) == YES
        server.tokens = {"third"}
        (account / "token").unlink()
        found = await client.may(ASKED)
        assert isinstance(found, Failure)
        assert "token" in found.why
        await client.close()

    run(scenario())
    assert [call.token for call in server.calls] == [TOKEN, TOKEN, "second", "second", "second"]


def test_outside_of_a_pod_the_flag_says_what_to_give() -> None:
    with pytest.raises(ConfigError, match=r"--cluster: no service account .* --kubeconfig FILE"):
        connect(None, 5.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not of the form of a kubeconfig"),
        ("[]", "not of the form of a kubeconfig"),
        ("{a: [", "did not find expected"),
        ("{}", "clusters is missing"),
        ("{clusters: [], contexts: []}", "No current context set"),
        ("{clusters: [], contexts: [], current-context: a}", "Context 'a' not found"),
        (
            "{clusters: [], contexts: [{name: a, context: {cluster: c}}], current-context: a}",
            "c is missing",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 'https://x'}}],"
            " contexts: [{name: a, context: {cluster: c}}], current-context: a}",
            "names no user",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 3}}],"
            " contexts: [{name: a, context: {cluster: c}}], current-context: a}",
            "not of the form of a kubeconfig: Expected `str`, got `int`",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: /no}}],"
            " users: [{name: u, user: {token: a}}],"
            " contexts: [{name: a, context: {cluster: c, user: u}}], current-context: a}",
            "No such file",
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        connect(file, 5.0)
    assert message in str(error.value)


def test_a_kubeconfig_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="--kubeconfig /nowhere: No such file or directory"):
        connect(Path("/nowhere"), 5.0)


def test_without_the_client_library_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "lightkube" or name.startswith("policyd.cluster."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("policyd.cluster.client")
    monkeypatch.setitem(sys.modules, "lightkube", None)
    with pytest.raises(ConfigError, match=r"pip install 'policyd\[cluster\]'"):
        connect(None, 5.0)
