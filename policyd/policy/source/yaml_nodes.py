"""Convert YAML to plain JSON values as Kubernetes does, with the place of every node.

Kubernetes first converts YAML to JSON with go-yaml v2, so ``yes`` is a boolean,
``0o17`` and ``1e3`` are numbers, ``12:30:45`` and ``2027-03-31`` are strings, whole floats
become integers, keys become strings. Rules: go.yaml.in/yaml/v2 ``resolve.go``, sigs.k8s.io/yaml.
A duplicate key is an error (kubectl's strict mode).
"""

import base64
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import yaml

from policyd.cel.syntax.recursion import deep_recursion
from policyd.policy.source.budget import MAX_DEPTH, SLICE, OverBudget, SourceBudget
from policyd.policy.source.yaml_text.finding import explain
from policyd.policy.source.yaml_text.layout import duplicate_hint
from policyd.policy.source.yaml_text.marks import counter, has_other_breaks, recount
from policyd.policy.source.yaml_text.rows import UNEXPLAINED, Explanation
from policyd.policy.source.yaml_text.sizes import OverSize, YamlSize, size_of
from policyd.policy.source.yaml_text.values import template

# libyaml compares each %TAG directive, and each tag, with all directives before it.
MAX_TAGS = 100
# Nodes of a text that is read without a look at the clock.
_SMALL = 20 * SLICE

_PREFIX = "tag:yaml.org,2002:"
NULL, BOOL, INT, FLOAT, STR, BINARY, TIMESTAMP, MERGE = (
    _PREFIX + name
    for name in ("null", "bool", "int", "float", "str", "binary", "timestamp", "merge")
)
_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES"), (BOOL, True)),
    **dict.fromkeys(("on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE", "n", "N", "no", "No", "NO"), (BOOL, False)),
    **dict.fromkeys(("off", "Off", "OFF"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
    "<<": (MERGE, "<<"),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_NUMERIC = frozenset("0123456789+-.")
# Most digits of a 64-bit integer, in base 2 with its prefix. A longer number is a float if decimal,
# else a string, as in Go; Python refuses to parse thousands of digits.
_MAX_DIGITS = 66
_QUOTE = Explanation("", "put it in quotes if it is a string")
_RESOLVABLE = frozenset({STR, BOOL, INT, FLOAT, NULL, TIMESTAMP})


class YamlError(Exception):
    """The text is not YAML that converts to JSON; ``line`` and ``column`` count from 1.

    ``explanation`` says in plain words what is wrong; its lines are lines of the text.
    """

    def __init__(
        self, message: str, line: int, column: int, explanation: Explanation = UNEXPLAINED
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.explanation = explanation


class _Composer(yaml.CSafeLoader):
    """libyaml's composer without tag resolution, and with limits on depth and nodes.

    libyaml and the binding recurse in C, so a hostile depth would overflow the stack; PyYAML calls
    the hooks of path resolvers once a node, so they count both.
    """

    def __init__(self, text: str, budget: SourceBudget) -> None:
        super().__init__(text)
        self._budget = budget
        self._depth = self._nodes = 0
        self._most = min(budget.limits.document, budget.nodes_left)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Return the tag: ``?`` for a plain scalar until it is constructed, else as written."""
        return "?" if kind is yaml.ScalarNode and implicit[0] else ""

    def descend_resolver(self, parent: Any, index: Any) -> None:
        self._depth += 1
        self._nodes += 1
        if self._depth > MAX_DEPTH:
            raise _error(parent, f"nested deeper than {MAX_DEPTH} levels")
        if self._nodes > self._most:
            if self._most == self._budget.limits.document:
                raise _error(parent, f"document has more than {self._most:,} nodes")
            _placed(parent, self._budget.refuse_nodes)
        if not self._nodes % SLICE:
            _placed(parent, self._budget.look)

    def ascend_resolver(self) -> None:
        self._depth -= 1


class _FlatComposer(_Composer):
    """Counts nothing: for a text that cannot exceed the limits."""

    def descend_resolver(self, parent: Any, index: Any) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


def _is_flat(text: str, budget: SourceBudget) -> bool:
    """Whether a text has too few indicators to exceed the limit on depth, of which each list and
    each mapping has its own, and too few characters to exceed that on nodes.
    """
    if 2 * len(text) > min(budget.nodes_left, _SMALL):
        return False
    found = 0
    for char in text:
        if char in ":-[{?":
            found += 1
    return found < MAX_DEPTH - 1


def compose(text: str, budget: SourceBudget | None = None) -> list[yaml.Node]:
    """Return the root nodes of the documents in ``text``; raises ``YamlError`` and ``OverBudget``.
    The returned nodes are not charged: their size is charged when values are constructed.
    """
    budget = budget or SourceBudget()
    roots: list[yaml.Node] = []
    if text.count("%TAG") > MAX_TAGS:
        raise YamlError(f"more than {MAX_TAGS} %TAG directives", 1, 1)
    try:
        parser = (_FlatComposer if _is_flat(text, budget) else _Composer)(text, budget)
        try:
            while parser.check_node():
                roots.append(cast(yaml.Node, parser.get_node()))
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ": ".join(part for part in (error.context, error.problem) if part)
        place = _place(mark, text)
        began = _place(error.context_mark or mark, text)
        found = explain(text, message, place, began) or UNEXPLAINED
        raise YamlError(message, *(found.place or place), found) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        raise YamlError(
            f"{error.reason}: {error.character!r}",
            before.count("\n") + 1,
            len(before) - before.rfind("\n"),
        ) from None
    if has_other_breaks(text):
        recount(roots, text)
    return roots


def _place(mark: yaml.Mark | None, text: str) -> tuple[int, int]:
    if mark is None:
        return 1, 1
    line, column = counter(text)(mark)
    return line + 1, column + 1


def construct(root: yaml.Node, budget: SourceBudget | None = None) -> Any:
    """Return the plain value of a document: None, bool, int, float, str, list or dict.

    Its size is charged before; raises ``YamlError`` and ``OverBudget``.
    """
    budget = budget or SourceBudget()
    try:
        limits = budget.limits
        most = YamlSize(limits.document, limits.document, MAX_DEPTH)
        size = size_of(root, most, aliases=limits.aliases)
    except OverSize as error:
        raise _error(error.node, str(error)) from None
    _placed(root, partial(budget.add_nodes, size.nodes, size.characters))
    with deep_recursion():  # at most MAX_DEPTH levels
        return _Constructor(budget).build(root)


def _placed(node: yaml.Node | None, charge: Callable[[], None]) -> None:
    """Charge the budget; if that is exceeded, the place is the node's."""
    try:
        charge()
    except OverBudget as error:
        mark = None if node is None else node.start_mark
        error.line, error.column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise


class _Constructor:
    """Builds the value of one node tree, whose size is known to be bounded."""

    def __init__(self, budget: SourceBudget) -> None:
        self._budget = budget
        self._names = budget.names
        self._nodes = 0

    def build(self, node: yaml.Node) -> Any:
        """Return the plain value of ``node``."""
        self._nodes += 1
        if self._nodes % SLICE == 0:
            _placed(node, self._budget.look)  # a call of Python: other threads get their turn
        if isinstance(node, yaml.ScalarNode):
            return _json_number(node, scalar(node)[1])
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item) for item in node.value]
        return self._mapping(node)

    def _mapping(self, node: yaml.Node) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        places: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                message = "a key must be a string, not a list or mapping"
                nested = key_node.flow_style and isinstance(key_node, yaml.MappingNode)
                inner = key_node.value[0][0] if nested and key_node.value else key_node
                text = inner.value if isinstance(inner, yaml.ScalarNode) else ""
                raise _error(key_node, message, template(text) if nested else UNEXPLAINED)
            tag, key = scalar(key_node)
            if tag == MERGE:
                merged.update(self._merged(value_node))
                continue
            name = key if type(key) is str else key_text(key_node, key)
            name = self._names.setdefault(name, name)
            if name in places:
                first = places[name]
                misread = [each.value for each in (key_node, first) if each.value != name]
                what = f"YAML reads {misread[0]} as {name}" if misread else ""
                hint = f"put {misread[0]} in quotes" if misread else duplicate_hint(name, key_node)
                explanation = Explanation(what, hint, (first.start_mark.line + 1,))
                raise _error(key_node, f'duplicate key "{name}"', explanation)
            places[name] = key_node
            own[name] = self.build(value_node)
        return {**merged, **own} if merged else own

    def _merged(self, node: yaml.Node) -> dict[str, Any]:
        """Return the fields that ``<<: node`` adds: of a mapping, or of several; the first wins."""
        value = self.build(node)
        maps = list(reversed(value)) if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in maps):
            raise _error(node, "map merge requires map or sequence of maps as the value")
        return {key: item for each in maps for key, item in each.items()}


def scalar(node: yaml.ScalarNode) -> tuple[str, Any]:
    """Return tag and value of a scalar, as go-yaml v2 resolves it."""
    text, tag = node.value, node.tag
    if tag == "?":
        return _plain(text)
    if tag == BINARY:
        try:
            return STR, base64.b64decode(text, validate=False).decode()
        except ValueError:
            raise _error(node, "!!binary value contains invalid base64 or is not UTF-8") from None
    if not tag or tag == STR or tag not in _RESOLVABLE:
        return STR, text
    found, value = _plain(text)
    if tag == FLOAT and found == INT:
        return FLOAT, float(value)
    if tag not in (found, TIMESTAMP):
        short = tag.replace(_PREFIX, "!!")
        raise _error(node, f"cannot decode {found.replace(_PREFIX, '!!')} `{text}` as a {short}")
    return tag, value


def is_plain_string(text: str) -> bool:
    """Whether a string without quotes is read as a string, not as a number, boolean or null."""
    return _plain(text)[0] == STR


def _plain(text: str) -> tuple[str, Any]:
    word = _WORDS.get(text)
    if word is not None:
        return word
    if text[0] not in _NUMERIC:
        return STR, text
    plain = text if text[0] == "." else text.replace("_", "")
    number = _INTEGER.fullmatch(plain)
    if number is not None and len(number[2].lstrip("0")) <= _MAX_DIGITS:
        value = _integer(number[2])
        value = -value if number[1] == "-" else value
        if -(1 << 63) <= value < (1 << 64):
            return INT, value
    if _FLOAT.fullmatch(plain):
        real = float(plain)
        if math.isfinite(real):
            return FLOAT, real
    return STR, text


def _integer(digits: str) -> int:
    """Parse digits in the base of their prefix: 0x, 0b, 0o, and a bare 0 for octal, as in Go."""
    if digits[0] == "0" and len(digits) > 1 and digits[1].isdigit():
        return int(digits, 8)
    return int(digits, 0)


def _json_number(node: yaml.Node, value: Any) -> Any:
    """Return a number as Kubernetes has it after its conversion to JSON: whole floats are integers,
    and integers beyond 64 signed bits are floats."""
    if type(value) is int and not -(1 << 63) <= value < (1 << 63):
        return float(value)
    if type(value) is float:
        if not math.isfinite(value):
            raise _error(node, f"{node.value} is not a JSON value", _QUOTE)
        if value.is_integer() and -(1 << 63) <= value < (1 << 63):
            return int(value)
    return value


def key_text(node: yaml.Node, key: Any) -> str:
    """Return a mapping key as a string, which JSON needs."""
    if key is None:
        raise _error(node, "a key must not be null", _QUOTE)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(key, format(key, "g"))
    return str(key)


def _error(node: yaml.Node, message: str, explanation: Explanation = UNEXPLAINED) -> YamlError:
    mark = node.start_mark  # compose() has counted it
    return YamlError(message, mark.line + 1, mark.column + 1, explanation)
