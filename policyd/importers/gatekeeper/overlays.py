"""A value at a location, as an Overlay. Mutates nothing.

Semantics: Gatekeeper pkg/mutation/mutators/core/mutation_function.go. Missing parents are made, an
item that is named and missing is added; path tests say where nothing is done.
"""

from collections.abc import Mapping, Sequence

from policyd.importers.gatekeeper.locations import LocationStep
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject

Tests = Mapping[int, str]
"""The condition of a step, by its index: ``MustExist`` or ``MustNotExist``."""

_ANY = "*"


def overlay(location: Sequence[LocationStep], value: JSON, tests: Tests, path: str) -> JSONObject:
    """Return the overlay that sets ``value``; raises Refused.

    >>> from policyd.importers.gatekeeper.locations import steps
    >>> overlay(steps("spec.containers[name:*].tty", ""), True, {}, "")
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
