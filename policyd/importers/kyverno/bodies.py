"""What the body of a rule contributes: who reads `validate`, `validate.cel` and `mutate`."""

import importlib
from collections.abc import Callable

from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.rule import RuleParts
from policyd.importers.kyverno.validate import rules as validate
from policyd.importers.model import Refused
from policyd.json_types import JSONObject

RuleBody = Callable[[JSONObject, str, Vocabulary], RuleParts]
_VALIDATES = (
    "cel", "pattern", "anyPattern", "deny", "foreach", "podSecurity", "manifests", "assert",
)  # fmt: skip
_MUTATES = ("targets", "foreach", "patchStrategicMerge", "patchesJson6902")
_ELSEWHERE = {
    "mutate": "policyd.importers.kyverno.mutate",
    "cel": "policyd.importers.kyverno.cel.rules",
}


def body(rule: JSONObject, path: str) -> RuleBody:
    """Return who reads the body of a rule. Raises Refused if it has none."""
    if kind_of(rule) == "cel":
        return _elsewhere("cel", path)
    if "validate" not in rule and "mutate" not in rule:
        raise Refused(path, "the rule neither validates nor mutates")
    return validate.parts if "validate" in rule else _elsewhere("mutate", path)


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


def _elsewhere(kind: str, path: str) -> RuleBody:
    try:
        found: RuleBody = importlib.import_module(_ELSEWHERE[kind]).parts
    except ImportError as error:
        raise Refused(path, f"{kind} rules cannot be read: {error}") from error
    return found
