"""Compile MatchResources: of a policy or binding, and the ones that podControllers derives."""

from collections.abc import Callable

import orjson

from policyd._core.match.matcher import MatchRules
from policyd.json_types import JSONObject
from policyd.policy.kinds.controllers import controller_constraints

# A rule without operations matches no request.
NOTHING: JSONObject = {"resourceRules": [{}]}


def match_rules(constraints: JSONObject) -> MatchRules:
    """Compile a MatchResources given as plain camelCase JSON."""
    return MatchRules(
        constraints.get("resourceRules") or [],
        constraints.get("excludeResourceRules") or [],
        constraints.get("namespaceSelector"),
        constraints.get("objectSelector"),
        constraints.get("matchPolicy") or "Equivalent",
    )


def controller_rules(
    constraints: JSONObject, compiled: Callable[[JSONObject], MatchRules] = match_rules
) -> MatchRules | None:
    """Compile the rules for the controllers of Pods; None if no rule is about Pods."""
    derived = controller_constraints(constraints)
    return compiled(derived) if derived["resourceRules"] else None


class SharedRules:
    """The rules of one load: policies with equal MatchResources share them."""

    def __init__(self) -> None:
        self._rules: dict[bytes, MatchRules] = {}

    def match_rules(self, constraints: JSONObject) -> MatchRules:
        """Compile a MatchResources given as plain camelCase JSON."""
        key = orjson.dumps(constraints)
        found = self._rules.get(key)
        if found is None:
            found = self._rules[key] = match_rules(constraints)
        return found
