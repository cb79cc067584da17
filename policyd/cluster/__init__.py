"""What only a cluster knows, asked of its API server: whether a user may do something, what a
namespace is, which objects are there, and the schemas of custom resources.

Optional: imported by who was told to ask, and needs the extra ``cluster``. Judges nothing.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from policyd.errors import ConfigError

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient
    from policyd.cluster.definitions import ClusterDefinitions, ReportLookup
    from policyd.cluster.reader import ClusterReader


def connect(kubeconfig: Path | None, timeout: float) -> "ClusterClient":
    """A client of a kubeconfig's current context, without one of the Pod's own cluster.

    Nothing is sent yet. Raises ConfigError where there is no such cluster, or no client library.
    """
    try:
        from policyd.cluster import client
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    return client.ClusterClient(client.configuration(kubeconfig), timeout)


def open_reader(kubeconfig: Path | None, context: str | None, timeout: float) -> "ClusterReader":
    """The same for a command that reads what is there; ``context`` is one of the kubeconfig's."""
    try:
        from policyd.cluster import client, reader
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    return reader.ClusterReader(client.configuration(kubeconfig, context), timeout)


def _missing(error: ModuleNotFoundError) -> Exception:
    """What to install where it is the client library that is not there."""
    if error.name is None or error.name.partition(".")[0] not in ("lightkube", "httpx2"):
        return error
    return ConfigError("asking a cluster needs more packages: pip install 'policyd[cluster]'")


def open_definitions(
    client: "ClusterClient", timeout: float, report: "ReportLookup"
) -> "ClusterDefinitions":
    """The CustomResourceDefinitions of the same cluster, for who loads policies."""
    from policyd.cluster.definitions import ClusterDefinitions

    return ClusterDefinitions(client.config, timeout, report)
