"""What the body of a rule contributes: who reads `validate`, `validate.cel` and `mutate`."""

import importlib
from collections.abc import Callable

from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.rule import RuleParts
from policyd.importers.kyverno.validate import rules as validate
from policyd.importers.model import Refused
from policyd.json_types import JSONObject

Body = Callable[[JSONObject, str, Vocabulary], RuleParts]
_ELSEWHERE = {
    "mutate": "policyd.importers.kyverno.mutate",
    "cel": "policyd.importers.kyverno.cel.rules",
}


def body(rule: JSONObject) -> tuple[str, Body]:
    """Return the kind of a rule, as statistics count it, and who reads it."""
    kind = kind_of(rule)
    if kind == "cel":
        return kind, _elsewhere("cel")
    if "validate" in rule:
        return kind, validate.parts
    return kind, _elsewhere("mutate")


def kind_of(rule: JSONObject) -> str:
    validates = rule.get("validate")
    if isinstance(validates, dict):
        kinds = ("cel", "pattern", "anyPattern", "deny", "foreach", "podSecurity", "manifests", "assert")
        return next((each for each in kinds if each in validates), "validate")
    mutates = rule.get("mutate")
    if isinstance(mutates, dict):
        kinds = ("targets", "foreach", "patchStrategicMerge", "patchesJson6902")
        found = next((each for each in kinds if mutates.get(each)), "mutate")
        return "mutate foreach" if found == "foreach" else found
    return next((each for each in ("generate", "verifyImages") if each in rule), "")


def _elsewhere(kind: str) -> Body:
    try:
        found: Body = importlib.import_module(_ELSEWHERE[kind]).parts
    except ImportError as error:
        raise Refused("", f"{kind} rules cannot be read: {error}") from error
    return found
