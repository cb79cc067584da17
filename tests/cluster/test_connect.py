"""Where the cluster is and who asks it: a Pod's service account, kubeconfigs, and what is wrong there."""

import asyncio
import sys
from pathlib import Path

import pytest

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.cluster import connect
from policyd.errors import ConfigError
from tests.cluster.fake import TOKEN, ApiServer

ASKED = Attributes("bob", "get", resource="pods")
YES = AccessDecision(True)


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

    asyncio.run(scenario())
    assert [call.token for call in server.calls] == [TOKEN, TOKEN, "second", "second", "second"]


def test_outside_of_a_pod_the_flag_says_what_to_give() -> None:
    with pytest.raises(ConfigError, match=r"(?s)no cluster: /var/run/secrets/.* --kubeconfig FILE"):
        connect(None, 5.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a kubeconfig: the file is empty"),
        ("# nothing yet", "expected a kubeconfig: the file is empty"),
        ("[]", "expected a kubeconfig: the file has no fields"),
        (
            "apiVersion: v1\nkind: Pod",
            "expected a kubeconfig: the file contains an object of kind Pod",
        ),
        ("{a: [", "did not find expected"),
        ("{}", "expected a kubeconfig: clusters is missing"),
        ("{clusters: []}", "expected a kubeconfig: contexts is missing"),
        ("{clusters: [], contexts: {a: b}}", "contexts is not a list of {name: …, context: …}"),
        ("{clusters: [], contexts: [a]}", "contexts is not a list of {name: …, context: …}"),
        ("{clusters: [], contexts: []}", "current-context is not set; contexts: none"),
        (
            "{clusters: [], contexts: [{name: a, context: {}}, {name: b, context: {}}]}",
            "current-context is not set; contexts: a, b",
        ),
        ("{clusters: [], contexts: [], current-context: a}", "there is no context 'a'; contexts: "),
        (
            "{clusters: [], contexts: [{name: prod, context: {}}], current-context: prd}",
            "there is no context 'prd'; did you mean prod?",
        ),
        (
            "{clusters: [{name: d, cluster: {}}], contexts: [{name: a, context: {cluster: c}}],"
            " current-context: a}",
            "the context 'a': there is no cluster 'c'; clusters: d",
        ),
        (
            "{clusters: [], contexts: [{name: a, context: {user: u}}], current-context: a}",
            "the context 'a' has no cluster; clusters: none",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 'https://x'}}],"
            " contexts: [{name: a, context: {cluster: c}}], current-context: a}",
            "the context 'a' has no user; users: none",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 'https://x'}}], users: [{name: u, user: {}}],"
            " contexts: [{name: a, context: {cluster: c, user: v}}], current-context: a}",
            "the context 'a': there is no user 'v'; users: u",
        ),
        (
            "{clusters: [{name: c, cluster: {}}], users: [{name: u, user: {}}],"
            " contexts: [{name: a, context: {cluster: c, user: u}}], current-context: a}",
            "the cluster 'c' has no server",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 3}}], users: [{name: u, user: {}}],"
            " contexts: [{name: a, context: {cluster: c, user: u}}], current-context: a}",
            "expected a kubeconfig: Expected `str`, got `int`",
        ),
        (
            "{clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: /no}}],"
            " users: [{name: u, user: {token: a}}],"
            " contexts: [{name: a, context: {cluster: c, user: u}}], current-context: a}",
            "certificate-authority: there is no file /no",
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
