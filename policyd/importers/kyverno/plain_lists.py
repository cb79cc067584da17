"""Lists of a ``foreach`` that are plain paths, such as ``request.object.spec.containers``."""

import re
from typing import NamedTuple

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATH = re.compile(
    rf"(request\.object|element)((?:\.{_NAME})*)\.(?:({_NAME})(?:\[\])?|\[({_NAME}(?:,{_NAME})*)\]\[\])"
)


class PlainLists(NamedTuple):
    """``parents`` are the fields of ``root`` above the lists ``names``, which are concatenated."""

    root: str
    parents: tuple[str, ...]
    names: tuple[str, ...]


def plain_lists(expression: str) -> PlainLists | None:
    """Read a plain path; None for any other expression.

    >>> plain_lists("request.object.spec.[initContainers, containers][]")
    PlainLists(root='request.object', parents=('spec',), names=('initContainers', 'containers'))
    """
    found = _PATH.fullmatch("".join(expression.split()))
    if found is None:
        return None
    parents = tuple(each for each in found[2].split(".") if each)
    return PlainLists(found[1], parents, (found[3],) if found[3] else tuple(found[4].split(",")))
