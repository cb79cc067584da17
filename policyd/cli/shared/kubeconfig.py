"""The options ``--kubeconfig`` and ``--context``, and the file that kubectl would use. Connects to
nothing.
"""

import os
from pathlib import Path

import click

from policyd.cli.shared.settings import FILE

KUBECONFIG = click.option(
    "--kubeconfig",
    type=FILE,
    help="Connect to the cluster of this kubeconfig file.  [default: $KUBECONFIG, "
    "~/.kube/config, or the cluster of the Pod]",
)
CONTEXT = click.option(
    "--context",
    metavar="NAME",
    help="Use this context of the kubeconfig file.  [default: the current context]",
)


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
