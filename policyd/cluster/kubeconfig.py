"""Which API server to query and as whom: a context of a kubeconfig, or a Pod's service account.

Lightkube reads both. What it would not heed is refused here, because a request would then go past a
proxy, or be sent by another user than kubectl's. Sends nothing.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import NameValue, User, UserExec
from lightkube.core.exceptions import ConfigError as KubeConfigError

from policyd.errors import ConfigError, PolicySchemaError
from policyd.json_types import JSONObject
from policyd.policy.source.loader import read_one

_IGNORED = {
    "cluster": ("proxy-url", "tls-server-name"),
    "user": ("as", "as-uid", "as-groups", "as-user-extra", "auth-provider"),
}
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}
_DATA = "-data"
_PLUGINS = "client.authentication.k8s.io"
# The version of plugins that lightkube knows. It reads of a response what all versions have.
_KNOWN_PLUGIN = f"{_PLUGINS}/v1beta1"


def configuration(kubeconfig: Path | None, context: str | None = None) -> SingleConfig:
    """The address and credentials of an API server; ``context`` defaults to the current one."""
    flag = "service account of the Pod" if kubeconfig is None else f"--kubeconfig {kubeconfig}"
    document: JSONObject = {}
    try:
        if kubeconfig is None:
            found = KubeConfig.from_service_account().get()
        else:
            document = read_one(kubeconfig.read_bytes(), str(kubeconfig))
            found = KubeConfig.from_dict(document, fname=kubeconfig).get(context)
    except KubeConfigError as error:
        if kubeconfig is not None:
            raise ConfigError(f"{flag}: {error}") from None
        cause = error.__cause__
        why = f"{cause.filename}: {cause.strerror}" if isinstance(cause, OSError) else str(error)
        raise ConfigError(
            f"no cluster: {why}\n  hint: a Pod needs the token of its service account; "
            "elsewhere use --kubeconfig FILE"
        ) from None
    except OSError as error:
        raise ConfigError(f"{flag}: {error.strerror}") from None
    except PolicySchemaError as error:
        raise ConfigError(f"--kubeconfig {error}") from None
    except KeyError as error:
        raise ConfigError(f"{flag}: {error.args[0]} is missing") from None
    except (AttributeError, TypeError, ValueError) as error:  # a field of another type
        raise ConfigError(f"{flag}: expected a kubeconfig: {error}") from None
    if found is None or found.user is None:
        raise ConfigError(f"{flag}: the context has no user")
    for problem in _problems(found, found.user, _entries(document, found)):
        raise ConfigError(f"{flag}: {problem}")
    return found


def _entries(document: JSONObject, found: SingleConfig) -> dict[str, JSONObject]:
    """Return cluster and user of the context as they are written."""
    named = {"cluster": found.context.cluster, "user": found.context.user}
    return {
        kind: each[kind]
        for kind, name in named.items()
        for each in document.get(f"{kind}s") or ()
        if each["name"] == name
    }


def _problems(
    found: SingleConfig, user: User, written: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what cannot be used, and prepare the rest: paths become absolute, as for kubectl."""
    for kind, fields in _IGNORED.items():
        for field in fields:
            if written.get(kind, {}).get(field):
                yield f"{field} of a {kind} is not supported: use a context without it"
    yield from _address(found.cluster.server)
    for kind, fields in _FILES.items():
        for field in fields:
            path = written.get(kind, {}).get(field)
            if path and not Path(found.abs_file(path)).is_file():
                yield f"{field}: there is no file {found.abs_file(path)}"
    certificate, key = (
        user.client_cert or user.client_cert_data,
        user.client_key or user.client_key_data,
    )
    if bool(certificate) is not bool(key):
        yield f"client-certificate{_DATA} and client-key{_DATA}, or the files, need each other"
    if user.token_file:
        user.token_file = str(found.abs_file(user.token_file))
    user.token = user.token or None
    if user.exec is not None:
        wants_cluster = written["user"]["exec"].get("provideClusterInfo") is True
        yield from _plugin(found, user.exec, wants_cluster)


def _address(server: str) -> Iterator[str]:
    try:
        url = httpx2.URL(server)
        usable = url.scheme in ("http", "https") and url.host and not (url.query or url.fragment)
        usable = usable and (url.port is None or url.port < 2**16)
    except (httpx2.InvalidURL, ValueError):
        usable = False
    if not usable:
        yield f"server: expected a URL like https://10.0.0.1:6443, got {server!r}"


def _plugin(found: SingleConfig, plugin: UserExec, wants_cluster: bool) -> Iterator[str]:
    """Prepare a credential plugin (client-go, tools/clientcmd and plugin/pkg/client/auth/exec)."""
    version = plugin.apiVersion
    if version not in (f"{_PLUGINS}/{each}" for each in ("v1", "v1beta1", "v1alpha1")):
        yield f"exec.apiVersion: expected {_PLUGINS}/v1, got {version!r}"
    spec: JSONObject = {"interactive": False}
    if wants_cluster:
        cluster = found.cluster
        spec["cluster"] = {
            "server": cluster.server,
            "insecure-skip-tls-verify": cluster.insecure,
            "certificate-authority-data": cluster.certificate_auth_data or "",
        }
    info = json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": spec})
    plugin.env = [*(plugin.env or ()), NameValue("KUBERNETES_EXEC_INFO", info)]
    plugin.apiVersion = _KNOWN_PLUGIN
    if "/" in plugin.command:
        plugin.command = str(found.abs_file(plugin.command))
