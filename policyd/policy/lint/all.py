"""Everything that lint advises about sources, put together; each rule is in a file of its own."""

from datetime import date

from policyd.errors import Problem
from policyd.policy.compile.checked import checked_expressions
from policyd.policy.lint.constant import constant
from policyd.policy.lint.documents import advise
from policyd.policy.lint.expense import expensive
from policyd.policy.lint.guards.unguarded import unguarded
from policyd.policy.lint.messages import advise_validations
from policyd.policy.lint.overlaps import overlapping
from policyd.policy.lint.patterns import misfitting
from policyd.policy.lint.resources import advise_rules
from policyd.policy.lint.settled import settled
from policyd.policy.lint.types.check import type_check
from policyd.policy.lint.types.kinds import TypedPolicies
from policyd.policy.source.documents import Sources


def all_advice(sources: Sources, today: date) -> list[Problem]:
    """The advice of every rule, disabled or not; ``today`` decides what has expired."""
    typed = TypedPolicies(sources)
    expressions = list(checked_expressions(sources))
    return [
        *advise(sources, today),
        *advise_rules(sources),
        *advise_validations(sources),
        *type_check(sources, typed),
        *unguarded(sources, typed),
        *misfitting(sources),
        *expensive(expressions),
        *constant(expressions),
        *settled(sources, typed),
        *overlapping(sources),
    ]
