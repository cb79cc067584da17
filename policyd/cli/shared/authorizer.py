"""The option ``--authorizer``: answers authorizer checks from a file, without a cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from policyd._core.lib import authz
from policyd.admission.lookups.authorizer import Authorizer, StaticAuthorizer
from policyd.cli.shared.settings import FILE
from policyd.errors import file_errors
from policyd.policy.source.authorizer_file import load_rules


def authorizer_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument ``authorizer`` (a StaticAuthorizer or None) to a command."""
    return click.option(
        "--authorizer",
        type=FILE,
        callback=_read,
        help="Answer authorizer checks from the list of rules in this file (as under authorizer: "
        "in a suite). Without it, authorizer checks fail.",
    )(function)


def _read(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> StaticAuthorizer | None:
    if path is None:
        return None
    with file_errors(path, "--authorizer "):
        data = path.read_bytes()
    return StaticAuthorizer(load_rules(data, str(path)))


class UserAuthorizer(NamedTuple):
    """An authorizer, with the user whose permissions it checks outside of a review."""

    authorizer: Authorizer
    user: str | None
    groups: tuple[str, ...]

    def variables(self, request: Any) -> dict[str, Any]:
        """Return the variables ``authorizer`` and, if ``request`` has a resource,
        ``authorizer.requestResource``. ``user`` and ``groups`` override the request's.
        """
        given = request if isinstance(request, dict) else {}
        user_info = dict(given.get("userInfo") or {})
        if self.user is not None:
            user_info["username"] = self.user
        if self.groups:
            user_info["groups"] = list(self.groups)
        resource = given.get("requestResource") or given.get("resource")
        shown = {**given, "userInfo": user_info, "requestResource": resource or {"resource": ""}}
        found: dict[str, Any] = authz.variables(self.authorizer, shown)
        if not resource:
            del found["authorizer.requestResource"]
        return found
