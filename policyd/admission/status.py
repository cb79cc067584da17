"""The Status of a denial: its message, causes and details. Decides nothing.

kubectl prints the message, or for the reason Invalid only the details: ``The KIND "NAME" is
invalid: FIELD: CAUSE``, with one line for each cause if there are several.
"""

from collections.abc import Sequence

from policyd.admission.metadata import metadata_string, object_name
from policyd.admission.review import AdmissionRequest, Cause, ObjectDetails
from policyd.bounded_text import MAX_CAUSES_CHARS, MAX_STATUS_CHARS

# What Kubernetes calls an object without a name, such as those of a deletecollection
# (k8s.io/apiserver pkg/admission/errors.go).
NAMELESS = "Unknown"


def message_of(texts: Sequence[str]) -> str:
    """Return the texts of all denials, one per line: the first one as it is, then the distinct
    others that fit, and the number of those left out.
    """
    first, *others = texts
    if not others:
        return first
    lines = [first]
    room = MAX_STATUS_CHARS - len(first)
    distinct = dict.fromkeys(map(_on_one_line, others))
    distinct.pop(first, None)
    for index, line in enumerate(distinct):
        room -= len(line) + 1
        if room < 0:
            lines.append(f"… and {len(distinct) - index} more")
            break
        lines.append(line)
    return "\n".join(lines)


def bounded_causes(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the first cause, the others that fit, and the number of causes left out."""
    room = MAX_CAUSES_CHARS
    for index, cause in enumerate(causes[1:], 1):
        room -= len(cause.text)
        if room < 0:
            return (*causes[:index], Cause(f"… and {len(causes) - index} more"))
    return tuple(causes)


def details_of(request: AdmissionRequest) -> ObjectDetails:
    """Return the object of the client as Kubernetes describes it: its name or generateName, and
    the resource as its kind.
    """
    asked = request.raw.get("requestResource") or request.raw["resource"]
    name = object_name(request) or metadata_string(request, "generateName") or NAMELESS
    return ObjectDetails(name, asked.get("group") or "", asked["resource"])


def _on_one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text else text
