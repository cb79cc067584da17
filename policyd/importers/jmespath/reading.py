"""From the syntax tree of an expression to its value in CEL.

Null in JMESPath is a value that is missing. As in Kyverno, a path to a field that is not
there is an error, which becomes an error of CEL; `||`, projections and conditions make null of it
(kyverno/kyverno pkg/engine/jmespath/interpreter.go).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jmespath.exceptions
import jmespath.parser

from policyd.export.expressions.cel import SUM, TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, literal, negated, quoted, some, variable
from policyd.importers.jmespath.functions import called
from policyd.importers.jmespath.functions.scalars import joined
from policyd.importers.jmespath.images import ContainerImages
from policyd.importers.jmespath.kinds import (
    ANY,
    BOOL,
    LIST,
    MAP,
    SCALARS,
    JsonKind,
    kind_of,
    kind_of_field,
)
from policyd.importers.jmespath.streams import CelList, Generator
from policyd.importers.jmespath.terms import (
    CelTerm,
    Either,
    Several,
    both,
    equality,
    first_of,
    single,
    truth,
)
from policyd.importers.jmespath.values import EACH, CelValue, Constant, Nulls
from policyd.importers.jmespath.vocabulary import (
    NotTranslatable,
    Vocabulary,
    is_value,
    split_inner,
)

_Node = dict[str, Any]


def constant(value: object) -> Constant:
    """Return a value that is written in the expression."""
    return Constant(Cel(literal(value)), kind_of(value), nullable=value is None, constant=value)


def read(
    expression: str,
    scope: Vocabulary,
    inner: Mapping[str, CelTerm] | None = None,
    current: CelTerm | None = None,
) -> CelTerm:
    """Return the value of an expression. ``inner`` are values of variables inside of it, by the
    names that stand for them. ``current`` is the value that it is evaluated on; by default,
    everything with a name.

    Raises NotTranslatable.
    """
    try:
        tree = jmespath.parser.Parser().parse(expression).parsed
    except (jmespath.exceptions.JMESPathError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NotTranslatable(f"`{expression}` is no JMESPath: {why}") from None
    return _Reader(scope, inner or {}).term(tree, current)


@dataclass(frozen=True, slots=True)
class _Path:
    # The beginning of an expression that has no meaning yet, such as `request`.
    name: str


@dataclass(frozen=True, slots=True)
class _Reader:
    scope: Vocabulary
    inner: Mapping[str, CelTerm]

    def term(self, node: _Node, current: CelTerm | None) -> CelTerm:
        """Return the value of a node; ``current`` is None at the root of the data."""
        found = self._found(node, current)
        if isinstance(found, _Path):
            raise NotTranslatable(f"`{found.name}` as a whole is not available")
        return found

    def _found(self, node: _Node, current: CelTerm | None) -> CelTerm | _Path:
        match node["type"]:
            case "field":
                return self._field(node["value"], current)
            case "subexpression" | "index_expression":
                return self._chain(node["children"], current)
            case "pipe":
                left, right = node["children"]
                return self.term(right, self.term(left, current))
            case "literal":
                return self._literal(node["value"])
            case "current" | "identity":
                return self._current(current)
            case "index":
                return self._indexed(self._current(current), node["value"])
            case "function_expression":
                return self._called(node["value"], node["children"], current)
            case _:
                return self._compound(node, current)

    def _compound(self, node: _Node, current: CelTerm | None) -> CelTerm:
        children = node["children"]
        match node["type"]:
            case "flatten":
                return self._flattened(self.term(children[0], current))
            case "projection" | "filter_projection" | "value_projection":
                return self._projected(node, current)
            case "or_expression":
                return first_of(self.term(children[0], current), self.term(children[1], current))
            case "not_expression" | "comparator":
                return CelValue(self.condition(node, current), BOOL)
            case "and_expression":
                return both(*(self.term(each, current) for each in children))
            case "multi_select_list":
                return listed([self.term(each, current) for each in children])
            case "multi_select_dict":
                return self._mapped(children, current)
            case other:
                raise NotTranslatable(f"JMESPath's {other.replace('_', ' ')} is not supported")

    def _current(self, current: CelTerm | None) -> CelTerm:
        if current is None:
            raise NotTranslatable("`@` as the whole of Kyverno's variables is not available")
        return current

    def _literal(self, value: object) -> CelTerm:
        parts = split_inner(value, self.inner) if isinstance(value, str) else []
        if any(not isinstance(each, str) for each in parts):
            return joined(parts)
        return constant(value)

    def _indexed(self, whole: CelTerm, index: int) -> CelTerm:
        if isinstance(whole, CelList):
            whole = replace(whole, needs=TRUE)
        return single(whole).at(index, whole.kind.items)

    def _called(self, name: str, children: list[_Node], current: CelTerm | None) -> CelTerm:
        if any(each["type"] == "expref" for each in children):
            raise NotTranslatable(f"`{name}()` of an expression (`&`) has no counterpart")
        return called(name, [self.term(each, current) for each in children], self.scope.taken)

    # Names

    def _field(self, name: str, current: CelTerm | None) -> CelTerm | _Path:
        if current is None or (name in self.inner and is_value(name)):
            return self._named(name)
        parts = split_inner(name, self.inner)
        if name in self.inner:
            parts = [self.inner[name]]
        if len(parts) > 1 or (parts and not isinstance(parts[0], str)):
            whole = single(current)
            return whole.at(joined(parts).cel(), kind_of_field("", whole.name))
        if isinstance(current, CelList):
            return Constant(Cel("null"), nullable=True)
        return select(single(current), name)

    def _named(self, name: str) -> CelTerm | _Path:
        if name == "images" and "request.object" in self.scope.meanings:
            return _Path(name)
        if name == "":
            # `""` is a field without a name, which nothing has.
            return constant(None)
        if name in self.inner:
            return self.inner[name]
        return self._known(name)

    def _known(self, name: str) -> CelTerm | _Path:
        meaning = self.scope.meaning(name)
        if meaning is not None:
            return meaning
        if self.scope.begins(name):
            return _Path(name)
        raise NotTranslatable(f"`{name}` is not defined here")

    def _chain(self, children: list[_Node], current: CelTerm | None) -> CelTerm | _Path:
        found = self._found(children[0], current)
        for child in children[1:]:
            if isinstance(found, _Path):
                found = self._longer(found, child)
            else:
                found = self._below(found, child)
        return found

    def _longer(self, path: _Path, child: _Node) -> CelTerm | _Path:
        if child["type"] != "field":
            raise NotTranslatable(f"`{path.name}` as a whole is not available")
        if path.name == "images":
            return self._images(child["value"])
        return self._known(f"{path.name}.{child['value']}")

    def _images(self, name: str) -> CelTerm:
        found = single(self.scope.meanings["request.object"]).select("spec").select(name)
        return ContainerImages(found.base, LIST, found.steps, found.needs, name=name)

    def _below(self, left: CelTerm, child: _Node) -> CelTerm:
        found = self.term(child, left)
        if child["type"] in ("field", "index"):
            return found
        # Unlike after a pipe, a function is not called for what is missing.
        if isinstance(found, Either):
            return found
        return replace(found, needs=every(left.presence(), found.needs))

    # Projections

    def _flattened(self, whole: CelTerm) -> CelTerm:
        if isinstance(whole, CelList):
            return self._spliced(whole)
        if isinstance(whole, Several):
            return replace(over(whole.concatenated(), self.scope.taken), needs=whole.needs)
        if whole.kind.name in SCALARS:
            return constant(None)
        return over(single(whole), self.scope.taken)

    def _spliced(self, stream: CelList) -> CelList:
        element = stream.element
        if isinstance(element, CelList):
            generators = (*stream.generators, *element.generators)
            return CelList(generators, element.element, stream.needs)
        if element.kind.name in ("string", "number", "bool", "map"):
            return stream
        inner = over(element, self.scope.taken | stream.variables)
        return CelList((*stream.generators, *inner.generators), inner.element, stream.needs)

    def _projected(self, node: _Node, current: CelTerm | None) -> CelTerm:
        left, right, *condition = node["children"]
        whole = self.term(left, current)
        if whole.kind.name in SCALARS:
            return constant(None)
        if isinstance(whole, ContainerImages):
            stream = whole.each(self.scope.taken)
        elif node["type"] == "value_projection":
            stream = over(single(whole), self.scope.taken, values=True)
        elif isinstance(whole, CelList):
            stream = whole
        elif left["type"] == "slice":
            raise NotTranslatable("slices are not supported")
        else:
            stream = over(single(whole), self.scope.taken)
        inside = replace(self, scope=self.scope.inside(*stream.variables))
        if condition:
            stream = inside.filtered(stream, condition[0])
        element = inside.term(right, stream.element)
        return replace(stream, element=single(element) if isinstance(element, Either) else element)

    def filtered(self, stream: CelList, condition: _Node) -> CelList:
        """Return the elements of a list for which a condition holds."""
        *outer, last = stream.generators
        holds = self.condition(condition, stream.element)
        conditions = (*last.conditions, stream.element.presence(), holds)
        return replace(stream, generators=(*outer, replace(last, conditions=conditions)))

    # Conditions

    def condition(self, node: _Node, current: CelTerm | None) -> Cel:
        """Return CEL that is true where the value of a node is not false, null or empty."""
        children = node["children"]
        match node["type"]:
            case "and_expression":
                return every(*[self.condition(each, current) for each in children])
            case "or_expression":
                return some(*[self.condition(each, current) for each in children])
            case "not_expression":
                return negated(self.condition(children[0], current))
            case "comparator":
                left, right = (self.term(each, current) for each in children)
                return compared(node["value"], left, right)
            case _:
                return truth(self.term(node, current))

    # Selections

    def _mapped(self, children: list[_Node], current: CelTerm | None) -> CelTerm:
        pairs, names = [], []
        for each in children:
            name, (node,) = each["value"], each["children"]
            if node["type"] == "field" and node["value"] == "null":
                names.append(name)
            else:
                value = self.term(node, current)
                pairs.append(f"{quoted(name)}: dyn({value.or_value('null')})")
        if names and not pairs:
            text = ", ".join(f"{quoted(each)}: null" for each in names)
            return Nulls(Cel(f"{{{text}}}"), MAP, names=tuple(names))
        pairs += [f"{quoted(each)}: dyn(null)" for each in names]
        return CelValue(Cel(f"{{{', '.join(pairs)}}}"), MAP)


def over(source: CelValue, taken: frozenset[str], *, values: bool = False) -> CelList:
    """Return the items of a list, or the ``values`` of a map. ``taken`` are variables around."""
    name = variable("values" if values else source.name, taken)
    key = variable("keys", taken) if values else None
    present = frozenset(each.removeprefix(EACH) for each in source.present if each.startswith(EACH))
    item = CelValue(Cel(name), source.kind.items, present=present, name=source.name)
    return CelList((Generator(name, source, key=key),), item, source.presence())


def listed(terms: Sequence[CelTerm]) -> Several:
    """Return a list of these items; what is missing is null."""
    kinds = {each.kind for each in terms}
    kind = JsonKind("list", kinds.pop() if len(kinds) == 1 else ANY)
    texts = [each.or_value("null") for each in terms]
    # Numbers of `to_number` are doubles, written ones integers.
    if (
        len({(each.kind.name, "double(" in text) for each, text in zip(terms, texts, strict=True)})
        > 1
    ):
        texts = [f"dyn({each})" for each in texts]
    return Several(Cel(f"[{', '.join(texts)}]"), kind, parts=tuple(terms))


def select(value: CelValue, name: str) -> CelValue:
    """Return a field of a value; what is no map has none."""
    if value.kind.name in SCALARS or value.kind.name == "list":
        return constant(None)
    return value.select(name, kind_of_field(name, value.name))


def compared(operator: str, left: CelTerm, right: CelTerm) -> Cel:
    """Return a comparison; other than for equality, only numbers are compared."""
    match operator:
        case "eq":
            return equality(left, right)
        case "ne":
            return negated(equality(left, right))
    signs = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
    compared = relation(left.text(SUM), signs[operator], right.text(SUM))
    return every(left.presence(), right.presence(), compared)
