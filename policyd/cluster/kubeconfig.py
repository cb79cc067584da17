"""The API server to query and the credentials: a kubeconfig's context or a Pod's service account.

Lightkube reads both. policyd refuses fields that lightkube would ignore, because requests would
then bypass a proxy or come from a user other than kubectl's. Sends nothing.
"""

import base64
import json
import shutil
import ssl
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import NameValue, User, UserExec
from lightkube.core.exceptions import ConfigError as KubeConfigError

from policyd.errors import ConfigError, PolicySchemaError
from policyd.json_types import JSONObject
from policyd.near_names import did_you_mean
from policyd.policy.source.loader import read_one
from policyd.tls.keys import mistake_in_key
from policyd.tls.pem import KeyPair, as_files, certificates_in, load_pair, validity

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
# The plugin version that lightkube knows. It reads only fields that all versions have.
_KNOWN_PLUGIN = f"{_PLUGINS}/v1beta1"


def configuration(kubeconfig: Path | None, context: str | None = None) -> SingleConfig:
    """The address and credentials of an API server; ``context`` defaults to the current one."""
    flag = "service account of the Pod" if kubeconfig is None else f"--kubeconfig {kubeconfig}"
    document: JSONObject = {}
    try:
        if kubeconfig is None:
            found = KubeConfig.from_service_account().get()
        else:
            document = _document(kubeconfig)
            for problem in _context_problems(document, context):
                raise ConfigError(f"{flag}: {problem}")
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


def current(found: SingleConfig) -> SingleConfig:
    """Return a configuration whose client certificate has not expired; raises ConfigError."""
    user = found.user or User()
    certificate = _content(found, user.client_cert, user.client_cert_data)
    ends = validity(certificate)[1] if certificate else time() + 1
    if ends <= time():
        raise ConfigError(
            f"--kubeconfig {found.fname}: the client certificate of the context "
            f"{found.context_name!r} expired at {datetime.fromtimestamp(ends, UTC).isoformat()}: "
            "renew it"
        )
    return found


def _document(kubeconfig: Path) -> JSONObject:
    """Return the content of a file; raises ValueError if it is not a kubeconfig."""
    document = read_one(kubeconfig.read_bytes(), str(kubeconfig))
    if document is None:
        raise ValueError("the file is empty")
    if not isinstance(document, dict):
        raise ValueError("the file has no fields")
    kind = document.get("kind", "Config")
    if kind != "Config":
        raise ValueError(f"the file contains an object of kind {kind}")
    return document


def _context_problems(document: JSONObject, context: str | None) -> Iterator[str]:
    """Yield the problems of the names of the context, its cluster and its user."""
    clusters, contexts, users = (
        _by_name(document, each) for each in ("cluster", "context", "user")
    )
    name = context or document.get("current-context")
    if not name:
        yield f"current-context is not set; {_instead('', 'context', contexts)}"
    elif name not in contexts:
        yield f"there is no context {name!r}; {_instead(name, 'context', contexts)}"
    else:
        for kind, known in (("cluster", clusters), ("user", users)):
            named = contexts[name].get(kind)
            if not named:
                yield f"the context {name!r} has no {kind}; {_instead('', kind, known)}"
            elif named not in known:
                wrong = f"the context {name!r}: there is no {kind} {named!r}"
                yield f"{wrong}; {_instead(named, kind, known)}"
        cluster = contexts[name]["cluster"]
        if "server" not in clusters[cluster]:
            yield f"the cluster {cluster!r} has no server"


def _by_name(document: JSONObject, kind: str) -> dict[str, JSONObject]:
    """Return the clusters, contexts or users; raises ValueError if they are not a list."""
    field = f"{kind}s"
    if kind != "user" and field not in document:
        raise ValueError(f"{field} is missing")
    listed = document.get(field) or ()
    if not isinstance(listed, list | tuple) or not all(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and type(each.get(kind)) is dict
        for each in listed
    ):
        raise ValueError(f"{field} is not a list of {{name: …, {kind}: …}}")
    return {each["name"]: each[kind] for each in listed}


def _instead(name: object, kind: str, known: Iterable[str]) -> str:
    return did_you_mean(str(name), known, f"{kind}s: {', '.join(known) or 'none'}")


def _entries(document: JSONObject, found: SingleConfig) -> dict[str, JSONObject]:
    """Return the cluster and the user of the context as written in the file."""
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
    """Yield unusable fields, and prepare the others: paths become absolute, as for kubectl."""
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
        yield f"client-certificate{_DATA} and client-key{_DATA}, or the files, must be set together"
    yield from _certificate_problems(found, user)
    if user.token_file:
        user.token_file = str(found.abs_file(user.token_file))
    user.token = user.token or None
    if user.exec is not None:
        wants_cluster = written["user"]["exec"].get("provideClusterInfo") is True
        yield from _plugin(found, user.exec, wants_cluster)


def _certificate_problems(found: SingleConfig, user: User) -> Iterator[str]:
    """Yield certificates and keys that OpenSSL refuses: its errors name neither field nor file."""
    cluster, context = found.cluster, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The order of lightkube: it prefers the file of the CA, and the data of the others.
    authority_data = None if cluster.certificate_auth else cluster.certificate_auth_data
    read: dict[str, bytes | None] = {}
    for field, path, data in (
        ("certificate-authority", cluster.certificate_auth, authority_data),
        ("client-certificate", user.client_cert, user.client_cert_data),
        ("client-key", user.client_key, user.client_key_data),
    ):
        try:
            read[field] = _content(found, path, data)
        except (OSError, ValueError) as error:
            yield f"{field}: {error}"
            return
    authority, certificate, key = read.values()
    if authority is not None:
        try:
            with as_files(authority) as (file,):
                context.load_verify_locations(file)
        except OSError as error:
            yield f"certificate-authority: {_mistake(authority) or error}"
    if certificate is not None and key is not None:
        pair = KeyPair(certificate, key)
        try:
            load_pair(context, pair)
        except (OSError, ValueError) as error:
            wrong = _mistake(certificate)
            key_problem = f"client-key: {mistake_in_key(pair, error) or error}"
            yield f"client-certificate: {wrong}" if wrong else key_problem


def _mistake(certificate: bytes) -> str:
    try:
        certificates_in(certificate)
    except ValueError as error:
        return str(error)
    return ""


def _content(found: SingleConfig, path: str | None, data: str | None) -> bytes | None:
    """Return the base64 content of a field, or else the file that another field names."""
    if data:
        return base64.b64decode(data)
    return Path(found.abs_file(path)).read_bytes() if path else None


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
    directories = next((each.value for each in plugin.env if each.name == "PATH"), None)
    if shutil.which(plugin.command, path=directories) is None:
        yield f"exec.command: there is no program {plugin.command}"
