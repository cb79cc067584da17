"""Maps paths to webhooks and policies. Answers nothing.

Needs no Starlette, which `policyd.asgi` does not import.
"""

from collections.abc import Iterable

from policyd.policy.compile.compiled import CompiledPolicy, PolicyFilter
from policyd.policy.model.suite import Webhook

WEBHOOKS: tuple[Webhook, ...] = ("validate", "mutate")
_ONLY: dict[str, PolicyFilter | None] = {
    "": None,
    "/fail": lambda policy: policy.fail,
    "/ignore": lambda policy: not policy.fail,
}
# A webhook, and which policies it evaluates (None: all).
Route = tuple[Webhook, PolicyFilter | None]
# The webhook of each fixed path, and which policies it evaluates (None: all).
ROUTES: dict[str, Route] = {
    f"/{webhook}{path}": (webhook, only) for webhook in WEBHOOKS for path, only in _ONLY.items()
}


def route_of_policy(
    path: str, policies: Iterable[CompiledPolicy]
) -> tuple[str, PolicyFilter] | None:
    """Return the route of ``/validate/policy/NAME`` or ``/mutate/policy/NAME``; None if no policy
    of that name is loaded.
    """
    webhook, _, name = path[1:].partition("/policy/")
    if webhook not in WEBHOOKS or not any(policy.name == name for policy in policies):
        return None
    return webhook, lambda policy: policy.name == name
