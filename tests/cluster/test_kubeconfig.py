"""kubeconfigs as users have them: what policyd cannot heed is refused, with the place."""

import json
import stat
from pathlib import Path

import pytest

from policyd._core.lib.authorization import AccessDecision, Attributes
from policyd.cluster import connect, open_reader
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.listing import ApiReadError
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tests.cluster.fake import TOKEN, ApiServer

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
    ],
)
def test_what_is_refused(
    tmp_path: Path, cluster: JSONObject, user: JSONObject, message: str
) -> None:
    file = write(tmp_path, cluster, {"token": "t", **user})
    with pytest.raises(ConfigError) as error:
        connect(file, 5.0)
    assert str(error.value).startswith(f"--kubeconfig {file}: {message}")


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
