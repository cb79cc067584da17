"""The expressions that take most time: how often each is evaluated in the calls, its cost in CEL's
units, and its time when it is repeated alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from policyd._core.eval.program import Program
from policyd._core.eval.timing import nanoseconds
from policyd._core.eval.tracing import Record, Tracer
from policyd._core.lib import authz
from policyd._core.plan.plan import Subject
from policyd.admission.invocation import Invocation
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.observer import Observer
from policyd.benchmark.census import SortKey
from policyd.benchmark.observed import observe
from policyd.benchmark.requests import WebhookRequest
from policyd.benchmark.rounds import Report
from policyd.cel.trace.tracing import TracedExpression
from policyd.errors import BudgetExceeded
from policyd.json_types import JSON
from policyd.policy.compile import compiler
from policyd.policy.compile.expressions import Expressions
from policyd.policy.model.expressions import expressions_of
from policyd.policy.source.documents import Document, Sources

MOST_TRACED = 1000  # calls; tracing takes some ten times as long as evaluating
_SAMPLES = 5  # requests with which an expression is timed
_AGAIN = 3  # times as many expressions as are wanted are timed with every sample
_BATCH = 200_000  # nanoseconds of one batch of evaluations
_CONDITIONS = "spec.matchConditions"

_Key = tuple[SortKey, str]  # a policy, and the path of the expression in it


@dataclass(frozen=True, slots=True)
class ExpressionCost:
    """One expression. ``micros`` is the time of one evaluation, without the variables that it uses,
    which are expressions of their own; None if it cannot be repeated without the limit of cost.
    ``units``: the mean cost. ``evaluations``: for ``calls`` calls.
    """

    policy: str
    kind: str
    path: str
    text: str
    file: str
    line: int
    evaluations: int
    calls: int
    units: float
    micros: float | None = None

    @property
    def total(self) -> float:
        """The microseconds of all evaluations."""
        return (self.micros or 0.0) * self.evaluations


@dataclass(slots=True)
class _Seen:
    text: str
    evaluations: int = 0
    units: int = 0
    samples: list[tuple[Subject, JSON]] = field(default_factory=list)


def dearest(
    sources: Sources,
    calls: Sequence[WebhookRequest],
    matched: Iterable[SortKey],
    *,
    count: int,
    report: Report,
    authorizer: Authorizer | None = None,
) -> list[ExpressionCost]:
    """Return the ``count`` expressions that take most time in these calls, the dearest first."""
    traced = calls if len(calls) <= MOST_TRACED else calls[:: -(-len(calls) // MOST_TRACED)]
    wanted = set(matched)
    documents = {
        (each.name, each.kind): each
        for each in sources.documents
        if each.is_policy and (each.name, each.kind) in wanted
    }
    seen = _traced(sources, documents, traced, report, authorizer)
    clocks = {key: _Programs(document, sources) for key, document in documents.items()}
    found: list[tuple[ExpressionCost, _Key]] = []
    for number, (key, each) in enumerate(seen.items()):
        report("timing expressions", number, len(seen))
        policy, path = key
        document = documents[policy]
        cost = ExpressionCost(
            policy=document.name,
            kind=document.kind,
            path=path,
            text=each.text,
            file=document.file,
            line=document.place(path)[0],
            evaluations=each.evaluations,
            calls=len(traced),
            units=each.units / each.evaluations,
            micros=clocks[policy].micros(path, each.samples[:1], authorizer),
        )
        found.append((cost, key))
    found.sort(key=lambda pair: -pair[0].total)
    again = [
        replace(cost, micros=clocks[key[0]].micros(key[1], seen[key].samples, authorizer))
        for cost, key in found[: count * _AGAIN]
    ]
    return sorted(again, key=lambda cost: -cost.total)[:count]


def _traced(
    sources: Sources,
    documents: Mapping[SortKey, Document],
    calls: Sequence[WebhookRequest],
    report: Report,
    authorizer: Authorizer | None,
) -> dict[_Key, _Seen]:
    tracer = Tracer()
    kept = tuple(
        each
        for each in sources.documents
        if (each.name, each.kind) in documents or not _is_policy(each)
    )
    policies = compiler.compile_sources(replace(sources, documents=kept), tracer=tracer)
    observer = _Evaluations(tracer)
    for number, call in enumerate(calls):
        report("counting evaluations", number, len(calls))
        observe(policies, call, observer, authorizer)
        tracer.take()
    return observer.seen


def _is_policy(document: Document) -> bool:
    return document.is_policy and not document.kind.endswith("Binding")


class _Evaluations(Observer):
    """Counts the evaluations of every expression, and keeps some requests of each."""

    def __init__(self, tracer: Tracer) -> None:
        self.seen: dict[_Key, _Seen] = {}
        self._tracer = tracer

    def validated(self, invocation: Invocation) -> None:
        """Count the expressions of the invocation that ended."""
        self._count(invocation)

    def invoked(self, invocation: Invocation, *, again: bool, passed_over: bool) -> None:
        """Count the expressions of the invocation that ended."""
        self._count(invocation)

    def _count(self, invocation: Invocation) -> None:
        for record in _evaluated(self._tracer.take()):
            expression: TracedExpression = record.expression
            key = (invocation.policy.sort_key, expression.label)
            seen = self.seen.get(key)
            if seen is None:
                seen = self.seen[key] = _Seen(expression.checked.text)
            seen.evaluations += 1
            seen.units += record.cost
            if len(seen.samples) < _SAMPLES:
                seen.samples.append((invocation.subject, invocation.param))


def _evaluated(roots: Sequence[Record]) -> Iterator[Record]:
    """Yield the record of each whole expression: the roots, and variables at their first use."""
    waiting: list[tuple[Record, object]] = [(root, None) for root in roots]
    while waiting:
        record, within = waiting.pop()
        if record.expression is not within:
            yield record
        inner = [*record.children, *(each for turn in record.rounds for each in turn.children)]
        waiting += [(each, record.expression) for each in inner]


class _Programs:
    """The programs of one policy as it is served, to be timed apart from each other."""

    def __init__(self, document: Document, sources: Sources) -> None:
        expressions = Expressions(document, has_params=True, version=sources.version)
        self._programs: dict[str, list[Program]] = {}
        for each in expressions_of(document.raw):
            program = expressions.program(each.path, each.start)
            if program is not None:
                self._programs.setdefault(each.at, []).append(program)
        expressions.close()

    def micros(
        self,
        path: str,
        samples: Sequence[tuple[Subject, JSON]],
        authorizer: Authorizer | None,
    ) -> float | None:
        """Return the mean time of the expressions in one string, over all samples."""
        times = [
            found
            for subject, params in samples
            for program in self._programs[path]
            if (found := _alone(program, path, subject, params, authorizer)) is not None
        ]
        return sum(times) / len(times) / 1e3 if times else None


def _alone(
    program: Program, path: str, subject: Subject, params: JSON, authorizer: Authorizer | None
) -> float | None:
    """Return the nanoseconds of one evaluation after the variables that it uses are known: of two
    in one activation, only the first one computes them.
    """
    variables = _variables(program, path, subject, params, authorizer)
    try:
        rough = nanoseconds((program, program), variables, 1)
        rounds = min(2000, max(1, int(_BATCH / max(rough, 1.0))))
        both = nanoseconds((program, program), variables, rounds)
        return max(0.0, both - nanoseconds((program,), variables, rounds))
    except BudgetExceeded:
        return None


def _variables(
    program: Program, path: str, subject: Subject, params: JSON, authorizer: Authorizer | None
) -> dict[str, Any]:
    """Return what the expression of a policy sees (``_core/plan/plan.pyx``)."""
    condition = path.startswith(_CONDITIONS)
    namespace = None if condition else subject.namespace_object
    found = {
        "object": subject.object,
        "oldObject": subject.old_object,
        "request": subject.conditions_request if condition else subject.request,
        "namespaceObject": namespace() if callable(namespace) else namespace,
        "params": params,
    }
    if any(name.startswith("authorizer") for name in program.layout.slots):
        found |= authz.variables(authorizer, subject.conditions_request)
    return found
