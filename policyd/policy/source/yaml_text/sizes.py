"""The size of a YAML document after its aliases are expanded, counted before anything is built.
Compiled with sizes.pxd.
"""

from typing import NamedTuple

import yaml

# Larger counts are cut: counts of a small text can have thousands of digits.
_ENDLESS = 1 << 40


class YamlSize(NamedTuple):
    """Nodes and the characters of scalars, with a copy for each alias, and levels."""

    nodes: int
    characters: int
    levels: int


class OverSize(Exception):
    """A document cannot be built because of ``node``."""

    def __init__(self, node: yaml.Node, message: str) -> None:
        super().__init__(message)
        self.node = node


def size_of(root: yaml.Node, most: YamlSize, aliases: bool) -> YamlSize:
    """Return the size of a document; raises OverSize if that is more than ``most``.

    ``aliases``: whether a value may occur more than once. The time grows with the text, not with
    what its aliases make of it.
    """
    sizes: dict[int, YamlSize] = {}
    above: set[int] = set()  # what is being measured, from the root on
    once = None if aliases else {id(root)}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        if id(node) in sizes:
            waiting.pop()
        elif id(node) in above:
            sizes[id(node)] = _checked(node, _sum(node, sizes), most)
            above.discard(id(node))
            waiting.pop()
        else:
            above.add(id(node))
            for part in _parts(node):
                if id(part) in above:
                    raise OverSize(part, "an anchor contains itself")
                if once is not None:
                    _note(part, once)
                if not isinstance(part, yaml.ScalarNode):
                    waiting.append(part)
    return sizes[id(root)]


def _note(node: yaml.Node, once: set[int]) -> None:
    if id(node) in once:
        message = "an alias (*name) repeats this value: write it out, aliases are not allowed here"
        raise OverSize(node, message)
    once.add(id(node))


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        parts: list[yaml.Node] = node.value
        return parts
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return [part for pair in pairs for part in pair]


def _sum(node: yaml.Node, sizes: dict[int, YamlSize]) -> YamlSize:
    nodes, levels = 1, 0
    characters = len(node.value) if isinstance(node, yaml.ScalarNode) else 0
    for part in _parts(node):
        if isinstance(part, yaml.ScalarNode):
            nodes += 1
            characters += len(part.value)
            levels = levels or 1
        else:
            more = sizes[id(part)]
            nodes += more.nodes
            characters += more.characters
            levels = max(levels, more.levels)
    return YamlSize(min(nodes, _ENDLESS), min(characters, _ENDLESS), levels + 1)


def _checked(node: yaml.Node, size: YamlSize, most: YamlSize) -> YamlSize:
    if size.levels > most.levels:
        raise OverSize(node, f"nested deeper than {most.levels} levels")
    if size.nodes > most.nodes:
        raise OverSize(node, "document contains excessive aliasing")
    return size
