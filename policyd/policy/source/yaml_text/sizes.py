"""The size of a YAML document after its aliases are expanded, counted before anything is built.
Compiled with sizes.pxd.
"""

from typing import NamedTuple

from yaml import MappingNode, Node, ScalarNode, SequenceNode

# Larger counts are cut: counts of a small text can have thousands of digits.
_ENDLESS = 1 << 40


class YamlSize(NamedTuple):
    """Nodes and the characters of scalars, with a copy for each alias, and levels."""

    nodes: int
    characters: int
    levels: int


class OverSize(Exception):
    """A document cannot be built because of ``node``."""

    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.node = node


def size_of(root: Node, most: YamlSize, aliases: bool) -> YamlSize:
    """Return the size of a document; raises OverSize if that is more than ``most``.

    ``aliases``: whether a value may occur more than once. The time grows with the text, not with
    what its aliases make of it.
    """
    sizes: dict[int, tuple[int, int, int]] = {}
    above: set[int] = set()  # what is being measured, from the root on
    once = None if aliases else {id(root)}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        number = id(node)
        if number in sizes:
            waiting.pop()
        elif number in above:
            size = _sum(node, sizes)
            if size[2] > most.levels:
                raise OverSize(node, f"nested deeper than {most.levels} levels")
            if size[0] > most.nodes:
                raise OverSize(node, "document contains excessive aliasing")
            sizes[number] = size
            above.discard(number)
            waiting.pop()
        else:
            above.add(number)
            for part in _parts(node):
                nested = not isinstance(part, ScalarNode)
                if nested and id(part) in above:
                    raise OverSize(part, "an anchor contains itself")
                if once is not None:
                    _note(part, once)
                if nested:
                    waiting.append(part)
    return YamlSize(*sizes[id(root)])


def _note(node: Node, once: set[int]) -> None:
    if id(node) in once:
        message = "an alias (*name) repeats this value: write it out, aliases are not allowed here"
        raise OverSize(node, message)
    once.add(id(node))


def _parts(node: Node) -> list[Node]:
    if isinstance(node, SequenceNode):
        parts: list[Node] = node.value
        return parts
    pairs = node.value if isinstance(node, MappingNode) else ()
    return [part for pair in pairs for part in pair]


def _sum(node: Node, sizes: dict[int, tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return what ``YamlSize`` names. A document has too few parts for sums above 64 bits."""
    nodes, levels = 1, 0
    characters = len(node.value) if isinstance(node, ScalarNode) else 0
    for part in _parts(node):
        if isinstance(part, ScalarNode):
            nodes += 1
            characters += len(part.value)
            levels = levels or 1
        else:
            more = sizes[id(part)]
            nodes += more[0]
            characters += more[1]
            deeper = more[2]
            levels = max(levels, deeper)
    return min(nodes, _ENDLESS), min(characters, _ENDLESS), levels + 1
