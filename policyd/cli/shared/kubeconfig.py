"""The options ``--kubeconfig`` and ``--context``, the file that kubectl would use, and the
connection of commands that only read.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from policyd.cli.shared.settings import option
from policyd.cluster import open_reader

if TYPE_CHECKING:
    from policyd.cluster.reader import ClusterReader

TIMEOUT = 30.0  # seconds per request to the API server
INCOMPLETE = 3  # the exit status if all is well but part of the cluster was not read or written

KUBECONFIG = option(
    "--kubeconfig FILE",
    "Connect to the cluster of this kubeconfig file.  [default: $KUBECONFIG, "
    "~/.kube/config, or the cluster of the Pod]",
)
CONTEXT = option(
    "--context NAME", "Use this context of the kubeconfig file.  [default: the current context]"
)


def cluster_reader(kubeconfig: Path | None, context: str | None) -> "ClusterReader":
    """Return a client for the cluster that these options name."""
    return open_reader(kubeconfig_file(kubeconfig), context, TIMEOUT)


def kubeconfig_file(given: Path | None) -> Path | None:
    """Return the kubeconfig file that kubectl would use; the first if $KUBECONFIG lists several.

    None if there is none, as in a Pod.
    """
    if given is not None:
        return given
    named = [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    if named:
        return Path(named[0])
    home = os.environ.get("HOME")
    usual = Path(home, ".kube", "config") if home else None
    return usual if usual and usual.exists() else None
