"""Presence of fields: which fields exist if a condition holds, and which conditions the kind and
operation alone decide. Reads syntax trees; reports nothing.

A place is the path to a value: ``("object", "spec", "nodeName")``. A variable is replaced by its
expression; the elements of a list are at ``(…, "[*]")``.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from policyd.cel.syntax.ast import (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
)
from policyd.cel.syntax.unparse import unparse
from policyd.policy.lint.guards.forms import (
    EMPTY,
    NONE,
    NOT_NULL,
    RELATIONS,
    Place,
    Places,
    below,
    default_in,
    is_bool,
    is_empty,
    is_null,
    keys_in,
    with_above,
)

Read = TypeVar("Read")
About = ParamSpec("About")
EACH = "[*]"
_LONGEST_KEY = 200  # characters; only hostile keys are longer: nesting a[a] doubles the length
_NOBODY: Place = ("@",)
PRESENT = object()  # an unknown value that is not null
_UNKNOWN = object()
_NO_ELEMENTS: Mapping[str, tuple[Place, ...]] = {}


def _through_variables(
    read: Callable[Concatenate["RequestCase", Expr, About], Read],
) -> Callable[Concatenate["RequestCase", Expr, About], Read]:
    """Return a function that reads the expression of a variable in place of its name, and once:
    each variable may use earlier ones many times.
    """

    @wraps(read)
    def follow(
        case: "RequestCase", node: Expr, /, *about: About.args, **options: About.kwargs
    ) -> Read:
        variable = case.variable(node)
        if variable is None:
            return read(case, node, *about, **options)
        key = (read.__name__, id(variable), *about, *options.values())
        if key not in case.memo:
            case.memo[key] = follow(case.outside, variable.expr, *about, **options)
        found: Read = case.memo[key]
        return found

    return follow


@dataclass(frozen=True, slots=True)
class RequestCase:
    """The known facts of a request before evaluation: the expressions of the variables, the values
    of some places, and the places that objects of the kind never have.

    ``names`` are those that loops and binds introduce around an expression: the place of each.
    ``elements`` are the lists whose elements such places are.
    """

    variables: Mapping[str, Checked]
    known: Mapping[Place, object]
    lacks: Callable[[Place], bool]
    names: Mapping[str, Place] = field(default_factory=dict)
    elements: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def outside(self) -> "RequestCase":
        """Return the case outside of all loops."""
        return replace(self, names={}, elements={}) if self.names else self

    def inside(
        self, names: Mapping[str, Place], elements: Mapping[str, tuple[Place, ...]] = _NO_ELEMENTS
    ) -> "RequestCase":
        """Return the case inside of a loop, whose names shadow the outer ones."""
        return replace(self, names={**self.names, **names}, elements={**self.elements, **elements})

    def whole(self, place: Place) -> list[Place]:
        """Return a place with the lists of its loop variable: one for each list."""
        return [(*source, *place[1:]) for source in self.elements.get(place[0], ())] or [place]

    def is_made(self, name: str) -> bool:
        """Whether a loop variable iterates over a list (of lists) that the expression builds."""
        sources = self.elements.get(name, ())
        return name.startswith("@") and all(self.is_made(source[0]) for source in sources)

    def variable(self, node: Expr) -> Checked | None:
        """Return the expression of ``variables.NAME``; None for any other node."""
        if (
            isinstance(node, Select)
            and isinstance(node.operand, Ident)
            and node.operand.name == "variables"
            and "variables" not in self.names
        ):
            return self.variables.get(node.field)
        return None

    @_through_variables
    def place(self, node: Expr) -> Place | None:
        """Return the place that a value is read from; None if the expression builds the value."""
        match node:
            case Ident():
                return self.names.get(node.name, (node.name,))
            case Select():
                return below(self.place(node.operand), node.field)
            case Call(function="_[_]" | "_?._" | "_[?_]", args=(of, key)):
                return below(self.place(of), self.key(key))
            case Call(function="value" | "orValue", target=Expr() as target):
                return self.place(target)
            case Call(function="dyn", args=(value,)):
                return self.place(value)
        return None

    def key(self, key: Expr) -> str | None:
        """Return the step of a place that an index or key is."""
        if isinstance(key, Literal):
            return str(key.value)
        place = self.place(key)
        text = "" if place is None else f"[{'.'.join(place)}]"
        return text if 0 < len(text) <= _LONGEST_KEY else None

    @_through_variables
    def holding(self, node: Expr, truth: bool) -> Places:
        """Return the places that exist if a condition has this outcome."""
        match node:
            case Select(test_only=True):
                return with_above(self.place(node)) if truth else NONE
            case Call(function="!_", args=(inner,)):
                return self.holding(inner, not truth)
            case Call(function="_&&_" | "_||_", args=(left, right)):
                both = (node.function == "_&&_") is truth
                return self._joined(left, right, truth, both=both)
            case Call(function="_?_:_", args=(condition, then, other)):
                return self._of_choice(condition, then, other, truth)
            case Call(function="@in", args=(key, of)):
                name = self.key(key)
                return with_above(below(self.place(of), name)) if truth else NONE
            case Call(function="hasValue", target=Expr() as target):
                return with_above(self.place(target)) if truth else NONE
            case Call(function="orValue", target=Expr() as target, args=(Literal() as default,)):
                return with_above(self.place(target)) if default.value is not truth else NONE
            case Call(args=(left, right)):
                return self._of_comparison(node.function, left, right, truth)
            case Comprehension(macro="all" | "exists"):
                return self._of_loop(node, truth)
        return NONE

    def _joined(self, left: Expr, right: Expr, truth: bool, *, both: bool) -> Places:
        one, other = self.holding(left, truth), self.holding(right, truth)
        if both:
            return one | other
        # One side suffices: a side with the opposite outcome cannot be that side.
        if self.decide(left) is (not truth):
            return other
        if self.decide(right) is (not truth):
            return one
        return one & other

    def _of_choice(self, condition: Expr, then: Expr, other: Expr, truth: bool) -> Places:
        ways = []
        for branch, outcome in ((then, True), (other, False)):
            settled = self.decide(branch), self.decide(condition)
            if settled[0] is not (not truth) and settled[1] is not (not outcome):
                ways.append(self.holding(condition, outcome) | self.holding(branch, truth))
        return frozenset.intersection(*ways) if ways else NONE

    def _of_comparison(self, function: str, left: Expr, right: Expr, truth: bool) -> Places:
        """Return the places that exist if ``a.?b.orValue(x) == y`` has this outcome.

        They exist if the default ``x`` would give the other outcome. A value that is not null
        exists.
        """
        if isinstance(left, Literal | ListExpr) and function in ("_==_", "_!=_"):
            left, right = right, left
        if function in ("_==_", "_!=_") and is_null(right):
            place = self.place(left)
            if place is None or truth is (function == "_==_"):
                return NONE
            with_default = default_in(left)
            exists = with_default is None or with_default[1] == "null"
            return (with_above(place) if exists else NONE) | {(*place, NOT_NULL)}
        if function in ("_==_", "_!=_") and is_bool(right):
            outcome = (unparse(right) == "true") is (truth is (function == "_==_"))
            return self.holding(left, outcome)
        if function in ("_==_", "_!=_") and isinstance(right, Call):
            filled = {"optional.of": True, "optional.none": False}.get(right.function)
            equal = truth is (function == "_==_")
            return with_above(self.place(left)) if filled is equal else NONE
        found = default_in(left)
        if found is None or not isinstance(right, Literal | ListExpr | MapExpr):
            return NONE
        target, default = found
        if isinstance(default, int | float):
            number = right.value if isinstance(right, Literal) else None
            if function not in RELATIONS or not isinstance(number, int | float):
                return NONE
            absent = RELATIONS[function](default, number)
        elif function in ("_==_", "_!=_"):
            absent = (default == unparse(right)) is (function == "_==_")
        else:
            return NONE
        return with_above(self.place(target)) if absent is not truth else NONE

    def _of_loop(self, node: Comprehension, truth: bool) -> Places:
        """Return the places that exist if ``exists`` or ``all`` has this outcome.

        A true ``exists`` and a false ``all`` have an element; a false ``exists`` and a true ``all``
        decide the condition for every element.
        """
        if not isinstance(node.loop_step, Call):
            return NONE
        if (node.macro == "exists") is truth:
            inside = self.within(node.iter_range, _NOBODY)
            over = self.place(node.iter_range)
            keys = keys_in(node.loop_step.args[1], node.iter_var, truth)
            return frozenset(each for each in inside if each[0] != _NOBODY[0]).union(
                *(with_above(below(over, key)) for key in keys)
            )
        name = node.iter_var2 or node.iter_var
        here = (f"@each{node.id}",)
        held = self.inside({name: here}).holding(node.loop_step.args[1], truth)
        sources = self.sources(node.iter_range, whole=True)
        return frozenset(
            (*source, *place[1:]) for place in held if place[0] == here[0] for source in sources
        )

    @_through_variables
    def sources(self, node: Expr, *, whole: bool = False) -> tuple[Place, ...]:
        """Return the places of the elements of a list; none if they are unknown.

        ``whole``: only if the list has all elements of its sources, so no filter.
        """
        match node:
            case (
                Call(function="_+_", args=(left, right))
                | Call(function="_?_:_", args=(_, left, right))
            ):
                if is_empty(left) or is_empty(right):
                    return self.sources(right if is_empty(left) else left, whole=whole)
                one = self.sources(left, whole=whole)
                other = self.sources(right, whole=whole)
                return tuple(dict.fromkeys((*one, *other))) if one and other else ()
            case Comprehension(macro="filter"):
                return () if whole else self.sources(node.iter_range)
        place = self.place(node)
        return () if place is None else ((*place, EACH),)

    @_through_variables
    def within(self, node: Expr, name: Place) -> Places:
        """Return the places that exist if a list has an element, whose place is ``name``.

        They are the places that the list's filters check, and the field that the list is read from.
        """
        match node:
            case Call(function="_+_", args=(left, right)):
                if is_empty(left) or is_empty(right):
                    return self.within(right if is_empty(left) else left, name)
                return self.within(left, name) & self.within(right, name)
            case Call(function="_?_:_", args=(condition, then, other)):
                ways = [
                    self.holding(condition, outcome) | self.within(branch, name)
                    for branch, outcome in ((then, True), (other, False))
                    if not is_empty(branch)
                ]
                return frozenset.intersection(*ways) if ways else NONE
            case Comprehension(macro="filter", loop_step=Call(args=(condition, *_))):
                inner = self.inside({node.iter_var: name})
                above = self.within(node.iter_range, name)
                return above | inner.holding(condition, True)
        found = default_in(node)
        return with_above(self.place(found[0])) if found and found[1] in EMPTY else NONE

    @_through_variables
    def decide(self, node: Expr) -> bool | None:
        """Return the outcome of a condition if the kind and operation decide it, else None."""
        match node:
            case Literal(value=bool() as value):
                return value
            case Select(test_only=True):
                return False if self._is_lacking(node) else None
            case Call(function="hasValue", target=Expr() as target):
                return False if self._is_lacking(target) else None
            case Call(function="orValue", args=(Literal(value=bool() as value),)):
                return value if self._is_lacking(node) else None
            case Call(function="!_", args=(inner,)):
                outcome = self.decide(inner)
                return None if outcome is None else not outcome
            case Call(function="_&&_" | "_||_", args=(left, right)):
                ends = node.function == "_||_"
                outcomes = {self.decide(left), self.decide(right)}
                return ends if ends in outcomes else None if None in outcomes else not ends
            case Call(function="_?_:_", args=(condition, then, other)):
                outcome = self.decide(condition)
                if outcome is None:
                    return None
                return self.decide(then if outcome else other)
            case Call(function="_==_" | "_!=_" | "@in", args=(left, right)):
                return self._compare(node.function, left, right)
        return None

    def _compare(self, function: str, left: Expr, right: Expr) -> bool | None:
        one = self._value(left)
        if function == "@in":
            if not isinstance(right, ListExpr):
                return None
            others = [self._value(each) for each in right.elements]
        else:
            others = [self._value(right)]
        if _UNKNOWN in (one, *others) or (PRESENT in (one, *others) and None not in (one, *others)):
            return None
        return (one in others) is (function != "_!=_")

    def _is_lacking(self, node: Expr) -> bool:
        place = self.place(node)
        return place is not None and self.lacks(place)

    def _value(self, node: Expr) -> object:
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Call) and node.function == "orValue" and self._is_lacking(node):
            return self._value(node.args[0])
        place = self.place(node)
        return self.known.get(place, _UNKNOWN) if place is not None else _UNKNOWN
