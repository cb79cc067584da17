"""The body of a rule that validates without CEL, as validations of a Policy."""

from policyd.importers.jmespath.interpolation import has_variables, interpolated
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.rule_parts import RuleParts
from policyd.importers.kyverno.validate import foreach
from policyd.importers.kyverno.validate.patterns import converted
from policyd.importers.model import ImportRemark, Refused
from policyd.json_types import JSON, JSONObject


def parts(rule: JSONObject, path: str, scope: Vocabulary) -> RuleParts:
    """Return the validations of a rule; ``path`` is the path of the rule.

    Raises Refused for what policyd cannot check.
    """
    validate = rule["validate"]
    at = f"{path}.validate"
    if "manifests" in validate:
        raise Refused(f"{at}.manifests", "signatures of manifests are not verified by policyd")
    if "assert" in validate:
        raise Refused(f"{at}.assert", "assertion trees are not imported: write a pattern")
    found = _body(validate, at, scope)
    words, remarks = message(validate.get("message"), scope, f"{at}.message")
    # A pattern is longer than its message, an expression shorter.
    listed = [
        {**each, **words} if "expression" in each else {**words, **each}
        for each in found.spec["validations"]
    ]
    spec = {**found.spec, "validations": listed}
    return RuleParts(spec, (*found.remarks, *remarks), found.comments)


def _body(validate: JSONObject, path: str, scope: Vocabulary) -> RuleParts:
    if "pattern" in validate:
        pattern, remarks = converted(validate["pattern"], f"{path}.pattern")
        return RuleParts({"validations": [{"pattern": pattern}]}, tuple(remarks))
    if "anyPattern" in validate:
        at = f"{path}.anyPattern"
        if not validate["anyPattern"]:
            raise Refused(at, "expected a list of patterns")
        found = [converted(each, f"{at}[{n}]") for n, each in enumerate(validate["anyPattern"])]
        listed = tuple(remark for _, remarks in found for remark in remarks)
        return RuleParts({"validations": [{"anyPattern": [tree for tree, _ in found]}]}, listed)
    if "deny" in validate:
        admits = foreach.admitted(validate["deny"], f"{path}.deny", scope)
        return RuleParts({"validations": [{"expression": admits.text}]})
    if "foreach" in validate:
        return foreach.parts(validate["foreach"], f"{path}.foreach", scope)
    raise Refused(path, "the rule validates nothing that the import knows")


def message(
    text: JSON, scope: Vocabulary, path: str
) -> tuple[JSONObject, tuple[ImportRemark, ...]]:
    """Return ``message`` or ``messageExpression`` of a validation, neither if there is no text.

    Line breaks become spaces: Kubernetes has no message with several lines.
    """
    if not isinstance(text, str) or not text.strip():
        return {}, ()
    line = " ".join(text.split("\n")).strip()
    words = " ".join(line.split()) if "\n" in text.strip() else line
    if not has_variables(text):
        return {"message": words}, ()
    try:
        return {"messageExpression": interpolated(words, scope)}, ()
    except NotTranslatable as error:
        remark = ImportRemark(path, f"the message is shown as it is written: {error}")
        return {"message": words}, (remark,)
