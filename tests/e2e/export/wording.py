"""Answers of the API server and of policyd without what tells which of them decided. No tests here."""

import re

from tests.e2e.differential.comparing import GRANT, Seen
from tests.e2e.differential.library import OWN_DENIAL
from tests.e2e.export.exporting import Exports
from tests.export.comparing import without_template

# Which expression erred: that of an export may be written otherwise.
QUOTED = re.compile(r"(?s)(?:overlay: )?expression '.*' resulted in error: ")
OWN_WARNING = re.compile(
    r"for (?:ValidatingAdmissionP|p)olicy '([^']*)'(?: with binding '[^']*')?:"
)


def plainly(seen: Seen, exports: Exports, *, generated: str = "", unordered: bool = False) -> Seen:
    """An answer in which each exported policy has the name of its source, and names that the API server
    generated from ``generated`` are the same; ``unordered``: the words of the message are sorted.
    """

    def policy(found: re.Match[str]) -> str:
        return f"policy '{exports.named.get(found[1], found[1])}'"

    text = OWN_DENIAL.sub(lambda found: f"{policy(found)} denied", seen.get("message", ""))
    text = QUOTED.sub("error: ", GRANT.sub("by a binding", text))
    text = without_template(text)
    if generated:
        text = re.sub(re.escape(generated) + "[a-z0-9]{5}", "GENERATED", text)
    if unordered:
        text = " ".join(sorted(re.findall(r"[^\s,]+", text)))
    warnings = [
        QUOTED.sub("error: ", OWN_WARNING.sub(lambda found: f"for {policy(found)}:", each))
        for each in seen["warnings"]
    ]
    annotations = {
        key: value
        for key, value in seen["annotations"].items()
        if not key.startswith("exception.")  # only policyd notes what was exempted
    }
    for each in annotations.get("validation_failure", ()):
        each["message"] = QUOTED.sub("error: ", each["message"])
        each["policy"] = exports.named.get(each["policy"], each["policy"])
        each.pop("binding", None)
    return {
        **seen,
        "message": text,
        "warnings": warnings,
        "annotations": annotations,
        "cause": None,
    }
