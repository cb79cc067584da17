"""The operations of a JSON Patch as CEL."""

from collections.abc import Sequence
from dataclasses import dataclass

from policyd.export.mutating.overlays.places import ItemLoop, ObjectPlace, conjunction


@dataclass(frozen=True, slots=True)
class PatchStep:
    """An operation on a place, made under the condition ``when`` (empty: always) for each item of
    the loops of the place.

    ``bound`` is an expression whose result ``when`` and ``value`` call ``result``; ``entries`` is a
    map, for each ``key`` and ``value`` of which the operation is made. ``reverse``: from the last
    item to the first.
    """

    place: ObjectPlace
    op: str
    value: str = ""
    when: str = ""
    bound: str = ""
    entries: str = ""
    reverse: bool = False


def rendered(when: str, operations: Sequence[PatchStep]) -> str:
    """Return the CEL of the list of operations; empty unless ``when`` holds."""
    parts = [_list(each) for each in operations]
    text = "\n+ ".join(_joined(parts)) or "[]"
    if not when:
        return text
    condition = f"({when})" if " ? " in when else when
    return f"{condition}\n? {text}\n: []"


def _joined(parts: list[str]) -> list[str]:
    """Merge neighbors that are plain lists of operations."""
    found: list[str] = []
    for each in parts:
        if found and each.startswith("[JSONPatch") and found[-1].startswith("[JSONPatch"):
            found[-1] = f"{found[-1][:-1]}, {each[1:]}"
        else:
            found.append(each)
    return found


def _list(operation: PatchStep) -> str:
    """Return the CEL of the list that one operation makes."""
    made = _operation(operation)
    loops = operation.place.loops
    if operation.entries:
        guard = f"result, {operation.when}, " if operation.when else "result, "
        inner = f"{operation.entries}.transformList(key, value, {made})"
        return f"[{operation.bound}].map({guard}{inner}).flatten()"
    if operation.bound:
        return f"[{operation.bound}].map(result, {operation.when}, {made})"
    if not loops:
        return f"({operation.when} ? [{made}] : [])" if operation.when else f"[{made}]"
    *outer, last = loops
    text = _loop(last, conjunction(last.guard, operation.when), made)
    if operation.reverse:
        text += ".reverse()"
    for loop in reversed(outer):
        text = f"{_loop(loop, loop.guard, text)}.flatten()"
    return text


def _loop(loop: ItemLoop, guard: str, made: str) -> str:
    guarded = f"{guard}, " if guard else ""
    return f"{loop.items}.transformList({loop.index}, {loop.item}, {guarded}{made})"


def _operation(operation: PatchStep) -> str:
    path = operation.place.pointer.text()
    if operation.entries:
        path = operation.place.pointer.computed("key")
    if operation.op == "remove":
        return f"JSONPatch{{op: 'remove', path: {path}}}"
    return f"JSONPatch{{op: '{operation.op}', path: {path}, value: {operation.value}}}"
