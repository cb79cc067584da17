"""The option ``--kubernetes-version``. Loads no policies."""

from collections.abc import Callable
from typing import Any

import click

from policyd.versions import NEWEST, SPAN, KubernetesVersion, supported


class _Version(click.ParamType[KubernetesVersion]):
    """A supported version of Kubernetes."""

    name = "VERSION"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> KubernetesVersion:
        if isinstance(value, KubernetesVersion):
            return value
        try:
            return supported(str(value))
        except ValueError as expected:
            self.fail(f"expected {expected}, got {value!r}", param, ctx)


VERSION = _Version()


def version_option(
    *, of_cluster: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the argument ``version`` to a command. It defaults to the newest version, or to None if
    the command can look up the version of a cluster (``of_cluster``).
    """
    otherwise = f"the cluster's with --cluster, else {NEWEST}" if of_cluster else f"{NEWEST}"
    return click.option(
        "--kubernetes-version",
        "version",
        type=VERSION,
        default=None if of_cluster else NEWEST,
        help=f"Evaluate policies as this Kubernetes version does ({SPAN}).  [default: {otherwise}]",
    )
