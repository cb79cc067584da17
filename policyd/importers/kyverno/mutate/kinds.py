"""The schemas of the kinds that a rule of Kyverno names: Overlays merge by them."""

from collections.abc import Iterator

from policyd._core.schema.types import Field
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.kinds.builtin import BUILTIN_KINDS

# Subresources whose objects are of the kind itself.
_OF_THE_KIND = ("status", "ephemeralcontainers", "resize")


def schemas_of(rule: JSONObject) -> list[Field] | None:
    """Return the types of the kinds of a rule, in the rule's order; None if one has no schema here,
    such as a custom resource or ``*``.
    """
    builtin = Schemas.builtin()
    found: list[Field] = []
    for name in _kinds(rule.get("match")):
        known = _known(name)
        if not known:
            return None
        for api_version, kind in known:
            group, _, version = api_version.rpartition("/")
            schema = builtin.lookup(group, version, kind)
            if schema is None or not schema.mergeable:
                return None
            found.append(schema.root)
    return found or None


def _kinds(match: JSON) -> Iterator[str]:
    if isinstance(match, list):
        for each in match:
            yield from _kinds(each)
    elif isinstance(match, dict):
        for key, value in match.items():
            if key == "resources" and isinstance(value, dict):
                kinds = value.get("kinds")
                yield from (str(each) for each in kinds) if isinstance(kinds, list) else ()
            elif key in ("any", "all"):
                yield from _kinds(value)


def _known(name: str) -> list[tuple[str, str]]:
    """Return (apiVersion, kind) of what a name such as ``apps/v1/Deployment`` stands for."""
    *rest, kind = name.split("/")
    if kind in _OF_THE_KIND and rest:
        *rest, kind = rest
    elif kind[:1].islower() or "*" in kind or "?" in kind:
        return []
    api_version = "/".join(each for each in rest if each != "*")
    found = [gvk for gvk in BUILTIN_KINDS if gvk[1] == kind]
    if api_version:
        found = [gvk for gvk in found if api_version in (gvk[0], *gvk[0].split("/"))]
    return found[:1]


def member(at: Field | None, name: str) -> Field | None:
    """Return the field of a key below a field; None if it is unknown."""
    return at.type.fields.get(name, at.type.extra) if at is not None else None
