"""Hints for a field that a schema type does not have."""

from policyd._core.schema.types import SchemaType
from policyd.bounded_text import few
from policyd.near_names import did_you_mean

_MANY = 15  # fields; a longer list in a hint is unreadable
_DEEPEST, _WIDEST = 8, 5000  # levels and fields that are searched for the name
_MOST_HOMES = 3  # types with a field of that name; more would say nothing
_ALIKE = 0.85  # similarity of a name and its misspelling, whatever else has that name
_METADATA = frozenset({"labels", "annotations"})
_TEMPLATES = ("template", "jobTemplate")
# Nobody writes the status; other kinds of containers have the fields of containers; the claim of an
# ephemeral volume is a separate object.
_LEFT_OUT = frozenset({"status", "initContainers", "ephemeralContainers", "ephemeral"})


def field_hint(name: str, kind: SchemaType, root: SchemaType) -> str:
    """Return a hint for a field that a type lacks: a field further down, or elsewhere below
    ``root``, the type of the object.
    """
    known = sorted(kind.fields)
    if hint := did_you_mean(name, known, ratio=_ALIKE):
        return hint
    if name in _TEMPLATES and "containers" in known:
        return f"a Pod has no {name}: write here what is below {name}.spec"
    elsewhere = _LEFT_OUT | {"metadata"}
    if home := _home(name, kind, _LEFT_OUT) or _home(name, root, elsewhere):
        return f"write it below {home}"
    if hint := did_you_mean(name, known):
        return hint
    if name in _METADATA and "metadata" not in known:
        return "write it below metadata of the object"
    listed = f"known fields: {few(known, _MANY)}" if known else ""
    below = "write it below labels or annotations; " if known and set(known) >= _METADATA else ""
    return f"{below}{listed}"


def _home(name: str, kind: SchemaType, left_out: frozenset[str]) -> str:
    """Return the field that has a subfield of this name, looking first in a Pod's template and its
    containers: ``securityContext``, ``containers[]``.
    """
    level, looked = [("", kind)], 0
    for _ in range(_DEEPEST):
        homes = [path for path, each in level if path and name in each.fields]
        if homes:
            return homes[0] if len(homes) <= _MOST_HOMES else ""
        below: list[tuple[str, SchemaType]] = []
        for path, each in level:
            looked += len(each.fields)
            if looked > _WIDEST:
                return ""
            for key, field in each.fields.items():
                at, item = f"{path}.{key}".lstrip("."), field.type.item
                if key in left_out:
                    continue
                if field.type.fields:
                    below.append((at, field.type))
                elif item is not None and item.type.fields:
                    below.append((f"{at}[]", item.type))
        level = sorted(
            below, key=lambda each: ("template" not in each[0], "containers[]" not in each[0])
        )
    return ""
