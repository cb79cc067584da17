"""What only a cluster knows, asked of its API server: whether a user may do something, and what a
namespace is.

Optional: imported by who was told to ask, and needs the extra ``cluster``. Judges nothing.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from policyd.errors import ConfigError

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient


def connect(kubeconfig: Path | None, timeout: float) -> "ClusterClient":
    """A client of a kubeconfig's current context, without one of the Pod's own cluster.

    Nothing is sent yet. Raises ConfigError where there is no such cluster, or no client library.
    """
    try:
        from policyd.cluster import client
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("lightkube", "httpx2"):
            raise
        raise ConfigError(
            "asking a cluster needs more packages: pip install 'policyd[cluster]'"
        ) from None
    return client.ClusterClient(client.configuration(kubeconfig), timeout)
