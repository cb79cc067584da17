"""The option ``--authorizer``: answers authorizer checks from a file, without a cluster."""

from pathlib import Path
from typing import Any, NamedTuple

from policyd._core.lib import authz
from policyd.admission.lookups.authorizer import Authorizer, StaticAuthorizer
from policyd.cli.shared.settings import option
from policyd.errors import file_errors
from policyd.policy.source.authorizer_file import load_rules


def _read(path: Path) -> StaticAuthorizer:
    with file_errors(path, "--authorizer "):
        data = path.read_bytes()
    return StaticAuthorizer(load_rules(data, str(path)))


AUTHORIZER = option(
    "--authorizer FILE",
    "Answer authorizer checks from the list of rules in this file (as under authorizer: in a "
    "suite). Without it, authorizer checks fail.",
    read=_read,
)


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
