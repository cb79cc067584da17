"""kubeconfigs as users have them: what policyd cannot heed is refused, with the place."""

import json
import stat
from pathlib import Path

import pytest

from policyd._core.lib.authorization import AccessDecision, Attributes
from policyd.cluster import connect, open_reader
from policyd.cluster.commands import open_objects
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.listing import ApiReadError
from policyd.cluster.objects import ObjectError
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tests.cluster.fake import TOKEN, ApiServer
from tests.tls.pki import issue, pem

PLUGIN = "client.authentication.k8s.io"


def write(folder: Path, cluster: JSONObject, user: JSONObject) -> Path:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1", **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "a",
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"proxy-url": "http://proxy"}, {}, "proxy-url of a cluster is not supported"),
        ({"tls-server-name": "x"}, {}, "tls-server-name of a cluster is not supported"),
        ({}, {"as": "somebody"}, "as of a user is not supported"),
        ({}, {"as-groups": ["somebody"]}, "as-groups of a user is not supported"),
        ({}, {"as-user-extra": {"a": ["b"]}}, "as-user-extra of a user is not supported"),
        ({}, {"auth-provider": {"name": "gcp"}}, "auth-provider of a user is not supported"),
        ({"server": "10.0.0.1:6443"}, {}, "server: expected a URL like https://"),
        ({"server": ""}, {}, "server: expected a URL like https://"),
        ({"server": "ftp://x"}, {}, "server: expected a URL like https://"),
        ({"server": "https://x:99999"}, {}, "server: expected a URL like https://"),
        ({"server": "https://[::1"}, {}, "server: expected a URL like https://"),
        ({"server": f"https://{'é' * 70}.x"}, {}, "server: expected a URL like https://"),
        ({"server": "https://x/?a=b"}, {}, "server: expected a URL like https://"),
        ({}, {"client-certificate": "gone", "client-key": "gone"}, "client-certificate: there is"),
        (
            {},
            {"client-certificate-data": "YQ=="},
            "client-certificate-data and client-key-data, or",
        ),
        ({}, {"client-key-data": "YQ=="}, "client-certificate-data and client-key-data, or"),
        ({}, {"tokenFile": "gone"}, "tokenFile: there is no file"),
        ({}, {"tokenFile": "/dev/zero"}, "tokenFile: there is no file"),
        ({}, {"exec": {"apiVersion": f"{PLUGIN}/v9", "command": "x"}}, "exec.apiVersion: expected"),
        (
            {},
            {"exec": {"apiVersion": f"{PLUGIN}/v1", "command": "no-such-plugin"}},
            "exec.command: there is no program no-such-plugin",
        ),
        (
            {"certificate-authority-data": "YQ=="},
            {},
            "certificate-authority: expected a certificate as PEM, got none",
        ),
        ({"certificate-authority-data": "a"}, {}, "certificate-authority: Invalid base64"),
        (
            {},
            {"client-certificate-data": "YQ==", "client-key-data": "YQ=="},
            "client-certificate: expected a certificate as PEM, got none",
        ),
    ],
)
def test_what_is_refused(
    tmp_path: Path, cluster: JSONObject, user: JSONObject, message: str
) -> None:
    file = write(tmp_path, cluster, {"token": "t", **user})
    with pytest.raises(ConfigError) as error:
        connect(file, 5.0)
    assert str(error.value).startswith(f"--kubeconfig {file}: {message}")


def test_a_key_of_another_certificate(tmp_path: Path) -> None:
    (certificate, _), (_, key) = (issue(name).write(tmp_path) for name in ("bob", "alice"))
    pair = {"client-certificate": str(certificate), "client-key": str(key)}
    with pytest.raises(
        ConfigError, match="client-key: expected the EC key of the certificate, got"
    ):
        configuration(write(tmp_path, {}, pair))


def test_commands_refuse_a_client_certificate_that_has_expired(tmp_path: Path) -> None:
    certificate, key = issue("bob", days=-1).write(tmp_path)
    file = write(tmp_path, {}, {"client-certificate": str(certificate), "client-key": str(key)})
    connect(file, 5.0)  # a server starts, and applies failurePolicy
    expired = "certificate of the context 'a' expired at 20"
    with pytest.raises(ConfigError, match=expired), open_reader(file, None, 5.0):
        pass
    with pytest.raises(ConfigError, match=expired), open_objects(file, None, 5.0):
        pass


def test_commands_name_the_server_that_they_cannot_reach(tmp_path: Path) -> None:
    file = write(tmp_path, {"server": "https://127.0.0.1:1"}, {"token": "t"})
    why = "the API server cannot be reached at https://127.0.0.1:1: Connection refused"
    with open_reader(file, None, 5.0) as reader, pytest.raises(ApiReadError, match=why):
        reader.get("/version")
    with open_objects(file, None, 5.0) as objects, pytest.raises(ObjectError, match=why):
        objects.get("/version")


def test_commands_say_why_a_certificate_of_the_server_is_not_accepted(
    server: ApiServer, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(pem(issue("another")))
    file = write(
        tmp_path, {"server": server.url, "certificate-authority": "ca.crt"}, {"token": "t"}
    )
    with open_reader(file, None, 5.0) as reader, pytest.raises(ApiReadError) as error:
        reader.get("/version")
    assert f"at {server.url}: its certificate is not accepted: self-signed" in str(error.value)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    user = configuration(write(tmp_path, {}, {"tokenFile": "token"})).user
    assert user is not None and user.token_file == str(tmp_path / "token")


def test_empty_fields_are_as_if_they_were_missing(tmp_path: Path) -> None:
    given = configuration(write(tmp_path, {"proxy-url": ""}, {"token": "", "as": ""}))
    assert given.user is not None and given.user.token is None


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_gets_what_kubernetes_promises(
    server: ApiServer, tmp_path: Path, version: str
) -> None:
    script = tmp_path / "plugin"
    script.write_text(
        f"""#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info
echo '{{"status": {{"token": "{TOKEN}"}}}}'
"""
    )
    script.chmod(stat.S_IRWXU)
    plugin = {
        "apiVersion": f"{PLUGIN}/{version}",
        "command": "./plugin",
        "provideClusterInfo": True,
    }
    trust = {"server": server.url, "certificate-authority": str(server.folder / "ca.crt")}
    with open_reader(write(tmp_path, trust, {"exec": plugin}), None, 5.0) as reader:
        assert reader.check(Attributes("bob", "get", resource="pods")) == AccessDecision(True)
    assert server.calls[-1].token == TOKEN
    info = json.loads((tmp_path / "info").read_text())
    assert info["apiVersion"] == f"{PLUGIN}/{version}"
    assert info["spec"]["cluster"]["server"] == server.url
    assert info["spec"]["interactive"] is False


def test_no_message_has_a_token(server: ApiServer, tmp_path: Path) -> None:
    trust = {"server": server.url, "certificate-authority": str(server.folder / "ca.crt")}
    file = write(tmp_path, trust, {"token": "secret\nsecret"})
    with open_reader(file, None, 5.0) as reader, pytest.raises(ApiReadError) as error:
        reader.get("/version")
    assert "token has a character" in str(error.value) and "secret" not in str(error.value)
