"""Messages of a rule, which may have variables in ``{{ }}``."""

from policyd.importers.jmespath import has_variables, interpolated
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.model import ImportRemark
from policyd.json_types import JSON, JSONObject


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
