"""``parameters`` of constraints, and the names by which templates read them and the object."""

from collections.abc import Iterable, Iterator

from policyd.errors import CelSyntaxError
from policyd.export.expressions.occurrences import (
    Occurrence,
    Replacement,
    Untranslatable,
    occurrences,
    spliced,
)
from policyd.importers.fields import tidy
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject
from policyd.versions import NEWEST

_NAMES = frozenset(("variables", "params"))
# Gatekeeper pkg/drivers/k8scel/transform/cel_snippets.go, BindObject.
ANY_OBJECT = "object != null ? object : oldObject"


def with_defaults(value: JSON, schema: JSON) -> JSON:
    """Return parameters with the defaults of their schema, which the API server sets."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        found = {key: with_defaults(each, known.get(key)) for key, each in value.items()}
        for key, each in known.items():
            if key not in found and isinstance(each, dict) and each.get("default") is not None:
                found[key] = with_defaults(each["default"], each)
        return found
    if isinstance(value, list):
        return [with_defaults(each, schema.get("items")) for each in value]
    return value


def rewritten(text: str, path: str, *, deletes: bool) -> str:
    """Return an expression of a template as one of a Policy with inline params.

    ``variables.params`` is ``params``; ``variables.anyObject`` is ``object`` unless the policy is
    about deletes. Raises Refused.
    """
    text = tidy(text)
    try:
        uses = occurrences(text, _NAMES, NEWEST)
        return spliced(text, _replacements(text, uses, path, deletes))
    except CelSyntaxError as error:
        raise Refused(path, f"the expression is no CEL: {error.problems[0].message}") from None
    except Untranslatable as error:
        raise Refused(path, str(error)) from None


def _replacements(
    text: str, uses: Iterable[Occurrence], path: str, deletes: bool
) -> Iterator[Replacement]:
    for use in uses:
        keys = [access.key for access in use.accesses]
        spans = [access.span for access in use.accesses]
        if use.name == "params":
            if keys[:2] != ["spec", "parameters"] or spans[1] is None:
                raise Refused(path, "only the parameters of the constraint can be read of params")
            yield Replacement(use.start, spans[1][1], "params")
        elif keys[:1] == ["params"]:
            yield _params(text, use, path)
        elif keys[:1] == ["anyObject"] and not deletes:
            if spans[0] is None:
                raise Refused(path, "variables.anyObject can be read by that name only")
            yield Replacement(use.start, spans[0][1], "object")


def _params(text: str, use: Occurrence, path: str) -> Replacement:
    access = use.accesses[0]
    if access.test:  # has(variables.params): parameters are always there
        before = text[: use.start].rstrip()
        after = text.find(")", use.end)
        if before.endswith("(") and before[:-1].rstrip().endswith("has"):
            return Replacement(before[:-1].rstrip().rindex("has"), after + 1, "true")
    if access.span is None:
        raise Refused(path, "variables.params can be read by that name only")
    return Replacement(use.start, access.span[1], "params")


def parameters_of(constraint: JSONObject, schema: JSON) -> JSONObject:
    """Return the parameters of a constraint; empty if there are none."""
    spec = constraint.get("spec")
    given = spec.get("parameters") if isinstance(spec, dict) else None
    found = with_defaults(given if isinstance(given, dict) else {}, schema)
    assert isinstance(found, dict)
    return found
