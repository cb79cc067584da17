"""Presence of fields: which fields exist if a condition holds, and which conditions the kind and
operation alone decide. Reads syntax trees; reports nothing.

A place is the path to a value: ``("object", "spec", "nodeName")``. A variable is replaced by its
expression; the elements of a list are at ``(…, "[*]")``.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
EACH = "[*]"
_LONGEST_KEY = 200  # characters; only hostile keys are longer: nesting a[a] doubles the length
_NOBODY: Place = ("@",)
PRESENT = object()  # an unknown value that is not null
_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class Loops:
    """The names that loops and binds introduce: the place of each, and the lists whose element it
    is.
    """

    names: Mapping[str, Place] = field(default_factory=dict)
    elements: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)

    def within(
        self, names: Mapping[str, Place], elements: Mapping[str, tuple[Place, ...]]
    ) -> "Loops":
        """Return these names and more, which shadow the outer ones."""
        return Loops({**self.names, **names}, {**self.elements, **elements})


OUTSIDE = Loops()


@dataclass(frozen=True, slots=True)
class RequestCase:
    """The known facts of a request before evaluation: the expressions of the variables, the values
    of some places, and the places that objects of the kind never have.
    """

    variables: Mapping[str, Checked]
    known: Mapping[Place, object]
    lacks: Callable[[Place], bool]
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def _once(self, key: Hashable, read: Callable[[], Read]) -> Read:
        """Memoize the result for a variable: each variable may use earlier ones many times."""
        if key not in self._memo:
            self._memo[key] = read()
        found: Read = self._memo[key]
        return found

    def variable(self, node: Expr, loops: Loops) -> Checked | None:
        """Return the expression of ``variables.NAME``; None for any other node."""
        if (
            isinstance(node, Select)
            and isinstance(node.operand, Ident)
            and node.operand.name == "variables"
            and "variables" not in loops.names
        ):
            return self.variables.get(node.field)
        return None

    def place(self, node: Expr, loops: Loops = OUTSIDE) -> Place | None:
        """Return the place that a value is read from; None if the expression builds the value."""
        variable = self.variable(node, loops)
        if variable is not None:
            return self._once(("place", id(variable)), lambda: self.place(variable.expr))
        match node:
            case Ident():
                return loops.names.get(node.name, (node.name,))
            case Select():
                return below(self.place(node.operand, loops), node.field)
            case Call(function="_[_]" | "_?._" | "_[?_]", args=(of, key)):
                return below(self.place(of, loops), self.key(key, loops))
            case Call(function="value" | "orValue", target=Expr() as target):
                return self.place(target, loops)
            case Call(function="dyn", args=(value,)):
                return self.place(value, loops)
        return None

    def key(self, key: Expr, loops: Loops) -> str | None:
        """Return the step of a place that an index or key is."""
        if isinstance(key, Literal):
            return str(key.value)
        place = self.place(key, loops)
        text = "" if place is None else f"[{'.'.join(place)}]"
        return text if 0 < len(text) <= _LONGEST_KEY else None

    def holding(self, node: Expr, truth: bool, loops: Loops = OUTSIDE) -> Places:
        """Return the places that exist if a condition has this outcome."""
        variable = self.variable(node, loops)
        if variable is not None:
            known = ("holding", id(variable), truth)
            return self._once(known, lambda: self.holding(variable.expr, truth))
        match node:
            case Select(test_only=True):
                return with_above(self.place(node, loops)) if truth else NONE
            case Call(function="!_", args=(inner,)):
                return self.holding(inner, not truth, loops)
            case Call(function="_&&_" | "_||_", args=(left, right)):
                both = (node.function == "_&&_") is truth
                return self._joined(left, right, truth, loops, both=both)
            case Call(function="_?_:_", args=(condition, then, other)):
                return self._of_choice(condition, then, other, truth, loops)
            case Call(function="@in", args=(key, of)):
                name = self.key(key, loops)
                return with_above(below(self.place(of, loops), name)) if truth else NONE
            case Call(function="hasValue", target=Expr() as target):
                return with_above(self.place(target, loops)) if truth else NONE
            case Call(function="orValue", target=Expr() as target, args=(Literal() as default,)):
                return with_above(self.place(target, loops)) if default.value is not truth else NONE
            case Call(args=(left, right)):
                return self._of_comparison(node.function, left, right, truth, loops)
            case Comprehension(macro="all" | "exists"):
                return self._of_loop(node, truth, loops)
        return NONE

    def _joined(self, left: Expr, right: Expr, truth: bool, loops: Loops, *, both: bool) -> Places:
        one, other = self.holding(left, truth, loops), self.holding(right, truth, loops)
        if both:
            return one | other
        # One side suffices: a side with the opposite outcome cannot be that side.
        if self.decide(left, loops) is (not truth):
            return other
        if self.decide(right, loops) is (not truth):
            return one
        return one & other

    def _of_choice(
        self, condition: Expr, then: Expr, other: Expr, truth: bool, loops: Loops
    ) -> Places:
        ways = []
        for branch, outcome in ((then, True), (other, False)):
            settled = self.decide(branch, loops), self.decide(condition, loops)
            if settled[0] is not (not truth) and settled[1] is not (not outcome):
                ways.append(
                    self.holding(condition, outcome, loops) | self.holding(branch, truth, loops)
                )
        return frozenset.intersection(*ways) if ways else NONE

    def _of_comparison(
        self, function: str, left: Expr, right: Expr, truth: bool, loops: Loops
    ) -> Places:
        """Return the places that exist if ``a.?b.orValue(x) == y`` has this outcome.

        They exist if the default ``x`` would give the other outcome. A value that is not null
        exists.
        """
        if isinstance(left, Literal | ListExpr) and function in ("_==_", "_!=_"):
            left, right = right, left
        if function in ("_==_", "_!=_") and is_null(right):
            place = self.place(left, loops)
            if place is None or truth is (function == "_==_"):
                return NONE
            with_default = default_in(left)
            exists = with_default is None or with_default[1] == "null"
            return (with_above(place) if exists else NONE) | {(*place, NOT_NULL)}
        if function in ("_==_", "_!=_") and is_bool(right):
            outcome = (unparse(right) == "true") is (truth is (function == "_==_"))
            return self.holding(left, outcome, loops)
        if function in ("_==_", "_!=_") and isinstance(right, Call):
            filled = {"optional.of": True, "optional.none": False}.get(right.function)
            equal = truth is (function == "_==_")
            return with_above(self.place(left, loops)) if filled is equal else NONE
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
        return with_above(self.place(target, loops)) if absent is not truth else NONE

    def _of_loop(self, node: Comprehension, truth: bool, loops: Loops) -> Places:
        """Return the places that exist if ``exists`` or ``all`` has this outcome.

        A true ``exists`` and a false ``all`` have an element; a false ``exists`` and a true ``all``
        decide the condition for every element.
        """
        if not isinstance(node.loop_step, Call):
            return NONE
        if (node.macro == "exists") is truth:
            inside = self.within(node.iter_range, _NOBODY, loops)
            over = self.place(node.iter_range, loops)
            keys = keys_in(node.loop_step.args[1], node.iter_var, truth)
            return frozenset(each for each in inside if each[0] != _NOBODY[0]).union(
                *(with_above(below(over, key)) for key in keys)
            )
        name = node.iter_var2 or node.iter_var
        here = (f"@each{node.id}",)
        held = self.holding(node.loop_step.args[1], truth, loops.within({name: here}, {}))
        sources = self.sources(node.iter_range, loops, whole=True)
        return frozenset(
            (*source, *place[1:]) for place in held if place[0] == here[0] for source in sources
        )

    def sources(self, node: Expr, loops: Loops, *, whole: bool = False) -> tuple[Place, ...]:
        """Return the places of the elements of a list; none if they are unknown.

        ``whole``: only if the list has all elements of its sources, so no filter.
        """
        variable = self.variable(node, loops)
        if variable is not None:
            key = ("sources", id(variable), whole)
            return self._once(key, lambda: self.sources(variable.expr, OUTSIDE, whole=whole))
        match node:
            case (
                Call(function="_+_", args=(left, right))
                | Call(function="_?_:_", args=(_, left, right))
            ):
                if is_empty(left) or is_empty(right):
                    return self.sources(right if is_empty(left) else left, loops, whole=whole)
                one = self.sources(left, loops, whole=whole)
                other = self.sources(right, loops, whole=whole)
                return tuple(dict.fromkeys((*one, *other))) if one and other else ()
            case Comprehension(macro="filter"):
                return () if whole else self.sources(node.iter_range, loops)
        place = self.place(node, loops)
        return () if place is None else ((*place, EACH),)

    def within(self, node: Expr, name: Place, loops: Loops) -> Places:
        """Return the places that exist if a list has an element, whose place is ``name``.

        They are the places that the list's filters check, and the field that the list is read from.
        """
        variable = self.variable(node, loops)
        if variable is not None:
            key = ("within", id(variable), name)
            return self._once(key, lambda: self.within(variable.expr, name, OUTSIDE))
        match node:
            case Call(function="_+_", args=(left, right)):
                if is_empty(left) or is_empty(right):
                    return self.within(right if is_empty(left) else left, name, loops)
                return self.within(left, name, loops) & self.within(right, name, loops)
            case Call(function="_?_:_", args=(condition, then, other)):
                ways = [
                    self.holding(condition, outcome, loops) | self.within(branch, name, loops)
                    for branch, outcome in ((then, True), (other, False))
                    if not is_empty(branch)
                ]
                return frozenset.intersection(*ways) if ways else NONE
            case Comprehension(macro="filter", loop_step=Call(args=(condition, *_))):
                inner = loops.within({node.iter_var: name}, {})
                above = self.within(node.iter_range, name, loops)
                return above | self.holding(condition, True, inner)
        found = default_in(node)
        return with_above(self.place(found[0], loops)) if found and found[1] in EMPTY else NONE

    def decide(self, node: Expr, loops: Loops = OUTSIDE) -> bool | None:
        """Return the outcome of a condition if the kind and operation decide it, else None."""
        variable = self.variable(node, loops)
        if variable is not None:
            return self._once(("decide", id(variable)), lambda: self.decide(variable.expr))
        match node:
            case Literal(value=bool() as value):
                return value
            case Select(test_only=True):
                return False if self._is_lacking(node, loops) else None
            case Call(function="hasValue", target=Expr() as target):
                return False if self._is_lacking(target, loops) else None
            case Call(function="orValue", args=(Literal(value=bool() as value),)):
                return value if self._is_lacking(node, loops) else None
            case Call(function="!_", args=(inner,)):
                outcome = self.decide(inner, loops)
                return None if outcome is None else not outcome
            case Call(function="_&&_" | "_||_", args=(left, right)):
                ends = node.function == "_||_"
                outcomes = {self.decide(left, loops), self.decide(right, loops)}
                return ends if ends in outcomes else None if None in outcomes else not ends
            case Call(function="_?_:_", args=(condition, then, other)):
                outcome = self.decide(condition, loops)
                if outcome is None:
                    return None
                return self.decide(then if outcome else other, loops)
            case Call(function="_==_" | "_!=_" | "@in", args=(left, right)):
                return self._compare(node.function, left, right, loops)
        return None

    def _compare(self, function: str, left: Expr, right: Expr, loops: Loops) -> bool | None:
        one = self._value(left, loops)
        if function == "@in":
            if not isinstance(right, ListExpr):
                return None
            others = [self._value(each, loops) for each in right.elements]
        else:
            others = [self._value(right, loops)]
        if _UNKNOWN in (one, *others) or (PRESENT in (one, *others) and None not in (one, *others)):
            return None
        return (one in others) is (function != "_!=_")

    def _is_lacking(self, node: Expr, loops: Loops) -> bool:
        place = self.place(node, loops)
        return place is not None and self.lacks(place)

    def _value(self, node: Expr, loops: Loops) -> object:
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Call) and node.function == "orValue" and self._is_lacking(node, loops):
            return self._value(node.args[0], loops)
        place = self.place(node, loops)
        return self.known.get(place, _UNKNOWN) if place is not None else _UNKNOWN
