"""The records of the parts of an expression, and the meaning of its names. Evaluates nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policyd._core.eval.tracing import Record, Round
from policyd.cel.syntax.ast import Expr, Literal
from policyd.cel.trace.reads import Reads
from policyd.cel.trace.tracing import TracedExpression


@dataclass(slots=True)
class RecordScope:
    """The records of one expression by part, except those inside the rounds of a fold. ``reads``
    has the meaning of its names.
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

    def inside(self, turn: Round, names: Iterable[str], reads: Reads) -> "RecordScope":
        """Return the scope of one round, in which ``names`` are the fold's variables."""
        bound = {**self.reads, **dict.fromkeys(names, reads)}
        known = self.names.union(names)
        return RecordScope(self.expression, turn.children, self.variables, known, bound)

    def binding(self, name: str, reads: Reads) -> "RecordScope":
        """Return a copy of the scope in which a name stands for a value."""
        bound = {**self.reads, name: reads}
        return RecordScope(self.expression, (), self.variables, self.names, bound, self.records)

    def value(self, expr: Expr) -> object:
        """Return the value of a part, also of a constant, or None."""
        record = self.records.get(expr.id)
        if record is not None:
            return record.value
        constant = expr.value if isinstance(expr, Literal) else None
        return self.expression.constants.get(expr.id, constant)

    def is_constant(self, expr: Expr) -> bool:
        """Whether a part was not evaluated because its value was already known."""
        return isinstance(expr, Literal) or expr.id in self.expression.constants


def definitions(records: Iterable[Record]) -> dict[str, Record]:
    """Return the first evaluation of each variable, wherever it was used."""
    found: dict[str, Record] = {}
    waiting = list(records)[::-1]
    while waiting:
        record = waiting.pop()
        if record.expression.variable:
            found.setdefault(record.expression.variable, record)
        waiting += [each for turn in record.rounds[::-1] for each in turn.children[::-1]]
        waiting += record.children[::-1]
    return found
