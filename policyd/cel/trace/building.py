"""Turn the records of a traced evaluation into a tree of steps for users. Prints nothing."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from policyd._core.eval.tracing import Record, Round
from policyd._core.values.errors import CelError
from policyd._core.values.types import MISSING, Optional
from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.recursion import children, deep_recursion, terms_of
from policyd.cel.syntax.unparse import mapped, unparse
from policyd.cel.trace.parts import INDEXES, bodies, operand, unchained
from policyd.cel.trace.reads import NOTHING, ObjectFields, Read, Reads
from policyd.cel.trace.scopes import RecordScope, definitions
from policyd.cel.trace.steps import Step, Steps
from policyd.json_types import FieldPath

_LOGIC = ("_&&_", "_||_")
# Calls that return the value of their operand, if it has one.
_UNWRAPPING = ("orValue", "value", "dyn")
# Comparisons that show whether a list is empty, by the constant compared with its size.
_EMPTINESS = {
    **dict.fromkeys(("_==_", "_!=_", "_>_", "_<=_"), 0),
    **dict.fromkeys(("_<_", "_>=_"), 1),
}
# The whole object, or something unknown.
_WHOLE: Reads = frozenset((Read(()),))
# The source of a part, cached: many objects show the same parts.
_source = lru_cache(maxsize=20_000)(unparse)


def steps(record: Record) -> Steps:
    """Return the tree of a record without a parent."""
    return TreeBuilder(ObjectFields(), [record]).steps(record)


class _Below(NamedTuple):
    """The steps below a part, and its dependencies: ``reads`` and ``first`` of a Step."""

    steps: list[Step]
    reads: Reads = NOTHING
    first: Reads = NOTHING


class TreeBuilder:
    """Makes steps of the informative parts of expressions evaluated for one object. ``records`` has
    these expressions and the variables that they use.
    """

    def __init__(self, fields: ObjectFields, records: Iterable[Record]) -> None:
        self._fields = fields
        self._definitions = definitions(records)
        self._computed: dict[int, Steps] = {}  # by the identity of its record

    def steps(self, record: Record) -> Steps:
        """Return the tree of a record without a parent."""
        found = self._computed.get(id(record))
        if found is not None:
            return found
        expression = record.expression
        scope = RecordScope(expression, [record], reads={self._fields.name: _WHOLE})
        with deep_recursion():
            root = self.step(expression.checked.expr, scope)
        variables: list[tuple[str, Step]] = []
        for definition in scope.variables:
            inner = self.steps(definition)
            whole = inner.root._replace(text=inner.text)  # as it is written
            variables += [*inner.variables, (definition.expression.variable, whole)]
        made = Steps(expression.label, expression.checked.text, root, tuple(variables))
        self._computed[id(record)] = made
        return made

    def step(self, expr: Expr, scope: RecordScope) -> Step:
        text, record = _source(expr), scope.records.get(expr.id)
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
            fault=_failed_in(expr, scope).pos if _is_absent(record.value) else expr.pos,
            reads=below.reads,
            first=below.first,
        )

    def _below(self, expr: Expr, record: Record, scope: RecordScope) -> _Below:
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
        parts = [(part, self._part(part, scope)) for part in children(expr)]
        made = [step for _, each in parts for step in each.steps]
        reads = _union(each for _, each in parts)
        if isinstance(record.value, CelError):
            return _Below(made, _union(each for each in made if each.failed) or reads)
        match expr:
            case Call(function="size"):
                return _Below(made, reads, parts[0][1].first)
            case Call(function="_+_"):
                filled = (each.first for part, each in parts if scope.value(part) not in ([], ""))
                return _Below(made, reads, next(filled, NOTHING))
            case Call(function=name, args=(_, other)) if name in _EMPTINESS:
                # The first item makes the list non-empty.
                if _is_empty(scope.value(other), _EMPTINESS[name]):
                    return _Below(made, parts[0][1].first or reads)
        return _Below(made, self._presence(expr, record, scope) or reads)

    def _presence(self, expr: Expr, record: Record, scope: RecordScope) -> Reads:
        """Return the field that a test of presence reads: ``a.?b.hasValue()``, ``'b' in a``."""
        path = None
        match expr:
            case Call(function="hasValue", target=Expr() as target):
                path = self._path(target, scope)
            case Call(function="@in", args=(key, held)) if isinstance(scope.value(held), dict):
                above, name = self._path(held, scope), scope.value(key)
                if above is not None and isinstance(name, str) and scope.is_constant(key):
                    path = (*above, name)
        return NOTHING if path is None else frozenset((Read(path, record.value is True),))

    def _part(self, expr: Expr, scope: RecordScope) -> _Below:
        """Return the step of a part, unless its value is obvious or shown elsewhere."""
        if scope.is_constant(expr):
            return _Below([])
        if isinstance(expr, Ident) and expr.name in scope.names:
            return _Below([], scope.reads[expr.name])
        made = self.step(expr, scope)
        return _Below([made], made.reads, made.first)

    def _all(self, exprs: Iterable[Expr], scope: RecordScope) -> _Below:
        parts = [self._part(expr, scope) for expr in exprs]
        return _Below([step for each in parts for step in each.steps], _union(parts))

    def _chain(self, expr: Expr, record: Record, scope: RecordScope) -> _Below:
        """Return the base of a chain, its computed keys, and the last value before it failed."""
        base, keys = unchained(expr)
        below = _Below([]) if isinstance(base, Ident) else self._part(base, scope)
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
        variable = self._variable(expr, scope)
        first = NOTHING if variable is None else variable.first
        return _Below([*made, *self._before(expr, record, scope)], reads, first)

    def _before(self, expr: Expr, record: Record, scope: RecordScope) -> Iterator[Step]:
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
                yield Step(_source(held), value, cost=found.cost, pos=held.pos)
                return
            held = operand(held)
        found = None if held is None else scope.records.get(held.id)
        if isinstance(record.value, Optional):
            return  # the whole object is not reported
        if isinstance(held, Ident) and found is not None and held.name not in scope.names:
            yield Step(_source(held), found.value, cost=found.cost, pos=held.pos)

    def _path(self, expr: Expr, scope: RecordScope) -> FieldPath | None:
        """Return the path of the field that a part returned or found missing."""
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

    def _read_by_base(self, expr: Expr, scope: RecordScope) -> Reads:
        """Return the field or variable that the name at the base of a chain reads."""
        held = operand(expr)
        while held is not None and not isinstance(held, Ident):
            expr, held = held, operand(held)
        variable = self._variable(expr, scope)
        if variable is not None:
            return variable.reads
        return NOTHING if held is None else scope.reads.get(held.name, NOTHING)

    def _variable(self, expr: Expr, scope: RecordScope) -> Step | None:
        """Return the step of a variable's own expression; None if the part is not a variable."""
        match expr:
            case Select(operand=Ident(name="variables")) if "variables" not in scope.reads:
                definition = self._definitions.get(expr.field)
                return None if definition is None else self.steps(definition).root
        return None

    def _logic(self, expr: Call, record: Record, scope: RecordScope) -> _Below:
        """Return all terms; the first with the value of the whole expression is deciding."""
        decided = record.value is not (expr.function == "_&&_")
        made: list[Step] = []
        for term in terms_of(expr, expr.function):
            step = self.step(term, scope)
            same = step.state == "done" and _same(step.value, record.value)
            made.append(step._replace(deciding=decided and same))
            decided = decided and not same
        return _Below(made, _union([each for each in made if each.deciding] or made))

    def _conditional(self, condition: Expr, yes: Expr, no: Expr, scope: RecordScope) -> _Below:
        binding = mapped(yes)
        if binding is not None and isinstance(condition, Call) and condition.target is not None:
            made = [self.step(condition.target, scope)]
            if binding.id in scope.records:
                inner = scope.binding(binding.accu_var, made[0].reads)
                made.append(self.step(binding.result, inner))
            return _Below(made, made[-1].reads or made[0].reads)
        test = self._part(condition, scope)
        branch = self._all([each for each in (yes, no) if each.id in scope.records], scope)
        first = branch.steps[0].first if branch.steps else NOTHING
        return _Below([*test.steps, *branch.steps], branch.reads or test.reads, first)

    def _fold(self, expr: Comprehension, record: Record, scope: RecordScope) -> _Below:
        if isinstance(expr.loop_condition, Literal) and expr.loop_condition.value is False:
            return self._part(expr.accu_init if expr.macro == "sortBy" else expr.result, scope)
        over = self._part(expr.iter_range, scope)
        names = [name for name in (expr.iter_var, expr.iter_var2) if name]
        decided, chooses = _deciding(expr, record), _chooses(expr, scope)
        made = []
        for turn in record.rounds:
            known = self._item(expr.iter_range, turn, scope)
            inner = scope.inside(turn, names, over.reads if known is None else known)
            values = [turn.first] if turn.second is MISSING else [turn.first, turn.second]
            inside = [self.step(part, inner) for part in bodies(expr) if part.id in inner.records]
            failed = any(step.state == "cut" for step in inside)
            item = inner.reads[names[0]]
            chosen = chooses and inside and inside[0].value is True
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
                reads=_union(inside) or item,
                first=inside[0].reads or item if chosen else NOTHING,
            )
            made.append(step)
        if decided is None:
            first = next((each.first for each in made if each.first), NOTHING)
            return _Below([*over.steps, *made], over.reads | _union(made), first)
        reads = _union(each for each in made if each.deciding)
        return _Below([*over.steps, *made], reads or over.reads)

    def _item(self, over: Expr, turn: Round, scope: RecordScope) -> Reads | None:
        """Return the field that the variables of a round stand for, if known."""
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


def _is_empty(value: object, size: int) -> bool:
    """Whether equality with a value, or of its size, means that a list is empty."""
    return value == [] or (type(value) is int and value == size)


def _chooses(expr: Comprehension, scope: RecordScope) -> bool:
    """Whether a macro lists only the items for which a condition holds."""
    test, *more = bodies(expr)
    return bool(more) and not scope.is_constant(test)


def _failed_in(expr: Expr, scope: RecordScope) -> Expr:
    """Return the innermost part of a chain that led nowhere."""
    while (held := operand(expr)) is not None:
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
