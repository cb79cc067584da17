"""The loops of a ``foreach``: what they go over, under which conditions, and their variables."""

from dataclasses import dataclass

from policyd.importers.jmespath.cel import variable
from policyd.importers.jmespath.kinds import NUMBER, JsonKind
from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.conditions import holds
from policyd.importers.kyverno.context import bound
from policyd.importers.kyverno.mutate.pointers import PathStep, Pointer
from policyd.importers.kyverno.mutate.texts import translated, words_of
from policyd.importers.kyverno.plain_lists import plain_lists
from policyd.importers.model import Refused
from policyd.json_types import JSON

_NO_ITEMS = "||`[]`"
_FIELDS = frozenset(
    {
        "list",
        "order",
        "context",
        "preconditions",
        "patchStrategicMerge",
        "patchesJson6902",
        "foreach",
    }
)
_NAMED = ("container", "volume", "volumeMount")  # items that always have a name
_NEVER_EMPTY = ("spec", "containers")


@dataclass(frozen=True, slots=True)
class ForeachLoop:
    """``items`` is CEL of a list, ``item`` and ``index`` the names of the variables, ``condition``
    CEL under which an item counts (empty: always), ``scope`` the vocabulary inside.

    ``lists`` are the lists of the object that the items are of, if they are plain paths; ``names``
    come from the loop's context.
    """

    items: str
    item: str
    index: str
    condition: str
    reverse: bool
    scope: Vocabulary
    lists: tuple[Pointer, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def element(self) -> tuple[PathStep, ...] | None:
        """Return the path of the item; None if it is not the item of one list."""
        if len(self.lists) != 1:
            return None
        return (*self.lists[0].steps, PathStep(self.index, computed=True, is_index=True))

    @property
    def may_be_empty(self) -> bool:
        """Return whether there may be no item that counts."""
        keys = [each.keys() for each in self.lists]
        return bool(self.condition) or not any(
            each is not None and each[-2:] == _NEVER_EMPTY for each in keys
        )

    def any(self) -> str:
        """Return CEL that is true if an item counts."""
        if self.condition:
            return f"{self.items}.exists({self.item}, {self.condition})"
        return f"{self.items}.size() > 0"

    def mapped(self, body: str) -> str:
        """Return CEL of the list of what ``body`` yields for each item."""
        arguments = [each for each in (self.item, self.condition) if each]
        function = "map"
        if self.index in words_of(f"{self.condition} {body}"):
            function, arguments = "transformList", [self.index, *arguments]
        text = f"{self.items}.{function}({', '.join(arguments)}, {body})"
        return f"{text}.reverse()" if self.reverse else text

    def entries(self, body: str) -> str:
        """Return CEL of the map of the entries that ``body`` yields for each item."""
        guard = f"{self.condition}, " if self.condition else ""
        return f"{self.items}.transformMapEntry({self.index}, {self.item}, {guard}{body})"


def loop_of(
    entry: JSON, scope: Vocabulary, path: str, outer: tuple[ForeachLoop, ...] = ()
) -> ForeachLoop:
    """Read one entry of a ``foreach``; ``outer`` are the loops around it. Raises Refused.

    A list that is missing, which is an error for Kyverno, has no items.
    """
    if not isinstance(entry, dict):
        raise Refused(path, "a map is expected")
    if unknown := entry.keys() - _FIELDS:
        raise Refused(path, f"`{min(unknown)}` is not understood")
    if entry.get("order") not in (None, "Ascending", "Descending"):
        raise Refused(f"{path}.order", f"`{entry['order']}` is no order")
    expression = str(entry.get("list", "")).strip()
    term = translated(read, expression, scope, f"{path}.list")
    depth = len(outer)
    lists = _lists(expression, outer)
    words = [each.key for each in lists[-1].steps[-1:]] if lists else ["item"]
    item = variable(words[0] if not words[0].endswith("Containers") else "containers", scope.taken)
    index = "index" if depth == 0 else f"index{depth + 1}"
    inner = _inside(scope, item, index, depth, term.kind.items)
    if entry.get("context"):
        inner, found = bound(entry["context"], inner, f"{path}.context", inline=True)
        if found:
            raise Refused(f"{path}.context", "it needs more than the object for each item")
    condition = ""
    if entry.get("preconditions"):
        condition = holds(entry["preconditions"], inner, f"{path}.preconditions").text
    items = term.or_value("[]")
    if not items.startswith(("(", "[")) and " " in items and not items.endswith(")"):
        items = f"({items})"
    names = frozenset(str(each["name"]) for each in entry.get("context") or ())
    reverse = entry.get("order") == "Descending"
    return ForeachLoop(items, item, index, condition, reverse, inner, lists, names)


def _inside(scope: Vocabulary, item: str, index: str, depth: int, kind: JsonKind) -> Vocabulary:
    """Return the vocabulary inside a loop over items of a kind."""
    inner = scope.inside(item, index)
    present = ("name",) if item in _NAMED else ()
    for suffix in ("", str(depth)):
        inner = inner.bound(f"element{suffix}", item, kind, present=present)
        inner = inner.bound(f"elementIndex{suffix}", index, NUMBER)
    return inner


def _lists(expression: str, outer: tuple[ForeachLoop, ...]) -> tuple[Pointer, ...]:
    """Return the lists of the object that a plain path is about; none for other expressions."""
    found = plain_lists("".join(expression.split()).removesuffix(_NO_ITEMS))
    if found is None:
        return ()
    base: tuple[PathStep, ...] = ()
    if found.root == "element":
        around = outer[-1].element if outer else None
        if around is None:
            return ()
        base = around
    parents = (*base, *map(PathStep, found.parents))
    return tuple(Pointer((*parents, PathStep(name))) for name in found.names)
