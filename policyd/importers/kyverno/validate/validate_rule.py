"""The body of a rule that validates without CEL, as validations of a Policy."""

from policyd.importers.jmespath.interpolation import has_variables, interpolated
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.validate import foreach
from policyd.importers.kyverno.validate.patterns import converted
from policyd.importers.model import Notes, Refused
from policyd.json_types import JSONObject


def validations(rule: JSONObject, path: str, scope: Vocabulary, notes: Notes) -> list[JSONObject]:
    """Return the validations of a rule; ``path`` is the path of the rule.

    Raises Refused for what policyd cannot check.
    """
    validate = rule["validate"]
    at = f"{path}.validate"
    if "manifests" in validate:
        raise Refused(f"{at}.manifests", "signatures of manifests are not verified by policyd")
    if "assert" in validate:
        raise Refused(f"{at}.assert", "assertion trees are not imported: write a pattern")
    found = _body(validate, at, scope, notes)
    words = _message(validate.get("message", ""), scope, f"{at}.message", notes)
    # A pattern is longer than its message, an expression shorter.
    return [{**each, **words} if "expression" in each else {**words, **each} for each in found]


def _body(validate: JSONObject, path: str, scope: Vocabulary, notes: Notes) -> list[JSONObject]:
    if "pattern" in validate:
        return [{"pattern": converted(validate["pattern"], f"{path}.pattern", notes)}]
    if "anyPattern" in validate:
        at, trees = f"{path}.anyPattern", validate["anyPattern"]
        if not trees:
            raise Refused(at, "expected a list of patterns")
        found = [converted(each, f"{at}[{n}]", notes) for n, each in enumerate(trees)]
        return [{"anyPattern": found}]
    if "deny" in validate:
        return [{"expression": foreach.admitted(validate["deny"], f"{path}.deny", scope).text}]
    if "foreach" in validate:
        return foreach.validations(validate["foreach"], f"{path}.foreach", scope, notes)
    raise Refused(path, "the rule validates nothing that the import knows")


def _message(text: str, scope: Vocabulary, path: str, notes: Notes) -> JSONObject:
    """Return ``message`` or ``messageExpression`` of a validation, neither if there is no text.

    Line breaks become spaces: Kubernetes has no message with several lines.
    """
    if not text.strip():
        return {}
    line = " ".join(text.split("\n")).strip()
    words = " ".join(line.split()) if "\n" in text.strip() else line
    if not has_variables(text):
        return {"message": words}
    try:
        return {"messageExpression": interpolated(words, scope)}
    except NotTranslatable as error:
        notes.remark(path, f"the message is shown as it is written: {error}")
        return {"message": words}
