r"""Places in YAML by lines that end with ``\n``, as editors count them and as texts are split here.

libyaml also ends lines at a lone carriage return, U+0085, U+2028 and U+2029, and counts by those.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable

import yaml

_OTHERS = ("\x85", "\u2028", "\u2029")


def has_other_breaks(text: str) -> bool:
    """Whether libyaml counts other lines in a text; false for nearly all."""
    if text.count("\r") != text.count("\r\n"):
        return True
    return not text.isascii() and any(each in text for each in _OTHERS)


def counter(text: str) -> Callable[[yaml.Mark], tuple[int, int]]:
    """Return what gives the line and column, both from 0, of marks in a text."""
    if not has_other_breaks(text):
        return lambda mark: (mark.line, mark.column)
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    starts.pop()

    def place(mark: yaml.Mark) -> tuple[int, int]:
        line = bisect_right(starts, mark.index) - 1
        return line, mark.index - starts[line]

    return place


def recount(roots: Iterable[yaml.Node], text: str) -> None:
    """Give the marks of node trees the lines and columns of the text."""
    place = counter(text)
    seen: set[int] = set()
    waiting = [*roots]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue  # an alias
        seen.add(id(node))
        for name in ("start_mark", "end_mark"):
            mark = getattr(node, name)
            setattr(node, name, yaml.Mark(mark.name, mark.index, *place(mark), None, 0))
        if isinstance(node, yaml.MappingNode):
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
