"""Patterns of Kyverno as patterns of policyd, which have the same notation.

Changed is what Kyverno reads differently (docs/write/patterns.md, Differences from Kyverno), so
that the result means what Kyverno does (pkg/engine/validate, anchor and pattern).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from policyd._core.pattern.strings import amount_of
from policyd.importers.model import ImportRemark, Refused
from policyd.json_types import JSON, JSONObject
from policyd.pattern import PatternError, compile_pattern
from policyd.pattern.leaves import operation
from policyd.pattern.marks import Mark, UnknownMark, marked, split

_CONDITIONS = (Mark.CONDITION, Mark.GLOBAL)
_COMPARING = ("<", ">", "!")


def converted(tree: JSON, path: str) -> tuple[JSON, list[ImportRemark]]:
    """Return a pattern that compiles, and what is different in it; ``path`` is its path in the
    document.

    Raises Refused for a pattern that policyd cannot check as Kyverno does.
    """
    conversion = _Conversion()
    result = conversion.tree(tree, path)
    if isinstance(result, dict):
        result = _conditions_for_all(result)
    try:
        compile_pattern(result)
    except PatternError as error:
        fault = error.faults[0]
        below = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault.path)
        raise Refused(f"{path}{below}", fault.message) from error
    return result, conversion.remarks


@dataclass(slots=True)
class _Conversion:
    remarks: list[ImportRemark] = field(default_factory=list)

    def tree(self, tree: JSON, path: str) -> JSON:
        if isinstance(tree, dict):
            return self._map(tree, path)
        if isinstance(tree, list):
            return self._list(tree, path)
        return tree

    def _map(self, tree: JSONObject, path: str) -> JSONObject:
        result: JSONObject = {}
        for key, value in tree.items():
            at = f"{path}.{key}"
            try:
                mark, name = split(str(key))
            except UnknownMark as error:
                raise Refused(at, str(error)) from error
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
                self._absent(mark, name, at)
            result[str(key)] = self.tree(value, at)
        return result

    def _list(self, tree: list[JSON], path: str) -> list[JSON]:
        if not tree:
            raise Refused(path, "in Kyverno no list matches an empty list")
        exists = path.rpartition(".")[2].startswith("^(")
        if len(tree) > 1 and not exists and not isinstance(tree[0], list):
            message = "Kyverno reads only the first item of a list; the others are left out"
            self.remarks.append(ImportRemark(path, message))
            tree = tree[:1]
        return [self.tree(each, f"{path}[{index}]") for index, each in enumerate(tree)]

    def _absent(self, mark: Mark, name: str, path: str) -> None:
        what = "the pattern is skipped" if mark is Mark.GLOBAL else "the pattern does not match"
        message = f"without {name} {what} here; Kyverno goes on with the other fields"
        self.remarks.append(ImportRemark(path, message))


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


def _conditions_for_all(tree: JSONObject) -> JSONObject:
    """Mark conditions that skip more than the map that contains them.

    In Kyverno a condition outside of lists skips the whole pattern, and so does one in a list if it
    holds for no item; in policyd only `<(key)` does.
    """
    return _marked_below(tree, beside=False)


def _marked_below(tree: JSONObject, beside: bool) -> JSONObject:
    """``beside``: something else is checked beside this map, or above it."""
    result: JSONObject = {}
    for key, value in tree.items():
        mark, name = split(str(key))
        if mark is Mark.CONDITION and beside:
            result[marked(Mark.GLOBAL, name)] = value
            continue
        others = beside or any(other != key for other in _checked(tree))
        result[key] = value
        if mark is Mark.NONE and isinstance(value, dict):
            result[key] = _marked_below(value, others)
        elif mark is Mark.NONE and isinstance(value, list):
            result[key] = [
                _marked_below(each, others) if isinstance(each, dict) else each for each in value
            ]
    return result


def _checked(tree: JSONObject) -> Iterator[str]:
    return (key for key in tree if split(str(key))[0] not in _CONDITIONS)
