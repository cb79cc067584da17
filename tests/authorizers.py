"""An authorizer for tests of expressions, and the user and request of its checks."""

from typing import Any

from policyd._core.lib import authz
from policyd.admission.lookups.authorizer import AuthorizerRule, StaticAuthorizer

REQUEST: dict[str, Any] = {
    "operation": "UPDATE",
    "name": "web",
    "namespace": "shop",
    "requestResource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "requestSubResource": "scale",
    "userInfo": {
        "username": "bob",
        "groups": ["writers"],
        "extra": {"scopes": ["b", "a"], "dept": ["x"]},
    },
}
WRITERS = ("writers",)
RULES = (
    AuthorizerRule(groups=WRITERS, path="/healthz", verb="get", reason="writers may"),
    AuthorizerRule(groups=WRITERS, group="", resource="pods", verb="create"),
    AuthorizerRule(groups=WRITERS, group="", resource="pods", verb="list"),
    AuthorizerRule(user="bob", group="", resource="pods", name="web", verb="delete"),
    AuthorizerRule(resource="nodes", error="the webhook did not answer"),
)


def variables() -> dict[str, Any]:
    """``authorizer`` and ``authorizer.requestResource`` of REQUEST."""
    return authz.variables(StaticAuthorizer(RULES), REQUEST)
