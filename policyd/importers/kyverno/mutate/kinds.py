"""The schemas of the kinds that a rule of Kyverno names: Overlays merge by them."""

from fnmatch import fnmatchcase

from policyd._core.schema.types import Field
from policyd.importers.kyverno.matching.kinds import OF_THE_KIND
from policyd.importers.kyverno.matching.selectors import selected
from policyd.importers.kyverno.matching.targets import descriptions
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.kinds.builtin import BUILTIN_KINDS


def schemas_of(rule: JSONObject) -> list[Field] | None:
    """Return the types of the kinds of a rule, in the rule's order; None if one has no schema here,
    such as a custom resource or ``*``.
    """
    builtin = Schemas.builtin()
    found: list[Field] = []
    matched = descriptions(rule.get("match"))
    for text in (each for resources, _ in matched for each in resources.get("kinds") or ()):
        known = _known(text)
        if not known:
            return None
        for api_version, kind in known:
            group, _, version = api_version.rpartition("/")
            schema = builtin.lookup(group, version, kind)
            if schema is None or not schema.mergeable:
                return None
            found.append(schema.root)
    return found or None


def _known(text: str) -> list[tuple[str, str]]:
    """Return (apiVersion, kind) of what a selector such as ``apps/v1/Deployment`` stands for, if
    the objects of its requests are of that kind.
    """
    group, version, kind, subresource = selected(text)
    if subresource not in OF_THE_KIND:
        return []
    found = [
        (api_version, name)
        for api_version, name in BUILTIN_KINDS
        if name == kind
        and fnmatchcase(api_version.rpartition("/")[0], group)
        and fnmatchcase(api_version.rpartition("/")[2], version)
    ]
    return found[:1]


def member(at: Field | None, name: str) -> Field | None:
    """Return the field of a key below a field; None if it is unknown."""
    return at.type.fields.get(name, at.type.extra) if at is not None else None
