"""`podSecurity`: the Pod Security Standards."""

from policyd.importers.kyverno.rule import RuleParts
from policyd.importers.model import Refused
from policyd.json_types import JSONObject


def parts(validate: JSONObject, path: str) -> RuleParts:
    raise Refused(f"{path}.podSecurity", "to do")
