"""Lists of `foreach` that are plain paths, such as ``request.object.spec.containers``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from policyd.json_types import JSON
from policyd.pattern.marks import Mark, marked

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATH = re.compile(
    rf"request\.object((?:\.{_NAME})*)\.(?:({_NAME})(?:\[\])?|\[({_NAME}(?:,\s*{_NAME})*)\]\[\])"
)
_ALWAYS = frozenset({"spec", "metadata"})  # all objects that have such lists have these
_SINGULARS = {"ies": "y", "sses": "ss", "hes": "h", "xes": "x"}


@dataclass(frozen=True, slots=True)
class PlainLists:
    """``parents`` are the fields above the lists ``names``, which are joined."""

    parents: tuple[str, ...]
    names: tuple[str, ...]

    def pattern(self, items: Sequence[JSON]) -> JSON:
        """Return the pattern that checks each item of the lists, wherever they are present."""
        listed = {_key(name): list(items) for name in self.names}
        tree: JSON = listed
        for name in reversed(self.parents):
            tree = {name if name in _ALWAYS else marked(Mark.IF_PRESENT, name): tree}
        return tree


def plain_lists(expression: str) -> PlainLists | None:
    """Read a plain path; None for any other expression.

    >>> plain_lists("request.object.spec.containers")
    PlainLists(parents=('spec',), names=('containers',))
    """
    found = _PATH.fullmatch(expression.strip().removeprefix("{{").removesuffix("}}").strip())
    if found is None:
        return None
    parents = tuple(each for each in found[1].split(".") if each)
    names = [found[2]] if found[2] else [each.strip() for each in found[3].split(",")]
    return PlainLists(parents, tuple(names))


def item_name(expression: str, taken: Sequence[str] = ()) -> str:
    """Return a name for an item of a list: ``container`` for containers.

    >>> item_name("request.object.spec.[ephemeralContainers, containers][]")
    'container'
    """
    words = re.findall(_NAME, expression)
    plural = next((each for each in reversed(words) if each.endswith("s")), "")
    if plural.lower().endswith("containers"):
        plural = "containers"
    name = plural.removesuffix("s")
    for ending, singular in _SINGULARS.items():
        if plural.endswith(ending):
            name = plural.removesuffix(ending) + singular
    if not name or name in ("a", "i", *taken):
        name = "item"
    while name in taken:
        name += "_"
    return name


def _key(name: str) -> str:
    return name if name == "containers" else marked(Mark.IF_PRESENT, name)
