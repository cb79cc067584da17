"""Turn the records of a traced evaluation into a tree of steps for users: the informative parts of
the expression, with source and value. Prints nothing.

Literals and constants are left out. A chain of selects is one step with its final value; if it
ended in an error, the part that failed is below it. A chain of ``&&`` is one step with its terms,
a macro is one step with a step for each recorded round.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf

from policyd._core.eval.tracing import Record, Round
from policyd._core.values.errors import CelError
from policyd._core.values.types import MISSING, Optional
from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.syntax.unparse import unparse
from policyd.cel.trace.tracing import TracedExpression

_LOGIC = ("_&&_", "_||_")
_INDEXES = ("_[_]", "_[?_]", "_?._")


@dataclass(frozen=True, slots=True)
class Step:
    """A part of an expression, or one round of a macro (``round``: the text is its variables).

    ``value`` is a CEL value or a CelError; for a round, that of its variable, or of both in a list.
    ``state``: ``skipped`` was not evaluated, ``cut`` was ended by a limit. ``deciding``: among its
    siblings, this one determined the value of the parent. ``hidden`` counts the rounds that were
    not recorded; ``number`` counts those of a macro from 0. ``pos`` is the offset in the whole
    expression, ``fault`` that of the first part of a chain that led nowhere.
    """

    text: str
    value: object = None
    state: OneOf["done", "skipped", "cut"] = "done"
    cost: int = 0
    round: bool = False
    deciding: bool = False
    hidden: int = 0
    children: tuple["Step", ...] = ()
    pos: int = 0
    number: int = 0
    fault: int = 0

    @property
    def failed(self) -> bool:
        """Return whether the value is an error."""
        return isinstance(self.value, CelError)


@dataclass(frozen=True, slots=True)
class Steps:
    """One evaluation of one expression; ``variables`` are those that it was the first to use."""

    label: str
    text: str
    root: Step
    variables: tuple[tuple[str, Step], ...] = ()


def steps(record: Record) -> Steps:
    """Return the tree of a record without a parent."""
    expression: TracedExpression = record.expression
    scope = _Scope(expression, [record])
    with deep_recursion():
        root = _Builder(scope.variables).step(expression.checked.expr, scope)
    variables: list[tuple[str, Step]] = []
    for definition in scope.variables:
        inner = steps(definition)
        whole = replace(inner.root, text=inner.text)  # as it is written
        variables += [*inner.variables, (definition.expression.variable, whole)]
    return Steps(expression.label, expression.checked.text, root, tuple(variables))


@dataclass(slots=True)
class _Scope:
    """The records of one expression by part, except those inside the rounds of a fold."""

    expression: TracedExpression
    roots: Iterable[Record]
    variables: list[Record] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    records: dict[int, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        waiting = list(self.roots)[::-1]
        while waiting:
            record = waiting.pop()
            if record.expression is not self.expression:
                self.variables.append(record)
                continue
            self.records.setdefault(record.id, record)
            waiting += record.children[::-1]

    def inside(self, turn: Round, names: Iterable[str]) -> "_Scope":
        """Return the scope of one round, in which ``names`` are the fold's variables."""
        known = self.names.union(names)
        return _Scope(self.expression, turn.children, self.variables, known)

    def is_constant(self, expr: Expr) -> bool:
        return isinstance(expr, Literal) or expr.id in self.expression.constants


class _Builder:
    """Makes steps of the informative parts."""

    def __init__(self, variables: list[Record]) -> None:
        self._variables = variables

    def step(self, expr: Expr, scope: _Scope) -> Step:
        text, record = unparse(expr), scope.records.get(expr.id)
        if record is None:
            if scope.is_constant(expr):
                value = expr.value if isinstance(expr, Literal) else None
                constant = scope.expression.constants.get(expr.id, value)
                return Step(text, constant, pos=expr.pos)
            return Step(text, state="skipped", pos=expr.pos)
        return Step(
            text,
            record.value,
            "done" if record.finished else "cut",
            record.cost,
            hidden=record.skipped,
            children=tuple(self._children(expr, record, scope)),
            pos=expr.pos,
            fault=_failed_in(expr, scope).pos if _is_absent(record.value) else expr.pos,
        )

    def _children(self, expr: Expr, record: Record, scope: _Scope) -> Iterator[Step]:
        match expr:
            case Select():
                yield from self._chain(expr, record, scope)
            case Call(function=name) if name in _INDEXES:
                yield from self._chain(expr, record, scope)
            case Call(function=name) if name in _LOGIC:
                yield from self._logic(expr, record, scope)
            case Call(function="_?_:_", args=(condition, yes, no)):
                yield from self._conditional(condition, yes, no, scope)
            case Comprehension():
                yield from self._fold(expr, record, scope)
            case Call(function="orValue", target=Call(function=name) as held) if name in _INDEXES:
                # Shown as one step: a chain with a default.
                inner = scope.records.get(held.id)
                if inner is not None:
                    yield from self._chain(held, inner, scope)
                for part in expr.args:
                    yield from self._telling(part, scope)
            case _:
                for part in _parts(expr):
                    yield from self._telling(part, scope)

    def _telling(self, expr: Expr, scope: _Scope) -> Iterator[Step]:
        """Yield the step of a part, unless its value is obvious or shown elsewhere."""
        if scope.is_constant(expr) or (isinstance(expr, Ident) and expr.name in scope.names):
            return
        yield self.step(expr, scope)

    def _chain(self, expr: Expr, record: Record, scope: _Scope) -> Iterator[Step]:
        """Yield the base of a chain, its computed keys, and the last value before it failed."""
        base, keys = _unchained(expr)
        if not isinstance(base, Ident):
            yield from self._telling(base, scope)
        for key in keys:
            yield from self._telling(key, scope)
        presence = isinstance(expr, Select) and expr.test_only and record.value is False
        if not presence and not _is_absent(record.value):
            return
        held = _operand(expr)
        while held is not None and held is not base:
            found = scope.records.get(held.id)
            if found is not None and not _is_absent(found.value):
                value = found.value.value if isinstance(found.value, Optional) else found.value
                yield Step(unparse(held), value, cost=found.cost, pos=held.pos)
                return
            held = _operand(held)
        found = None if held is None else scope.records.get(held.id)
        if isinstance(record.value, Optional):
            return  # of the whole object nothing is told
        if isinstance(held, Ident) and found is not None and held.name not in scope.names:
            yield Step(unparse(held), found.value, cost=found.cost, pos=held.pos)

    def _logic(self, expr: Call, record: Record, scope: _Scope) -> Iterator[Step]:
        """Yield all terms; the first with the value of the whole is the deciding one."""
        decided = record.value is not (expr.function == "_&&_")
        for term in _terms(expr, expr.function):
            made = self.step(term, scope)
            same = made.state == "done" and _same(made.value, record.value)
            yield replace(made, deciding=decided and same)
            decided = decided and not same

    def _conditional(self, condition: Expr, yes: Expr, no: Expr, scope: _Scope) -> Iterator[Step]:
        mapped = _mapped(yes)
        if mapped is not None and isinstance(condition, Call) and condition.target is not None:
            yield self.step(condition.target, scope)
            if mapped.id in scope.records:
                yield self.step(mapped.result, scope)
            return
        yield from self._telling(condition, scope)
        for branch in (yes, no):
            if branch.id in scope.records:
                yield from self._telling(branch, scope)

    def _fold(self, expr: Comprehension, record: Record, scope: _Scope) -> Iterator[Step]:
        if isinstance(expr.loop_condition, Literal) and expr.loop_condition.value is False:
            if expr.macro == "sortBy":
                yield from self._telling(expr.accu_init, scope)
            else:
                yield from self._telling(expr.result, scope)
            return
        yield from self._telling(expr.iter_range, scope)
        names = [name for name in (expr.iter_var, expr.iter_var2) if name]
        decided = _deciding(expr, record)
        for turn in record.rounds:
            inner = scope.inside(turn, names)
            values = [turn.first] if turn.second is MISSING else [turn.first, turn.second]
            made = [self.step(part, inner) for part in _bodies(expr) if part.id in inner.records]
            failed = any(step.state == "cut" for step in made)
            yield Step(
                ", ".join(names),
                values[0] if len(values) == 1 else values,
                "cut" if failed else "done",
                sum(step.cost for step in made),
                round=True,
                deciding=turn is decided,
                children=tuple(made),
                pos=expr.pos,
                number=turn.number,
            )


def _failed_in(expr: Expr, scope: _Scope) -> Expr:
    """Return the innermost part of a chain that led nowhere."""
    while (held := _operand(expr)) is not None:
        found = scope.records.get(held.id)
        if found is None or not _is_absent(found.value):
            break
        expr = held
    return expr


def _is_absent(value: object) -> bool:
    """Whether a chain led nowhere: to an error, or to an optional without a value."""
    return isinstance(value, CelError) or (isinstance(value, Optional) and not value)


def _same(one: object, other: object) -> bool:
    if isinstance(other, CelError):
        return isinstance(one, CelError)
    return one is other


def _deciding(expr: Comprehension, record: Record) -> Round | None:
    """Return the round that decided ``all`` or ``exists``, or the first error."""
    if isinstance(record.value, CelError):
        return next((turn for turn in record.rounds if turn.notable), None)
    if record.rounds and record.value is (expr.macro == "exists"):
        return record.rounds[-1] if expr.macro in ("all", "exists") else None
    return None


def _bodies(expr: Comprehension) -> Iterator[Expr]:
    """Yield the parts evaluated in each round: the condition, if any, and the body."""
    match expr.loop_step:
        case Call(function="_?_:_", args=(test, Call() as change, _)):
            yield test
            yield from _collected(change)
        case Call(function=("_&&_" | "_||_"), args=(_, test)):
            yield test
        case Call() as change:
            yield from _collected(change)


def _collected(change: Call) -> Iterator[Expr]:
    last = change.args[-1]
    yield from last.elements if isinstance(last, ListExpr) else (last,)


def _terms(expr: Expr, function: str) -> Iterator[Expr]:
    if isinstance(expr, Call) and expr.function == function:
        for arg in expr.args:
            yield from _terms(arg, function)
    else:
        yield expr


def _mapped(yes: Expr) -> Comprehension | None:
    """Return the binding in the expansion of optMap or optFlatMap."""
    if isinstance(yes, Call) and yes.function == "optional.of" and len(yes.args) == 1:
        yes = yes.args[0]
    if isinstance(yes, Comprehension) and yes.macro in ("optMap", "optFlatMap"):
        return yes
    return None


def _operand(expr: Expr) -> Expr | None:
    """Return the operand of a select or index."""
    if isinstance(expr, Select):
        return expr.operand
    if isinstance(expr, Call) and expr.function in _INDEXES:
        return expr.args[0]
    return None


def _unchained(expr: Expr) -> tuple[Expr, list[Expr]]:
    """Return the base of a chain of selects and indexes, and its index expressions."""
    keys: list[Expr] = []
    while (held := _operand(expr)) is not None:
        if isinstance(expr, Call) and expr.function != "_?._":
            keys.append(expr.args[1])
        expr = held
    return expr, keys[::-1]


def _parts(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Call():
            if expr.target is not None:
                yield expr.target
            yield from expr.args
        case ListExpr():
            yield from expr.elements
        case MapExpr():
            for entry in expr.entries:
                yield from (entry.key, entry.value)
        case StructExpr():
            yield from (each.value for each in expr.fields)
