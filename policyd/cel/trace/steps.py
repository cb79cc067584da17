"""Turn the records of a traced evaluation into a tree of steps for users: the informative parts of
the expression, with source and value. Prints nothing.

Literals and constants are left out. A chain of selects is one step with its final value; if it
ended in an error, the part that failed is below it. A chain of ``&&`` is one step with its terms,
a macro is one step with a step for each recorded round.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf
from typing import NamedTuple

from policyd._core.eval.tracing import Record, Round
from policyd._core.values.errors import CelError
from policyd._core.values.types import MISSING, Optional
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.syntax.unparse import unparse
from policyd.cel.trace.parts import INDEXES, bodies, mapped, operand, parts, terms, unchained
from policyd.cel.trace.reads import NOTHING, ObjectFields, Read, Reads
from policyd.cel.trace.tracing import TracedExpression
from policyd.json_types import FieldPath

_LOGIC = ("_&&_", "_||_")
# Calls whose value is that of their operand, if there is one.
_UNWRAPPING = ("orValue", "value", "dyn")
# The whole object, or what is not known.
_WHOLE: Reads = frozenset((Read(()),))


@dataclass(frozen=True, slots=True)
class Step:
    """A part of an expression, or one round of a macro (``round``: the text is its variables).

    ``value`` is a CEL value or a CelError; for a round, that of its variable, or of both in a list.
    ``state``: ``skipped`` was not evaluated, ``cut`` was ended by a limit. ``deciding``: among its
    siblings, this one determined the value of the parent. ``hidden`` counts the rounds that were
    not recorded; ``number`` counts those of a macro from 0. ``pos`` is the offset in the whole
    expression. ``reads`` are the fields of the object that the value depends on: of the deciding
    parts, if there are any.
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
    reads: Reads = NOTHING

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


def steps(record: Record, fields: ObjectFields | None = None) -> Steps:
    """Return the tree of a record without a parent. ``fields``: of the object that it reads."""
    return TreeBuilder(ObjectFields() if fields is None else fields).steps(record)


@dataclass(slots=True)
class _Scope:
    """The records of one expression by part, except those inside the rounds of a fold. ``reads``:
    what its names stand for.
    """

    expression: TracedExpression
    roots: Iterable[Record]
    variables: list[Record] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    reads: Mapping[str, Reads] = field(default_factory=dict)
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

    def inside(self, turn: Round, names: Iterable[str], reads: Reads) -> "_Scope":
        """Return the scope of one round, in which ``names`` are the fold's variables."""
        bound = {**self.reads, **dict.fromkeys(names, reads)}
        known = self.names.union(names)
        return _Scope(self.expression, turn.children, self.variables, known, bound)

    def binding(self, name: str, reads: Reads) -> "_Scope":
        """Return the same scope in which a name stands for a value."""
        bound = {**self.reads, name: reads}
        return _Scope(self.expression, (), self.variables, self.names, bound, self.records)

    def value(self, expr: Expr) -> object:
        """Return the value of a part, of a constant, too; None if it has none."""
        record = self.records.get(expr.id)
        if record is not None:
            return record.value
        constant = expr.value if isinstance(expr, Literal) else None
        return self.expression.constants.get(expr.id, constant)

    def is_constant(self, expr: Expr) -> bool:
        return isinstance(expr, Literal) or expr.id in self.expression.constants


class _Below(NamedTuple):
    """The steps below a part, and what the part depends on."""

    steps: list[Step]
    reads: Reads = NOTHING


class TreeBuilder:
    """Makes steps of the informative parts of expressions that are evaluated for one object, in
    the order of their evaluation: variables are computed once.
    """

    def __init__(self, fields: ObjectFields) -> None:
        self._fields = fields
        self._variables: dict[str, Reads] = {}
        self._computed: dict[int, Steps] = {}  # by the identity of its record

    def steps(self, record: Record) -> Steps:
        """Return the tree of a record without a parent."""
        found = self._computed.get(id(record))
        if found is not None:
            return found
        expression: TracedExpression = record.expression
        scope = _Scope(expression, [record], reads={self._fields.name: _WHOLE})
        with deep_recursion():
            root = self.step(expression.checked.expr, scope)
        variables: list[tuple[str, Step]] = []
        for definition in scope.variables:
            inner = self.steps(definition)
            whole = replace(inner.root, text=inner.text)  # as it is written
            variables += [*inner.variables, (definition.expression.variable, whole)]
        made = Steps(expression.label, expression.checked.text, root, tuple(variables))
        self._computed[id(record)] = made
        return made

    def step(self, expr: Expr, scope: _Scope) -> Step:
        text, record = unparse(expr), scope.records.get(expr.id)
        if record is None:
            if scope.is_constant(expr):
                return Step(text, scope.value(expr), pos=expr.pos)
            return Step(text, state="skipped", pos=expr.pos, reads=_WHOLE)
        below = self._below(expr, record, scope)
        return Step(
            text,
            record.value,
            "done" if record.finished else "cut",
            record.cost,
            hidden=record.skipped,
            children=tuple(below.steps),
            pos=expr.pos,
            reads=below.reads,
        )

    def _below(self, expr: Expr, record: Record, scope: _Scope) -> _Below:
        match expr:
            case Ident():
                return _Below([], scope.reads.get(expr.name, NOTHING))
            case Select():
                return self._chain(expr, record, scope)
            case Call(function=name) if name in INDEXES:
                return self._chain(expr, record, scope)
            case Call(function=name) if name in _LOGIC:
                return self._logic(expr, record, scope)
            case Call(function="_?_:_", args=(condition, yes, no)):
                return self._conditional(condition, yes, no, scope)
            case Comprehension():
                return self._fold(expr, record, scope)
            case Call(function="orValue", target=Call(function=name) as held) if name in INDEXES:
                # Shown as one step: a chain with a default.
                inner = scope.records.get(held.id)
                chain = _Below([]) if inner is None else self._chain(held, inner, scope)
                rest = self._all(expr.args, scope)
                used = inner is None or _is_absent(inner.value)
                reads = chain.reads | rest.reads if used else chain.reads
                return _Below([*chain.steps, *rest.steps], reads)
        below = self._all(parts(expr), scope)
        if isinstance(record.value, CelError):
            failed = _union(each for each in below.steps if each.failed)
            return below._replace(reads=failed or below.reads)
        return below._replace(reads=self._presence(expr, record, scope) or below.reads)

    def _presence(self, expr: Expr, record: Record, scope: _Scope) -> Reads:
        """Return what a test of presence reads: ``a.?b.hasValue()``, ``'b' in a``."""
        path = None
        match expr:
            case Call(function="hasValue", target=Expr() as target):
                path = self._path(target, scope)
            case Call(function="@in", args=(key, held)) if isinstance(scope.value(held), dict):
                above, name = self._path(held, scope), scope.value(key)
                if above is not None and isinstance(name, str) and scope.is_constant(key):
                    path = (*above, name)
        return NOTHING if path is None else frozenset((Read(path, record.value is True),))

    def _told(self, expr: Expr, scope: _Scope) -> _Below:
        """Return the step of a part, unless its value is obvious or shown elsewhere."""
        if scope.is_constant(expr):
            return _Below([])
        if isinstance(expr, Ident) and expr.name in scope.names:
            return _Below([], scope.reads[expr.name])
        made = self.step(expr, scope)
        return _Below([made], made.reads)

    def _all(self, exprs: Iterable[Expr], scope: _Scope) -> _Below:
        told = [self._told(expr, scope) for expr in exprs]
        return _Below([step for each in told for step in each.steps], _union(told))

    def _chain(self, expr: Expr, record: Record, scope: _Scope) -> _Below:
        """Return the base of a chain, its computed keys, and the last value before it failed."""
        base, keys = unchained(expr)
        below = _Below([]) if isinstance(base, Ident) else self._told(base, scope)
        computed = self._all(keys, scope)
        made = [*below.steps, *computed.steps]
        if reads := _union(each for each in made if each.failed):
            return _Below(made, reads)
        path = self._path(expr, scope)
        held = operand(expr)
        while path is None and held is not None and _is_absent(record.value):
            path, held = self._path(held, scope), operand(held)
        if path is None:
            reads = below.reads or self._read_by_base(expr, scope)
        else:
            present = isinstance(expr, Select) and expr.test_only and record.value is True
            reads = frozenset((Read(path, present),))
        if all(each.state == "done" for each in computed.steps):
            reads |= computed.reads
        return _Below([*made, *self._before(expr, record, scope)], reads)

    def _before(self, expr: Expr, record: Record, scope: _Scope) -> Iterator[Step]:
        """Yield the last value of a chain before it failed."""
        presence = isinstance(expr, Select) and expr.test_only and record.value is False
        if not presence and not _is_absent(record.value):
            return
        base, _ = unchained(expr)
        held = operand(expr)
        while held is not None and held is not base:
            found = scope.records.get(held.id)
            if found is not None and not _is_absent(found.value):
                value = found.value.value if isinstance(found.value, Optional) else found.value
                yield Step(unparse(held), value, cost=found.cost, pos=held.pos)
                return
            held = operand(held)
        found = None if held is None else scope.records.get(held.id)
        if isinstance(record.value, Optional):
            return  # of the whole object nothing is told
        if isinstance(held, Ident) and found is not None and held.name not in scope.names:
            yield Step(unparse(held), found.value, cost=found.cost, pos=held.pos)

    def _path(self, expr: Expr, scope: _Scope) -> FieldPath | None:
        """Return the path of the field that is the value of a part, or is missing there."""
        path = self._fields.path_of(scope.value(expr))
        if path is not None:
            return path
        held = operand(expr)
        if held is None:
            match expr:
                case Call(function=name, target=Expr() as target) if name in _UNWRAPPING:
                    return self._path(target, scope)
                case Call(function=name, args=(only,)) if name in _UNWRAPPING:
                    return self._path(only, scope)
            return None
        above = self._path(held, scope)
        key: object = expr.field if isinstance(expr, Select) else None
        if isinstance(expr, Call):
            key = scope.value(expr.args[1])
        if above is None or not isinstance(key, str | int) or isinstance(key, bool):
            return None
        return (*above, key)

    def _read_by_base(self, expr: Expr, scope: _Scope) -> Reads:
        """Return what the name at the base of a chain reads, or the variable."""
        held = operand(expr)
        while held is not None and not isinstance(held, Ident):
            expr, held = held, operand(held)
        if held is None:
            return NOTHING
        if held.name != "variables" or not isinstance(expr, Select) or held.name in scope.reads:
            return scope.reads.get(held.name, NOTHING)
        record = scope.records.get(expr.id)
        for definition in () if record is None else record.children:
            if definition.expression.variable == expr.field:
                self._variables[expr.field] = self.steps(definition).root.reads
        return self._variables.get(expr.field, NOTHING)

    def _logic(self, expr: Call, record: Record, scope: _Scope) -> _Below:
        """Return all terms; the first with the value of the whole is the deciding one."""
        decided = record.value is not (expr.function == "_&&_")
        made: list[Step] = []
        for term in terms(expr, expr.function):
            step = self.step(term, scope)
            same = step.state == "done" and _same(step.value, record.value)
            made.append(replace(step, deciding=decided and same))
            decided = decided and not same
        return _Below(made, _union([each for each in made if each.deciding] or made))

    def _conditional(self, condition: Expr, yes: Expr, no: Expr, scope: _Scope) -> _Below:
        binding = mapped(yes)
        if binding is not None and isinstance(condition, Call) and condition.target is not None:
            made = [self.step(condition.target, scope)]
            if binding.id in scope.records:
                inner = scope.binding(binding.accu_var, made[0].reads)
                made.append(self.step(binding.result, inner))
            return _Below(made, made[-1].reads or made[0].reads)
        test = self._told(condition, scope)
        branch = self._all([each for each in (yes, no) if each.id in scope.records], scope)
        return _Below([*test.steps, *branch.steps], branch.reads or test.reads)

    def _fold(self, expr: Comprehension, record: Record, scope: _Scope) -> _Below:
        if isinstance(expr.loop_condition, Literal) and expr.loop_condition.value is False:
            return self._told(expr.accu_init if expr.macro == "sortBy" else expr.result, scope)
        over = self._told(expr.iter_range, scope)
        names = [name for name in (expr.iter_var, expr.iter_var2) if name]
        decided = _deciding(expr, record)
        made = []
        for turn in record.rounds:
            item = self._item(expr.iter_range, turn, scope)
            inner = scope.inside(turn, names, over.reads if item is None else item)
            values = [turn.first] if turn.second is MISSING else [turn.first, turn.second]
            inside = [self.step(part, inner) for part in bodies(expr) if part.id in inner.records]
            failed = any(step.state == "cut" for step in inside)
            step = Step(
                ", ".join(names),
                values[0] if len(values) == 1 else values,
                "cut" if failed else "done",
                sum(step.cost for step in inside),
                round=True,
                deciding=turn is decided,
                children=tuple(inside),
                pos=expr.pos,
                number=turn.number,
                reads=_union(inside) or inner.reads[names[0]],
            )
            made.append(step)
        if decided is None:
            return _Below([*over.steps, *made], over.reads | _union(made))
        reads = _union(each for each in made if each.deciding)
        return _Below([*over.steps, *made], reads or over.reads)

    def _item(self, over: Expr, turn: Round, scope: _Scope) -> Reads | None:
        """Return the field that the variables of a round stand for; None if it is not known."""
        path, whole = self._path(over, scope), scope.value(over)
        if path is not None and isinstance(whole, dict):
            path = (*path, turn.first) if isinstance(turn.first, str) else None
        elif path is not None:
            path = (*path, turn.number)
        else:
            path = self._fields.path_of(turn.first if turn.second is MISSING else turn.second)
        return None if path is None else frozenset((Read(path),))


def _union(some: Iterable[Step | _Below]) -> Reads:
    return NOTHING.union(*(each.reads for each in some))


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
