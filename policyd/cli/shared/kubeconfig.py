"""The options ``--kubeconfig`` and ``--context``, the file that kubectl would use, and the
connection of commands that only read.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from policyd.cli.shared.settings import grouped, option
from policyd.cluster import open_reader

if TYPE_CHECKING:
    from policyd.cluster.reader import ClusterReader

TIMEOUT = 30.0  # seconds per request to the API server
INCOMPLETE = 3  # the exit status if all is well but part of the cluster was not read or written


class Kubeconfig(NamedTuple):
    """The values of ``kubeconfig_options``."""

    kubeconfig: Path | None
    context: str | None

    @property
    def file(self) -> Path | None:
        """The kubeconfig file that kubectl would use; the first if $KUBECONFIG lists several. None
        if there is none, as in a Pod.
        """
        if self.kubeconfig is not None:
            return self.kubeconfig
        named = [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
        if named:
            return Path(named[0])
        home = os.environ.get("HOME")
        usual = Path(home, ".kube", "config") if home else None
        return usual if usual and usual.exists() else None

    def reader(self) -> "ClusterReader":
        """Return a client for the cluster."""
        return open_reader(self.file, self.context, TIMEOUT)


_OPTIONS = (
    option(
        "--kubeconfig FILE",
        "Connect to the cluster of this kubeconfig file.  [default: $KUBECONFIG, ~/.kube/config, "
        "or the cluster of the Pod]",
    ),
    option(
        "--context NAME",
        "Use this context of the kubeconfig file.  [default: the current context]",
    ),
)
kubeconfig_options = grouped("kube", Kubeconfig, _OPTIONS)
