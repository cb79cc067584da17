"""What a mutator changes: a value at a location as an Overlay, one that is computed from what is
there as the CEL of a JSON Patch.

Semantics: Gatekeeper pkg/mutation/mutators/core/mutation_function.go. Missing parents are made, an
item that is named and missing is added; path tests say where nothing is done.
"""

from collections.abc import Callable, Mapping, Sequence

from policyd.export.expressions.literals import literal, string_literal
from policyd.importers.gatekeeper.locations import LocationStep
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject

Computed = Callable[[str], str]
"""Makes CEL of the CEL of the value."""

_DOMAIN = "^([^/]*[.:][^/]*|localhost)/"


def patch(location: Sequence[LocationStep], test: Computed, value: Computed, path: str) -> str:
    """Return CEL of the patch that replaces the value at a location where ``test`` holds.

    Raises Refused for a location with two lists.
    """
    lists = [index for index, step in enumerate(location) if step.is_list]
    if len(lists) > 1:
        raise Refused(path, "lists in lists cannot be said in a JSON Patch of one expression")
    if not lists:
        at = _fields("object", location)
        guard = _guard("object", location)
        said = _operation(string_literal(_pointer(location)), value(at))
        return f"{guard} && {test(at)}\n? [{said}]\n: []"
    [index] = lists
    step, before, after = location[index], location[:index], location[index + 1 :]
    if not after:
        raise Refused(path, "the location ends with an item of a list")
    guards = [_guard("item", after)]
    if not step.is_glob:
        guards.insert(0, f"item[?{string_literal(step.key)}].orValue('') == {literal(step.value)}")
    at = _fields("item", after)
    start = string_literal(f"{_pointer(before)}/")
    pointer = f"{start} + string(i) + {string_literal(_pointer(after))}"
    said = _operation(pointer, value(at))
    items = _fields("object", before, "?")
    condition = " && ".join((*guards, test(at)))
    return f"{items}.orValue([]).transformList(i, item, {condition},\n  {said})"


def pruned(values: list[JSON]) -> tuple[Computed, Computed]:
    """Return test and value for a list without these values."""
    listed = literal(values)
    return (
        lambda at: f"{at}.exists(v, v in {listed})",
        lambda at: f"{at}.filter(v, !(v in {listed}))",
    )


def image(parts: Mapping[str, str]) -> tuple[Computed, Computed]:
    """Return test and value for an image with another ``domain``, ``path`` and ``tag``.

    Parts: Gatekeeper pkg/mutation/mutators/assignimage/imageparser.go.
    """

    def value(at: str) -> str:
        domain = f"{at}.find({string_literal(_DOMAIN)})"
        rest = f"{at}.replace({domain}, '', 1)"
        own = {"domain": domain, "path": f"{rest}.find('^[^:@]*')", "tag": f"{rest}.find('[:@].*')"}
        if "path" not in parts and "tag" not in parts:
            own = {"domain": domain, "path": rest}
        given = {key: string_literal(each) for key, each in parts.items()}
        if "domain" in parts:
            given["domain"] = string_literal(f"{parts['domain']}/")
        return " + ".join(given.get(key, each) for key, each in own.items())

    return lambda at: f"{at} != ''", value


def _operation(pointer: str, value: str) -> str:
    return f"JSONPatch{{op: 'replace', path: {pointer}, value: {value}}}"


def _pointer(steps: Sequence[LocationStep]) -> str:
    return "".join(f"/{step.name.replace('~', '~0').replace('/', '~1')}" for step in steps)


def _fields(root: str, steps: Sequence[LocationStep], mark: str = "") -> str:
    """Return CEL of a field; with the mark ``?``, as an optional value."""
    for step in steps:
        plain = step.name.isidentifier() and step.name.isascii()
        root += f".{mark}{step.name}" if plain else f"[{mark}{string_literal(step.name)}]"
    return root


def _guard(root: str, steps: Sequence[LocationStep]) -> str:
    return f"{_fields(root, steps, '?')}.hasValue()"


Tests = Mapping[int, str]
"""The condition of a step, by its index: ``MustExist`` or ``MustNotExist``."""

_ANY = "*"


def setting(location: Sequence[LocationStep], value: JSON, tests: Tests, path: str) -> JSONObject:
    """Return the tree of the overlay that sets ``value``; raises Refused.

    >>> from policyd.importers.gatekeeper.locations import steps
    >>> setting(steps("spec.containers[name:*].tty", ""), True, {}, "")
    {'spec': {'containers': [{'(name)': '*', 'tty': True}]}}
    """
    found = _at(location, 0, value, tests, path)
    assert isinstance(found, dict)
    return found


def _at(location: Sequence[LocationStep], depth: int, value: JSON, tests: Tests, path: str) -> JSON:
    """Return what belongs into the place that the steps before ``depth`` lead to."""
    if depth == len(location):
        return value
    step, test = location[depth], tests.get(depth)
    below = _at(location, depth + 1, value, tests, path)
    if not step.is_list:
        if test == "MustNotExist":
            return {f"+({_plain(step.name, path)})": below}
        found: JSONObject = {_plain(step.name, path): below}
        return {f"({step.name})": _ANY, **found} if test == "MustExist" else found
    if test == "MustNotExist":
        raise Refused(path, "a test that an item of a list is missing cannot be said in an overlay")
    item = below if isinstance(below, dict) else {}
    if depth + 1 == len(location):  # the item itself is the value: it has the key
        item = {key: each for key, each in item.items() if key != step.key}
    if step.is_glob:
        return [{f"({step.key})": _ANY, **item}]
    key = f"({step.key})" if test == "MustExist" else step.key
    return [{key: step.value, **item}]


def _plain(name: str, path: str) -> str:
    if name[:1] in ("(", "+", "=", "X", "^", "<") and name.endswith(")"):
        raise Refused(path, f"the field {name} looks like an anchor")
    return name
