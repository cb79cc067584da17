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
    """The RFC 6902 operations (add, remove, replace) that make ``new`` out of ``old``.

    One operation for each key of a map that differs; the order of keys is nothing. Items of a
    list of maps are kept by identity: ``keys`` gives the fields that identify the items of a
    list, either a function of its path (keys and indexes) or a table by pointer with ``*`` for
    each index (``/spec/containers/*/env``); lists that it does not know are identified by a field
    that tells all their items apart, if there is one. Other lists get as few operations as their
    items allow. 1, 1.0 and true differ. Values are shared with ``new``. Subtrees that are the
    same object in both are not looked at. Raises PatchError below ``json_equality.MAX_DEPTH``
    levels.
    """
