"""Whether one key is in the value of a condition: in a list, in a range such as `10-20` (`10!-20`
is what is outside), or like a pattern (kyverno/kyverno pkg/engine/operator). The data may hold
patterns as well: the verb `*` of a Role is any of the written ones.
"""

import re

import orjson

from policyd.export.expressions.cel import FALSE, MEMBER, SUM, TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, literal, negated, some
from policyd.importers.jmespath.functions.scalars import as_string
from policyd.importers.jmespath.globs import globbed, has_wildcards, like, matches, pattern_of
from policyd.importers.jmespath.images import ImageRegistry
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.terms import CelTerm, Either, Several, single
from policyd.importers.jmespath.values import CelValue, Constant, Joined
from policyd.json_types import JSON

# Lists of RBAC: the only pattern that the API server knows in them is `*`.
_RULES = frozenset({"verbs", "apiGroups", "resourceNames", "nonResourceURLs", "resources"})
# Fields whose values may be patterns with text around the wildcards.
_PATTERNS = frozenset({"host", "hosts", "dnsNames", "commonName"})


def needs(term: CelTerm) -> Cel:
    """Return what must hold so that a term has a value. Not the fields of a path: a path to what is
    missing is an error, and stays one.
    """
    return TRUE if isinstance(term, Either | Constant) else term.needs


def is_in(key: CelValue, value: CelTerm) -> Cel:
    """Return CEL that is true if a key, one value, is in the value of a condition."""
    if isinstance(value, Constant):
        return _in_written(key, value.constant)
    if isinstance(value, CelList):
        return _in_list(key, value)
    if isinstance(value, Several):
        return some(*(is_in(key, each) for each in value.parts))
    return _in_text(key, single(value))


def has_all(value: CelTerm, written: list[JSON]) -> Cel | None:
    """Return CEL that is true if a list has all that is written, None if that has no short form."""
    if not isinstance(value, CelList) or value.name in _RULES | _PATTERNS or len(written) < 2:
        return None
    if any(not isinstance(each, str) or has_wildcards(each) for each in written):
        return None
    return Cel(f"sets.contains({value.or_value('[]')}, {literal(written)})")


def _in_list(key: CelValue, items: CelList) -> Cel:
    element = items.element
    pattern = _pattern(key) or (isinstance(element, Joined) and element.is_pattern)
    if isinstance(element, ImageRegistry) and isinstance(key, Constant):
        return items.exists(lambda each: every(each.presence(), _in_written(each, key.constant)))
    if not pattern and items.name not in _RULES | _PATTERNS:
        if (inside := items.has(key.text(SUM))) is not None:
            return inside
        return items.exists(
            lambda each: every(each.presence(), relation(each.text(SUM), "==", key.text(SUM)))
        )
    return items.exists(lambda each: every(each.presence(), _alike(key, each)))


def _alike(key: CelValue, item: CelValue) -> Cel:
    # Whether two values are equal, or one is a pattern for the other.
    if isinstance(item, Joined) and item.is_pattern:
        return like(as_string(key), item)
    if isinstance(key, Constant):
        return _in_written(item, key.constant)
    of_item = Cel(f"{as_string(key).at(MEMBER)}.matches({pattern_of(item.text(MEMBER))})")
    if key.name not in _RULES | _PATTERNS:
        return of_item
    of_key = Cel(f"{item.text(MEMBER)}.matches({pattern_of(key.text(MEMBER))})")
    return some(of_item, of_key)


def _pattern(key: CelValue) -> bool:
    if isinstance(key, Constant) and isinstance(key.constant, str):
        return has_wildcards(key.constant)
    return False


def _in_text(key: CelValue, value: CelValue) -> Cel:
    # A string that is data may be a pattern, or a list of strings in JSON, as in a ConfigMap.
    if isinstance(value, Joined) and value.is_pattern:
        return like(as_string(key), value)
    if isinstance(key, Constant) or not value.base.text.startswith("params."):
        return relation(key.text(SUM), "==", value.text(SUM))
    text, whole = as_string(key), value.text(MEMBER)
    alike = Cel(f"{text.at(MEMBER)}.matches({pattern_of(whole)})")
    listed = Cel(f"{whole}.contains('\"' + {text.at(SUM)} + '\"')")
    return some(alike, listed)


def _in_written(key: CelValue, written: JSON) -> Cel:
    if isinstance(written, str):
        found = _json_list(written)
        if found is None and (limits := _RANGE.match(written)) is not None:
            return _in_range(key, *limits.groups())
        written = [written] if found is None else found
    if not isinstance(written, list):
        written = [written]
    if isinstance(key, Constant):
        return TRUE if any(_same(key.constant, each) for each in written) else FALSE
    plain = [each for each in written if not isinstance(each, str) or not has_wildcards(each)]
    if isinstance(key, ImageRegistry) and (short := key.one_of(written)) is not None:
        return short
    patterns = [each for each in written if isinstance(each, str) and has_wildcards(each)]
    parts = []
    if plain and key.name in _PATTERNS:
        parts.append(_pattern_for_any(key, plain))
    elif plain:
        parts.append(_one_of(key, [*plain, *_wild(key, plain)]))
    text = key.text(MEMBER) if key.kind.name == "any" else as_string(key).at(MEMBER)
    parts += [globbed(text, each) for each in patterns]
    return some(*parts)


def _wild(key: CelValue, written: list[JSON]) -> list[JSON]:
    # Other entries that the lists of a Role may hold for it: `*`, and `*/status` for `pods/status`.
    if key.name not in _RULES or not all(isinstance(each, str) for each in written):
        return []
    others = ["*"]
    for each in written:
        resource, slash, subresource = str(each).partition("/")
        if slash and key.name == "resources":
            others += [f"*/{subresource}", f"{resource}/*"]
    return [each for each in dict.fromkeys(others) if each not in written]


def _one_of(key: CelValue, written: list[JSON]) -> Cel:
    if key.kind.name == "bool":
        values = {_printed(each) for each in written} & {"true", "false"}
        if len(values) != 1:
            return TRUE if values else FALSE
        return key.cel() if values == {"true"} else negated(key.cel())
    if key.kind.name == "number":
        written = [_number(each) for each in written]
    elif key.kind.name == "string":
        written = [_printed(each) for each in written]
    if len(written) == 1:
        return relation(key.text(SUM), "==", literal(written[0]))
    return relation(key.text(SUM), "in", literal(written))


def _pattern_for_any(key: CelValue, written: list[JSON]) -> Cel:
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
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _json_list(text: str) -> list[JSON] | None:
    if not text.startswith("["):
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, list) else None


_RANGE = re.compile(
    r"([-+]?[0-9]+(?:[.][0-9]+)?[A-Za-z]*)(!?)-([-+]?[0-9]+(?:[.][0-9]+)?[A-Za-z]*)\Z"
)


def _in_range(key: CelValue, lowest: str, outside: str, highest: str) -> Cel:
    # The limits belong to the range.
    if lowest.isdigit() and highest.isdigit():
        text = _as_number(key)
        beyond = some(relation(text, "<", lowest), relation(text, ">", highest))
    else:
        text = f"quantity({as_string(key).text})"
        below = Cel(f"{text}.isLessThan(quantity('{lowest}'))")
        beyond = some(below, Cel(f"{text}.isGreaterThan(quantity('{highest}'))"))
    return beyond if outside else negated(beyond)


def _as_number(key: CelValue) -> str:
    if isinstance(key, Constant):
        return str(key.constant)
    return f"double({key.text()})" if key.kind.name == "string" else key.text(SUM)
