from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

@final
class Differ: ...

def diff(
    old: Any,
    new: Any,
    keys: Callable[[tuple[str | int, ...]], Sequence[str] | None]
    | Mapping[str, Sequence[str]]
    | None = ...,
) -> list[dict[str, Any]]:
    """The RFC 6902 operations (add, remove, replace) that change ``old`` into ``new``.

    One operation per key of a map that differs; the order of keys is ignored. Items of a list of
    maps are matched by identity: ``keys`` returns the fields that identify the items of a list. It
    is a function of the path (keys and indexes), or a dict by pointer with ``*`` for each index
    (``/spec/containers/*/env``). Other lists are matched by a field that identifies all items, if
    there is one, otherwise with the fewest operations. 1, 1.0 and true differ. The operations
    share values with ``new``. Subtrees that are the same object in both are skipped. Raises
    PatchError if they are nested deeper than ``json.equality.MAX_DEPTH`` levels.
    """
