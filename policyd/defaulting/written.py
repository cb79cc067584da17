"""The manifest with the changes of mutations, but without defaults: what a user would write.

    written(raw, before, after)    # after == before: exactly raw

``before`` is ``raw`` with defaults, ``after`` the same after mutations. Unchanged parts stay as in
``raw``, so a default appears only around a changed value.
"""

import json
from difflib import SequenceMatcher
from typing import Any

from policyd._core.json.equality import equal
from policyd.json_types import JSON, JSONObject

_ABSENT: Any = object()


def written(raw: JSON, before: JSON, after: JSON) -> JSON:
    """Return ``raw`` with the changes that lead from ``before`` to ``after``."""
    result = _written(raw, before, after)
    if isinstance(raw, dict) and isinstance(result, dict) and "stringData" in raw:
        return _without_texts(result, before, after)
    return result


def _written(raw: Any, before: Any, after: Any) -> Any:
    """``written`` for a part; ``raw`` is absent or null where a default is."""
    if raw is not _ABSENT and equal(before, after):
        return raw
    if isinstance(before, dict) and isinstance(after, dict):
        return _map(raw if isinstance(raw, dict) else {}, before, after)
    if isinstance(before, list) and isinstance(after, list) and isinstance(raw, list):
        return _list(raw, before, after)
    return after


def _map(raw: JSONObject, before: JSONObject, after: JSONObject) -> JSONObject:
    result = {key: value for key, value in raw.items() if key in after or key not in before}
    for key, value in after.items():
        if key not in before:
            result[key] = value
        elif not equal(before[key], value):
            result[key] = _written(raw.get(key, _ABSENT), before[key], value)
    return result


def _list(raw: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Pair the items before and after; an item without a counterpart is new."""
    if len(raw) != len(before):
        return after
    return [
        item if at is None else _written(raw[at], before[at], item)
        for at, item in zip(_counterparts(before, after), after, strict=True)
    ]


def _counterparts(before: list[Any], after: list[Any]) -> list[int | None]:
    """Return the old index of each new item: by name if all items had one, else by content and,
    between equal numbers of changed items, by position.
    """
    names = {each["name"]: i for i, each in enumerate(before) if _is_named(each)}
    if len(names) == len(before):
        return [names.get(each["name"]) if _is_named(each) else None for each in after]
    found: list[int | None] = [None] * len(after)
    matcher = SequenceMatcher(None, _texts(before), _texts(after), autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if last - first == end - start:
            found[start:end] = range(first, last)
    return found


def _is_named(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str)


def _texts(items: list[Any]) -> list[str]:
    return [json.dumps(each, sort_keys=True) for each in items]


def _without_texts(result: JSONObject, before: Any, after: Any) -> JSONObject:
    """Drop texts of a Secret whose data changed: the API server would prefer them."""
    old, new = before.get("data") or {}, after.get("data") or {}
    changed = {key for key in {*old, *new} if not equal(old.get(key), new.get(key))}
    texts = result.get("stringData") or {}
    kept = {key: value for key, value in texts.items() if key not in changed}
    rest = {key: value for key, value in result.items() if key != "stringData"}
    if not changed & set(texts):
        return result
    return {**rest, "stringData": kept} if kept else rest
