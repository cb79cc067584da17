"""Patterns of Kyverno as patterns of policyd, which have the same notation.

Changed is what Kyverno reads differently (docs/write/patterns.md, Differences from Kyverno), so
that the result means what Kyverno does (pkg/engine/validate, anchor and pattern).
"""

from policyd._core.pattern.strings import amount_of
from policyd.importers.model import ImportNotes, Refused, refusing
from policyd.json_types import JSON, JSONObject
from policyd.pattern import PatternError, compile_pattern
from policyd.pattern.leaves import operation
from policyd.pattern.marks import Mark, UnknownMark, marked, split

_CONDITIONS = (Mark.CONDITION, Mark.GLOBAL)
_COMPARING = ("<", ">", "!")


def converted(tree: JSON, path: str, notes: ImportNotes) -> JSON:
    """Return a pattern that compiles; ``path`` is its path in the document.

    In Kyverno a condition outside of lists skips the whole pattern, and so does one in a list if it
    holds for no item; in policyd only `<(key)` does. Raises Refused for a pattern that policyd
    cannot check as Kyverno does.
    """
    result = _tree(tree, path, notes)
    if isinstance(result, dict):
        result = _marked_below(result, beside=False)
    try:
        compile_pattern(result)
    except PatternError as error:
        fault = error.faults[0]
        below = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault.path)
        raise Refused(f"{path}{below}", fault.message) from error
    return result


def _tree(tree: JSON, path: str, notes: ImportNotes) -> JSON:
    if isinstance(tree, dict):
        return _map(tree, path, notes)
    if isinstance(tree, list):
        return _list(tree, path, notes)
    return tree


def _map(tree: JSONObject, path: str, notes: ImportNotes) -> JSONObject:
    result: JSONObject = {}
    for key, value in tree.items():
        at = f"{path}.{key}"
        with refusing(at, UnknownMark):
            mark, name = split(str(key))
        if not name.strip():
            raise Refused(path, "a key has no name")
        if mark is Mark.ABSENT:
            result[str(key)] = None  # Kyverno never reads the value
            continue
        if mark is Mark.NONE and _holds_for_nothing(value):
            # Kyverno compares an absent field as 0 (pkg/engine/pattern, convertNumberToString).
            result[marked(Mark.IF_PRESENT, name)] = value
            continue
        if mark is Mark.GLOBAL or (mark is Mark.EXISTS and name != "containers"):
            what = "the pattern is skipped" if mark is Mark.GLOBAL else "the pattern does not match"
            rest = "Kyverno goes on with the other fields"
            notes.remark(at, f"without {name} {what} here; {rest}")
        result[str(key)] = _tree(value, at, notes)
    return result


def _list(tree: list[JSON], path: str, notes: ImportNotes) -> list[JSON]:
    if not tree:
        raise Refused(path, "in Kyverno no list matches an empty list")
    exists = path.rpartition(".")[2].startswith("^(")
    if len(tree) > 1 and not exists and not isinstance(tree[0], list):
        notes.remark(path, "Kyverno reads only the first item of a list; the others are left out")
        tree = tree[:1]
    return [_tree(each, f"{path}[{index}]", notes) for index, each in enumerate(tree)]


def _holds_for_nothing(value: JSON) -> bool:
    """Return whether a string pattern holds for 0, which Kyverno takes for an absent field."""
    if not isinstance(value, str) or not any(sign in value for sign in (*_COMPARING, "-", "0")):
        return False
    return any(all(map(_term_holds, each.split("&"))) for each in value.split("|"))


def _term_holds(term: str) -> bool:
    term = term.strip()
    operator, operand = operation(term)
    if amount_of(operand) is None and (operator or not _is_range(operand)):
        return False
    try:
        return compile_pattern(term).check(0) is None
    except PatternError:
        return False


def _is_range(text: str) -> bool:
    low, dash, high = text.partition("-")
    ends = (low.rstrip("! "), high.strip())
    return bool(dash) and all(amount_of(end) is not None for end in ends)


def _marked_below(tree: JSONObject, beside: bool) -> JSONObject:
    """Mark conditions that skip more than the map that contains them. ``beside``: something else is
    checked beside this map, or above it.
    """
    result: JSONObject = {}
    for key, value in tree.items():
        mark, name = split(str(key))
        if mark is Mark.CONDITION and beside:
            result[marked(Mark.GLOBAL, name)] = value
            continue
        checked = (each for each in tree if split(str(each))[0] not in _CONDITIONS)
        others = beside or any(each != key for each in checked)
        result[key] = value
        if mark is Mark.NONE and isinstance(value, dict):
            result[key] = _marked_below(value, others)
        elif mark is Mark.NONE and isinstance(value, list):
            result[key] = [
                _marked_below(each, others) if isinstance(each, dict) else each for each in value
            ]
    return result
