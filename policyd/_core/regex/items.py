"""Results of the parser of regular expressions: items and open groups, with their RE2 syntax."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of ``(?imsU)``."""

    fold_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    ungreedy: bool = False


CONCATENATION, ALTERNATION = "concatenation", "alternation"


@dataclass(slots=True)
class Item:
    """One parsed item: its RE2 syntax and the three measures that Go limits."""

    text: str
    fold_case: bool = False
    literal: str | None = None  # the character, if it is a literal
    choices: tuple[str, ...] | None = None  # the strings, if it is a group of plain alternatives
    repeated: bool = False
    copies: int = 1  # product of the nested counts
    height: int = 1
    size: int = 1
    node: str = ""  # CONCATENATION or ALTERNATION: Go merges it into a parent of the same kind


@dataclass(slots=True)
class Group:
    """An open parenthesis (or the whole pattern) with its alternatives; the last is incomplete."""

    flags: Flags
    captures: bool = True
    alternatives: list[list[Item]] = field(default_factory=lambda: [[]])


def concatenate(items: list[Item]) -> Item:
    """Merge items into one; adjacent items that fold case share one flag."""
    if len(items) == 1 and not items[0].fold_case:
        return items[0]
    parts: list[str] = []
    folding = False
    for item in items:
        if item.fold_case != folding:
            parts.append("(?i:" if item.fold_case else ")")
            folding = item.fold_case
        parts.append(item.text)
    if folding:
        parts.append(")")
    return Item(
        "".join(parts),
        copies=max((item.copies for item in items), default=1),
        height=height_above(items, CONCATENATION),
        size=max(sum(item.size for item in items), 1),
        node=CONCATENATION,
    )


def height_above(items: list[Item], node: str) -> int:
    """The height of a node of this kind; a sequence of characters adds no height."""
    if all(item.literal is not None for item in items):
        return 1
    within = max(item.height - (item.node == node) for item in items)
    return within + (len(items) > 1)


def plain_choices(group: Group) -> tuple[str, ...] | None:
    """The strings that a group matches, if it consists of literal characters only."""
    if any(
        item.literal is None or item.fold_case for items in group.alternatives for item in items
    ):
        return None
    return tuple("".join(item.literal or "" for item in items) for items in group.alternatives)


def repeated_size(size: int, low: int, high: int, *, counted: bool, plus: bool) -> int:
    """The number of instructions of a repetition, as Go estimates it."""
    if not counted:
        return size + (1 if plus or high == 1 else 2)
    if high < 0:
        return 2 + size if low == 0 else 1 + low * size
    return max(1, high * size + high - low)


def escape(point: int) -> str:
    char = chr(point)
    if (point >= 0x80 and not 0xD800 <= point <= 0xDFFF) or char.isalnum() or char == "_":
        return char
    return f"\\{char}" if char.isprintable() and point < 0x80 else f"\\x{{{point:X}}}"
