"""Whether a value fits a check: the tests of the core (``_core/pattern/*.pyx``) as expressions.

A check fails, is skipped because a condition does not hold, or holds. ``admits`` is true unless it
fails, ``holds`` only if it holds. ``value`` is always the expression of a value that is there, but
may be null; ``depth`` numbers the variables of loops.
"""

from policyd._core.pattern.checks import (
    Absent,
    EachKey,
    IfPresent,
    MapCheck,
    NoKey,
    PatternCheck,
    PatternEntry,
    SomeKey,
)
from policyd._core.pattern.leaves import (
    Anything,
    EmptyList,
    ExistsCheck,
    LeafCheck,
    ListCheck,
    Something,
    Unset,
)
from policyd.export.expressions.cel import FALSE, TRUE, Cel, relation
from policyd.export.patterns.scalars import fits, matches
from policyd.export.patterns.text import every, has_type, negated, present, selected, some

_FEW = 2  # mentions of a value that are shorter than a variable for it


def admits(check: PatternCheck, value: str, depth: int) -> Cel:
    """Test that a check does not fail."""
    if isinstance(check, MapCheck):
        conditions = _conditions(check, value, depth)
        entries = every(*(entry_admits(each, value, depth) for each in check.entries))
        return every(has_type(value, "map"), some(negated(conditions), entries))
    if isinstance(check, ListCheck):
        name = _name("item", depth)
        test = item_admits(check, name, depth + 1)
        return every(has_type(value, "list"), _all(value, name, test))
    return _settled(check, value, depth)


def holds(check: PatternCheck, value: str, depth: int) -> Cel:
    """Test that a check holds."""
    if not skips(check):
        return admits(check, value, depth)
    name = _name("item", depth)
    if isinstance(check, MapCheck):
        applied = TRUE
        if not check.conditions:
            applied = some(*(entry_holds(each, value, depth) for each in check.entries))
        return every(
            has_type(value, "map"),
            _conditions(check, value, depth),
            *(entry_admits(each, value, depth) for each in check.entries),
            applied,
        )
    assert isinstance(check, ListCheck)
    size = relation(f"size({value})", "!=" if check.some else "==", "0")
    fit = _all(value, name, item_admits(check, name, depth + 1))
    if not _item_skips(check):
        return every(has_type(value, "list"), size, fit)
    applied = _any(value, name, some(*(holds(each, name, depth + 1) for each in check.each)))
    if not check.some:
        applied = some(size, applied)
        size = TRUE
    return every(has_type(value, "list"), size, fit, applied)


def entry_admits(entry: PatternEntry, value: str, depth: int) -> Cel:
    """Test that a key of a map does not fail."""
    return _entry(entry, value, depth, whole=False)


def entry_holds(entry: PatternEntry, value: str, depth: int) -> Cel:
    """Test that a key of a map holds."""
    return _entry(entry, value, depth, whole=entry_skips(entry))


def item_admits(check: ListCheck, item: str, depth: int) -> Cel:
    """Test that an item of a list does not fail."""
    one = some(*(admits(each, item, depth) for each in check.any_of))
    each = (admits(each, item, depth) for each in check.each)
    return every(*each, one if check.any_of else TRUE)


def some_key(entry: PatternEntry, value: str, name: str) -> Cel:
    """Test that ``name`` is one of the keys that a wildcard means."""
    assert isinstance(entry, SomeKey | EachKey | NoKey)
    text = entry.wildcard.text
    named = matches(text, name) if text.strip("*") else TRUE
    return every(named, relation(f"{value}[{name}]", "!=", "null"))


def filled(value: str, key: str) -> Cel:
    """Test that a key is there and not null."""
    return every(present(value, key), relation(selected(value, key), "!=", "null"))


def skips(check: PatternCheck) -> bool:
    """Whether a check can be skipped."""
    if isinstance(check, MapCheck):
        return bool(check.conditions) or (
            bool(check.entries) and all(map(entry_skips, check.entries))
        )
    return isinstance(check, ListCheck) and (check.some or _item_skips(check))


def entry_skips(entry: PatternEntry) -> bool:
    """Whether a key of a map can be skipped."""
    return entry.check is not None and skips(entry.check)


def entry_admits_absent(entry: PatternEntry) -> bool:
    """Whether a key may be missing."""
    if isinstance(entry, IfPresent | Absent | EachKey | NoKey):
        return True
    return not isinstance(entry, SomeKey) and isinstance(entry.check, Unset)


def _settled(check: PatternCheck, value: str, depth: int) -> Cel:
    """Test a check that is never skipped."""
    if isinstance(check, LeafCheck):
        return _leaf(check, value, depth)
    if isinstance(check, ExistsCheck):
        name = _name("item", depth)
        wanted = (_any(value, name, holds(each, name, depth + 1)) for each in check.wanted)
        return every(has_type(value, "list"), *wanted)
    if isinstance(check, Anything):
        return relation(value, "!=", "null")
    if isinstance(check, Something):
        return every(*(relation(value, "!=", each) for each in ("null", "''", "{}", "[]")))
    if isinstance(check, Unset):
        return some(*(relation(value, "==", each) for each in ("null", "false", "0", "''")))
    assert isinstance(check, EmptyList)
    return relation(value, "==", "[]")


def _leaf(leaf: LeafCheck, value: str, depth: int) -> Cel:
    """A list fits if each of its items does."""
    name = _name("each", depth)
    test = fits(leaf, name)
    if test.text.count(name) > _FEW:
        items = f"({has_type(value, 'list').text} ? {value} : [{value}])"
        return _all(items, name, test)
    return some(fits(leaf, value), every(has_type(value, "list"), _all(value, name, test)))


def _conditions(check: MapCheck, value: str, depth: int) -> Cel:
    return every(*(entry_holds(each, value, depth) for each in check.conditions))


def _item_skips(check: ListCheck) -> bool:
    return not check.any_of and all(map(skips, check.each))


def _entry(entry: PatternEntry, value: str, depth: int, whole: bool) -> Cel:
    """``whole``: the check must hold; otherwise it only must not fail."""
    test = holds if whole else admits
    if isinstance(entry, Absent):
        return negated(filled(value, entry.key))
    name = _name("key", depth)
    if isinstance(entry, NoKey):
        return negated(_any(value, name, some_key(entry, value, name)))
    check = entry.check
    assert check is not None
    below = f"{value}[{name}]"
    if isinstance(entry, SomeKey):
        named = some_key(entry, value, name)
        return _any(value, name, every(named, test(check, below, depth + 1)))
    if isinstance(entry, EachKey):
        named = some_key(entry, value, name)
        fit = _all(value, name, some(negated(named), admits(check, below, depth + 1)))
        if not whole:
            return fit
        applied = _any(value, name, every(named, holds(check, below, depth + 1)))
        return every(fit, some(negated(_any(value, name, named)), applied))
    found = test(check, selected(value, entry.key), depth)
    if isinstance(entry, IfPresent):
        return some(negated(filled(value, entry.key)), found)
    if isinstance(check, Unset):
        return some(negated(present(value, entry.key)), found)
    return every(present(value, entry.key), found)


def _name(word: str, depth: int) -> str:
    return f"{word}{depth + 1}" if depth else word


def _all(items: str, name: str, test: Cel) -> Cel:
    return test if test == TRUE else Cel(f"{items}.all({name}, {test.text})")


def _any(items: str, name: str, test: Cel) -> Cel:
    return test if test == FALSE else Cel(f"{items}.exists({name}, {test.text})")
