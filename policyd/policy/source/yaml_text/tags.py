"""Values that YAML takes as tags: ``expression: !object.spec.hostNetwork`` is an empty string.

Kubernetes also reads them so, and drops what was written; nobody means that in a policy.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import yaml

from policyd.json_types import FieldPath

# Characters that precede a tag in a line: without any of these in a text, nothing has to be parsed
# again.
_BEFORE = (": !", ":  !", "- !", "-  !", ":\t!")
# The way from a node up to the root: the step to it, and the way of its parent. A separate path
# for each node of a deep document would take much memory.
_Way = tuple[str | int, "_Way"] | tuple[()]


class TaggedValue(NamedTuple):
    """A value with its own tag, at a path below the root node."""

    path: FieldPath
    node: yaml.ScalarNode

    @property
    def message(self) -> str:
        return f"the ! at the start makes it a YAML tag: the value is {self.node.value!r}"

    def written(self, lines: Sequence[str]) -> str:
        """Return its first line, as it is written in the ``lines`` of the text."""
        start, end = self.node.start_mark, self.node.end_mark
        last = end.column if end.line == start.line else None
        return lines[start.line][start.column : last].rstrip()


@lru_cache(maxsize=8)
def may_have_tags(text: str) -> bool:
    """Whether a text may have tags; false for nearly all. All items of a List share one text."""
    return any(each in text for each in _BEFORE)


def tagged_values(node: yaml.Node, lines: Sequence[str]) -> Iterator[TaggedValue]:
    """Yield the scalars with tags that begin with one ``!``; ``lines`` are the lines of the
    text.
    """
    stack: list[tuple[yaml.Node, _Way]] = [(node, ())]
    while stack:
        here, way = stack.pop()
        if isinstance(here, yaml.ScalarNode):
            # The parser drops a lone ! from the node: only the text has it.
            mark = here.start_mark
            sign = lines[mark.line][mark.column : mark.column + 2]
            if sign.startswith("!") and sign != "!!":
                yield TaggedValue(_path(way), here)
        elif isinstance(here, yaml.SequenceNode):
            stack += reversed([(item, (number, way)) for number, item in enumerate(here.value)])
        else:
            pairs = [(key, value) for key, value in here.value if isinstance(key, yaml.ScalarNode)]
            stack += reversed([(value, (key.value, way)) for key, value in pairs])


def _path(way: _Way) -> FieldPath:
    steps: list[str | int] = []
    while way:
        step, way = way
        steps.append(step)
    return tuple(reversed(steps))
