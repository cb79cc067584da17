"""What to write in place of a field that a type of a schema does not have."""

from policyd._core.schema.types import SchemaType
from policyd.bounded_text import few
from policyd.near_names import did_you_mean

_MANY = 15  # fields; a longer list in a hint is unreadable
_DEEPEST, _WIDEST = 4, 1000  # levels and fields that are looked at for one of that name
_METADATA = frozenset({"labels", "annotations"})
_TEMPLATES = ("template", "jobTemplate")


def field_hint(name: str, kind: SchemaType) -> str:
    """Return a hint for a field that a type lacks; the field may be one further down."""
    known = sorted(kind.fields)
    if hint := did_you_mean(name, known):
        return hint
    if name in _TEMPLATES and "containers" in known:
        return f"a Pod has no {name}: write here what is below {name}.spec"
    if home := _home(name, kind):
        return f"write it below {home}"
    if name in _METADATA and "metadata" not in known:
        return "write it below metadata of the object"
    listed = f"known fields: {few(known, _MANY)}" if known else ""
    below = "write it below labels or annotations; " if known and set(known) >= _METADATA else ""
    return f"{below}{listed}"


def _home(name: str, kind: SchemaType) -> str:
    """Return the field that has a field of this name, fields of a Pod's template and its
    containers first: ``securityContext``, ``the items of containers``.
    """
    level, looked = [("", kind)], 0
    for _ in range(_DEEPEST):
        below: list[tuple[str, SchemaType]] = []
        for path, each in level:
            for key, field in each.fields.items():
                looked += 1
                if looked > _WIDEST:
                    return ""
                if path and key == name:
                    return path
                at, item = f"{path}.{key}".lstrip("."), field.type.item
                if field.type.fields:
                    below.append((at, field.type))
                elif item is not None and item.type.fields and not path.startswith("the items"):
                    below.append((f"the items of {at}", item.type))
        level = sorted(
            below, key=lambda each: ("template" not in each[0], not _is_containers(each[0]))
        )
    return ""


def _is_containers(path: str) -> bool:
    return path.startswith("the items") and path.endswith((" containers", ".containers"))
