"""`deny`: a request is denied if its conditions hold."""

from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.conditions import holds
from policyd.importers.kyverno.negation import negation
from policyd.importers.kyverno.rule_parts import RuleParts
from policyd.json_types import JSON


def parts(deny: JSON, path: str, scope: Vocabulary) -> RuleParts:
    """Return the validation that holds exactly if the conditions do not."""
    return RuleParts({"validations": [{"expression": admitted(deny, path, scope)}]})


def admitted(deny: JSON, path: str, scope: Vocabulary) -> str:
    """Return CEL that is true if the conditions do not hold; without conditions it never is."""
    conditions = deny.get("conditions") if isinstance(deny, dict) else None
    if not conditions:
        return "false"
    return negation(holds(conditions, scope, f"{path}.conditions"))
