"""Lookups in a cluster: users' permissions, namespaces, objects, and schemas of custom resources.

Optional: imported only when a cluster is configured; needs the extra ``cluster``. Evaluates
nothing.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from policyd.errors import ConfigError

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient
    from policyd.cluster.reader import ClusterReader

# Where a Pod finds its namespace.
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def pod_namespace() -> str:
    """Return the namespace of this Pod; empty outside a Pod or without a ServiceAccount."""
    try:
        return NAMESPACE_FILE.read_text().strip()
    except OSError:
        return ""


def connect(kubeconfig: Path | None, timeout: float) -> "ClusterClient":
    """A client for the current context of a kubeconfig; without one, for the cluster of this Pod.

    Sends nothing yet. Raises ConfigError if there is no such cluster, or no client library.
    """
    try:
        from policyd.cluster.client import ClusterClient
        from policyd.cluster.kubeconfig import configuration
    except ModuleNotFoundError as error:
        raise missing(error) from None
    return ClusterClient(configuration(kubeconfig), timeout)


def open_reader(
    kubeconfig: Path | None,
    context: str | None,
    timeout: float,
    before: Callable[[], object] | None = None,
) -> "ClusterReader":
    """A synchronous client for commands; ``context`` is a context of the kubeconfig. ``before`` is
    called before each request.
    """
    try:
        from policyd.cluster.kubeconfig import configuration, current
        from policyd.cluster.reader import ClusterReader
    except ModuleNotFoundError as error:
        raise missing(error) from None
    return ClusterReader(current(configuration(kubeconfig, context)), timeout, before)


def missing(error: ModuleNotFoundError) -> Exception:
    """The error to raise: a ConfigError with instructions if the client library is missing."""
    if error.name is None or error.name.partition(".")[0] not in ("lightkube", "httpx2"):
        return error
    return ConfigError("lookups in a cluster need more packages: pip install 'policyd[cluster]'")
