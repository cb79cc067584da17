"""Everything that lint advises about sources, put together; each rule is in a file of its own."""

from datetime import date

from policyd.errors import Problem
from policyd.policy.advice import advise
from policyd.policy.checked import checked_expressions
from policyd.policy.constant import constant
from policyd.policy.documents import Sources
from policyd.policy.expense import expensive
from policyd.policy.kind_types import TypedPolicies
from policyd.policy.overlaps import overlapping
from policyd.policy.pattern_advice import misfitting
from policyd.policy.rule_advice import advise_rules
from policyd.policy.settled import settled
from policyd.policy.type_check import type_check
from policyd.policy.unguarded import unguarded
from policyd.policy.validation_advice import advise_validations


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
