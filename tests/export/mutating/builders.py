"""Policies and what their export does to the same requests. No tests here."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import yaml

from policyd.defaulting.go_values import decode, printed
from policyd.export.model import ExportedPart
from policyd.json_types import JSONObject
from tests import policy_sets
from tests.builders.policies import overlay, policy
from tests.export import comparing
from tests.mutation.builders import POD, SCHEMAS

# The export of what a policy mutates.
part_of = partial(comparing.part_of, webhook="mutate")


def overlaid(tree: Any, *rules: JSONObject, **spec: Any) -> JSONObject:
    """A Policy with one overlay; a string is YAML."""
    written = yaml.safe_load(tree) if isinstance(tree, str) else tree
    return policy("p", *rules, mutations=[overlay(written)], **spec)


def why_not(source: JSONObject, *others: JSONObject) -> list[str]:
    """``path: message`` of each reason why a policy has no export."""
    return [f"{each.path}: {each.message}" for each in part_of(source, *others).reasons]


def as_printed(obj: JSONObject, kind: tuple[str, str, str] = POD) -> JSONObject:
    """An object as the API server sends it."""
    target = SCHEMAS.target(kind)
    assert target.schema is not None
    root = target.schema.root
    found: JSONObject = printed(decode(obj, root), root.type)
    return found


def outcome(documents: Iterable[JSONObject], obj: JSONObject, **request: Any) -> Any:
    """The object after the mutations; None if the request is denied."""
    response = policy_sets.ask(policy_sets.load(*documents), obj, webhook="mutate", **request)
    if not response["allowed"]:
        return None
    return policy_sets.patched(response, obj) if "patch" in response else obj


def outcomes(source: JSONObject, obj: JSONObject, *others: JSONObject, **request: Any) -> Any:
    """What the source and its export make of an object; the export must exist."""
    part = part_of(source, *others)
    assert not part.reasons, part.reasons
    return (
        outcome([source, *others], obj, **request),
        outcome([*part.documents, *others], obj, **request),
    )


def expressions(part: ExportedPart) -> list[str]:
    """The expressions of the mutations of the first document."""
    assert not part.reasons, part.reasons
    return [
        each[field]["expression"]
        for each in part.documents[0]["spec"]["mutations"]
        for field in ("jsonPatch", "applyConfiguration")
        if field in each
    ]
