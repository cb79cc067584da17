"""The option ``--kubernetes-version`` of commands that read policies or evaluate expressions."""

from collections.abc import Callable
from typing import Any

import click

from policyd.versions import NEWEST, SPAN, KubernetesVersion, supported


class _Version(click.ParamType):
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
    otherwise: str = f"the newest, {NEWEST}",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the argument ``version``, None if it is not given; ``otherwise`` says in the
    help what the command uses then.
    """
    return click.option(
        "--kubernetes-version",
        "version",
        type=VERSION,
        help=f"Evaluate as this version of Kubernetes does ({SPAN}); default: {otherwise}.",
    )
