"""One run of lint: the sources, and what several rules look at, made when it is first needed."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property

from policyd.policy.compile.checked import CheckedExpression, checked_expressions
from policyd.policy.lint.types.kinds import TypedPolicies
from policyd.policy.source.documents import Sources
from policyd.versions import KubernetesVersion


@dataclass(frozen=True)
class LintRun:
    """``today`` decides what has expired: nothing, if it is not given. ``target`` is the oldest
    Kubernetes version that the policies must run on, if that is asked.
    """

    sources: Sources
    today: date = date.min
    target: KubernetesVersion | None = None

    @cached_property
    def expressions(self) -> tuple[CheckedExpression, ...]:
        """All expressions that compile."""
        return tuple(checked_expressions(self.sources))

    @cached_property
    def typed(self) -> TypedPolicies:
        """The types of the policies' expressions, by kind."""
        return TypedPolicies(self.sources)
