"""Whether one key is in the value of a condition: in a list, in a range, or like a pattern."""

import orjson

from policyd.importers.jmespath.alternatives import CelTerm, single
from policyd.importers.jmespath.cel import (
    FALSE,
    MEMBER,
    SUM,
    TRUE,
    Cel,
    conjunction,
    disjunction,
    relation,
)
from policyd.importers.jmespath.reading import over
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.jmespath.words import literal
from policyd.importers.kyverno.globs import (
    globbed,
    has_wildcards,
    matches,
    may_hold_wildcards,
    pattern_of,
)
from policyd.importers.kyverno.ranges import in_range, range_of
from policyd.json_types import JSON


def is_in(key: CelValue, value: CelTerm) -> Cel:
    """Return CEL that is true if a key, one value, is in the value of a condition."""
    if isinstance(value, Constant):
        return _in_written(key, value.constant)
    if isinstance(value, CelList):
        items = value
    elif value.kind.name == "list":
        items = over(single(value))
    else:
        return relation(key.text(SUM), "==", value.text(SUM))
    if items.keys is not None:
        return relation(key.text(SUM), "in", items.keys.or_value("{}"))
    wild = may_hold_wildcards(items.name) or (_constant_pattern(key) is not None)
    if not wild and isinstance(value, CelValue):
        return relation(key.text(SUM), "in", value.text(SUM))
    return items.exists(lambda each: _alike(key, each, wild))


def _alike(key: CelValue, item: CelValue, wild: bool) -> Cel:
    # Whether an item of a list in the data is the key: either may be a pattern for the other.
    need = item.presence()
    parts = [] if need is None else [need]
    pattern = _constant_pattern(key)
    if pattern is not None:
        return conjunction([*parts, globbed(item.text(MEMBER), pattern)])
    if not wild:
        return conjunction([*parts, relation(item.text(SUM), "==", key.text(SUM))])
    of_item = Cel(f"{key.text(MEMBER)}.matches({pattern_of(item.text(MEMBER))})")
    if isinstance(key, Constant) or not may_hold_wildcards(key.name):
        return conjunction([*parts, of_item])
    of_key = Cel(f"{item.text(MEMBER)}.matches({pattern_of(key.text(MEMBER))})")
    return conjunction([*parts, disjunction([of_item, of_key])])


def _constant_pattern(key: CelValue) -> str | None:
    if isinstance(key, Constant) and isinstance(key.constant, str) and has_wildcards(key.constant):
        return key.constant
    return None


def _in_written(key: CelValue, written: JSON) -> Cel:
    if isinstance(written, str):
        found = _json_list(written)
        if found is None and (limits := range_of(written)) is not None:
            return in_range(key, limits)
        written = [written] if found is None else found
    if not isinstance(written, list):
        written = [written]
    if isinstance(key, Constant):
        return TRUE if any(_same(key.constant, each) for each in written) else FALSE
    plain = [each for each in written if not isinstance(each, str) or not has_wildcards(each)]
    parts = [_one_of(key, plain)] if plain else []
    text = key.text(MEMBER) if key.kind.name == "string" else f"string({key.text()})"
    if key.kind.name == "any":
        text = key.text(MEMBER)
    for each in written:
        if isinstance(each, str) and has_wildcards(each):
            parts.append(globbed(text, each))
    if may_hold_wildcards(key.name) and plain:
        parts = [_pattern_for_any(key, plain), *parts[1:]]
    return disjunction(parts)


def _one_of(key: CelValue, written: list[JSON]) -> Cel:
    if key.kind.name == "bool":
        values = {each if isinstance(each, bool) else str(each) == "true" for each in written}
        if len(values) == 2:
            return TRUE
        return key.cel() if values == {True} else Cel(f"!{key.text(MEMBER)}", 6, key.text())
    if key.kind.name == "number":
        written = [_number(each) for each in written]
    elif key.kind.name == "string":
        written = [_printed(each) for each in written]
    if len(written) == 1:
        return relation(key.text(SUM), "==", literal(written[0]))
    return relation(key.text(SUM), "in", literal(written))


def _pattern_for_any(key: CelValue, written: list[JSON]) -> Cel:
    # The data may be a pattern for what is written, such as the verb `*`.
    pattern = pattern_of(key.text(MEMBER))
    if len(written) == 1:
        return Cel(f"{literal(_printed(written[0]))}.matches({pattern})")
    texts = literal([_printed(each) for each in written])
    return Cel(f"{texts}.exists(it, it.matches({pattern}))")


def _same(one: JSON, other: JSON) -> bool:
    first, second = _printed(one), _printed(other)
    return matches(first, second) or matches(second, first)


def _printed(value: JSON) -> str:
    # As Go prints it.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _number(value: JSON) -> JSON:
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        return value


def _json_list(text: str) -> list[JSON] | None:
    # A string may be a list in JSON, as in the data of a ConfigMap.
    if not text.startswith("["):
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, list) else None
