"""What the body of a rule contributes: who reads `validate`, `validate.cel` and `mutate`."""

from collections.abc import Callable

from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno import mutate
from policyd.importers.kyverno.cel import validate_cel_rule as cel
from policyd.importers.kyverno.rule_parts import RuleParts
from policyd.importers.kyverno.validate import validate_rule as validate
from policyd.importers.model import Refused
from policyd.json_types import JSONObject

RuleBody = Callable[[JSONObject, str, Vocabulary], RuleParts]
_VALIDATES = (
    "cel", "pattern", "anyPattern", "deny", "foreach", "podSecurity", "manifests", "assert",
)  # fmt: skip
_MUTATES = ("targets", "foreach", "patchStrategicMerge", "patchesJson6902")


def body(rule: JSONObject, path: str) -> RuleBody:
    """Return who reads the body of a rule. Raises Refused if it has none."""
    if kind_of(rule) == "cel":
        return cel.parts
    if "validate" in rule:
        return validate.parts
    if "mutate" in rule:
        return mutate.parts
    raise Refused(path, "the rule neither validates nor mutates")


def kind_of(rule: JSONObject) -> str:
    """Return the kind of a rule, as statistics count it."""
    validates = rule.get("validate")
    if isinstance(validates, dict):
        return next((each for each in _VALIDATES if each in validates), "validate")
    mutates = rule.get("mutate")
    if isinstance(mutates, dict):
        found = next((each for each in _MUTATES if mutates.get(each)), "mutate")
        return "mutate foreach" if found == "foreach" else found
    return next((each for each in ("generate", "verifyImages") if each in rule), "")
