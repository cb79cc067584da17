"""``patchesJson6902``: its operations, made lenient as Kyverno applies them, as CEL.

Kyverno makes missing parents of what is added, and ignores that something to remove is missing
(kyverno/kyverno pkg/engine/mutate/patch/patchJSON6902.go; evanphx/json-patch v5/patch.go).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import yaml

from policyd.export.expressions.literals import string_literal
from policyd.importers.jmespath.cel import is_field
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate.pointers import END, PathStep, Pointer
from policyd.importers.kyverno.mutate.texts import cel
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject

# A variable that is a value, without quotes.
_BARE = re.compile(r"(: +)(\{\{[^\n]*\}\})(?= *(?:\n|$))")
_VALUED = ("add", "replace", "test")
_FROM = ("move", "copy")
_MADE_ITEMS = ("0", "-1")  # of an empty list, Kyverno makes these items
_FIELDS = frozenset({"op", "path", "value", "from"})


@dataclass(frozen=True, slots=True)
class LenientOperation:
    """One operation of a JSON Patch; ``value`` and ``from_`` where it has them."""

    op: str
    to: Pointer
    path: str
    value: JSON = None
    from_: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The known facts of the object: fields that it always has, and variables of macros that stand
    for a path.
    """

    scope: Vocabulary
    known: Sequence[tuple[PathStep, ...]] = ()
    named: dict[tuple[PathStep, ...], str] = field(default_factory=dict)

    def always(self, pointer: Pointer) -> bool:
        """Return whether there always is something at a path."""
        steps = pointer.steps
        return any(steps == whole[: len(steps)] for whole in (*self.known, *self.named))

    def presence(self, pointer: Pointer) -> str:
        """Return CEL that is true if there is something at a path."""
        text, taken = "object", 0
        for steps, name in self.named.items():
            if pointer.steps[: len(steps)] == steps and len(steps) > taken:
                text, taken = name, len(steps)
        sure = True
        for at, step in enumerate(pointer.steps[taken:], taken + 1):
            is_last = at == len(pointer.steps)
            if sure and not step.in_list and not step.computed and is_field(step.key):
                if is_last:
                    return f"has({text}.{step.key})"
                if any(pointer.steps[:at] == whole[:at] for whole in self.known):
                    text += f".{step.key}"
                    continue
            if step.is_negative:
                size = f"{text}.size()" if sure else f"{text}.orValue([]).size()"
                text += f"[?{size} - {step.text[1:]}]"
                sure = False
                continue
            if is_last and sure and step.in_list and step.text != END:
                return f"{text}.size() > {step.text}"
            if is_last and sure and not step.in_list:
                return f"{step.literal() if step.computed else string_literal(step.key)} in {text}"
            text += step.access()
            sure = False
        return "true" if sure else f"{text}.hasValue()"


def read_operations(patch: JSON, scope: Vocabulary, path: str) -> list[LenientOperation]:
    """Read a JSON Patch, which Kyverno has as a string of YAML or JSON. Raises Refused."""
    if isinstance(patch, str):  # Kyverno replaces variables before it reads YAML
        patch = _BARE.sub(lambda found: found[1] + "'" + found[2].replace("'", "''") + "'", patch)
    try:
        items = yaml.safe_load(patch) if isinstance(patch, str) else patch
    except yaml.YAMLError:
        raise Refused(path, "the string is no YAML") from None
    if not isinstance(items, list) or not items:
        raise Refused(path, "a list of operations is expected")
    return [_read(each, scope, f"{path}[{at}]") for at, each in enumerate(items)]


def _read(item: JSON, scope: Vocabulary, path: str) -> LenientOperation:
    if not isinstance(item, dict) or not isinstance(item.get("path"), str):
        raise Refused(path, "an operation with op and path is expected")
    if unknown := item.keys() - _FIELDS:
        raise Refused(path, f"`{min(unknown)}` is no field of an operation")
    op = item.get("op")
    if op not in (*_VALUED, *_FROM, "remove"):
        raise Refused(path, f"`{op}` is no operation of a JSON Patch")
    if op in _VALUED and "value" not in item:
        raise Refused(path, f"{op} without a value")
    to = Pointer.read(item["path"], scope, f"{path}.path")
    from_ = None
    if op in _FROM:
        from_ = Pointer.read(str(item.get("from", "")), scope, f"{path}.from")
    return LenientOperation(op, to, path, item.get("value"), from_)


@dataclass(slots=True)
class LenientPatch:
    """Writes operations as CEL of lists of JSONPatch, with what Kyverno adds to them.

    ``texts`` are the lists. Those that make parents and for which ``prelude`` is true are in
    ``before`` instead: a loop makes them once. ``conditional``: a list may be empty; ``count`` is
    the number of operations in ``texts``.
    """

    around: Surroundings
    prelude: Callable[[str], bool] = lambda text: False
    made: set[tuple[PathStep, ...]] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    conditional: bool = False
    count: int = 0

    def add(self, operation: LenientOperation) -> None:
        """Write one operation."""
        to = operation.to
        match operation.op:
            case "remove":
                there, fields = self.around.presence(to), f"op: 'remove', path: {to.text()}"
                if there == "true":
                    self._always(fields)
                else:
                    self._guarded(there, [fields])
            case "move" | "copy":
                assert operation.from_ is not None
                self._parents(to)
                from_ = operation.from_.text()
                self._always(f"op: '{operation.op}', from: {from_}, path: {to.text()}")
            case "add":
                self._parents(to)
                self.set(to, cel(operation.value, self.around.scope, f"{operation.path}.value"))
            case op:
                value = cel(operation.value, self.around.scope, f"{operation.path}.value")
                self._always(f"op: '{op}', path: {to.text()}, value: {value}")

    def set(self, to: Pointer, value: str, unless: str = "") -> None:
        """Write that a value, CEL, is added, unless a condition holds."""
        self._parents(to, unless)
        fields = f"op: 'add', path: {to.text()}, value: {value}"
        if unless:
            self._guarded(unless, [fields], holds=False)
        else:
            self._always(fields)
            self.made.add(to.steps)

    def expression(self) -> str:
        """Return CEL of the whole list."""
        return " + ".join(self.texts)

    def body(self) -> tuple[str, bool]:
        """Return CEL of what a loop yields for an item, and whether that is one operation."""
        if self.count == 1 and not self.conditional:
            return self.texts[0][1:-1], True
        return self.expression(), False

    def _parents(self, to: Pointer, unless: str = "") -> None:
        for size in range(1, len(to.steps)):
            parent = Pointer(to.steps[:size])
            if parent.steps in self.made or self.around.always(parent):
                continue
            empty = "[]" if to.steps[size].in_list else "{}"
            where = parent
            if parent.last.in_list:
                if parent.last.text not in _MADE_ITEMS or self.around.always(parent.parent):
                    continue  # an item of a list that is missing is an error, here as there
                where = parent.parent.below(PathStep(END))
            there = self.around.presence(parent)
            self._guarded(there, [f"op: 'add', path: {where.text()}, value: {empty}"], holds=False)
            self.made.add(parent.steps)

    def _always(self, fields: str) -> None:
        self.count += 1
        if self.texts and self.texts[-1].startswith("[JSONPatch"):
            self.texts[-1] = f"{self.texts[-1][:-1]}, JSONPatch{{{fields}}}]"
        else:
            self.texts.append(f"[JSONPatch{{{fields}}}]")

    def _guarded(self, condition: str, operations: list[str], *, holds: bool = True) -> None:
        made = ", ".join(f"JSONPatch{{{each}}}" for each in operations)
        text = f"({condition} ? [{made}] : [])" if holds else f"({condition} ? [] : [{made}])"
        if not holds and self.prelude(text):
            self.before.append(text)
            return
        self.conditional = True
        self.count += len(operations)
        self.texts.append(text)


def as_overlay(operations: Sequence[LenientOperation]) -> JSONObject | None:
    """Return the tree of fields that a patch sets, so that it can be an overlay; None if it is more
    than that. A list with its new items is a list.
    """
    tree: JSONObject = {}
    for operation in operations:
        to = operation.to
        appends = to.last.text == END and operation.op == "add"
        keys = (to.parent if appends else to).keys()
        if not keys or operation.op not in ("add", "remove"):
            return None
        if not appends and isinstance(operation.value, dict | list):
            return None
        below = tree
        for key in keys[:-1]:
            below = below.setdefault(key, {})
            if not isinstance(below, dict):
                return None
        if appends:
            items = below.setdefault(keys[-1], [])
            if not isinstance(items, list):
                return None
            items.append(operation.value)
        elif keys[-1] in below:
            return None
        else:
            below[keys[-1]] = operation.value
    return tree
