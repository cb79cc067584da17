"""Compiled policies: frozen data around programs of the core. Compiles and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from policyd._core.plan.mutation_run import MutationInvocation
from policyd._core.plan.plan import PlannedPolicy
from policyd.policy.compile.exemptions import ExemptionIndex, indexed

if TYPE_CHECKING:
    from policyd._core.counting.counters import PolicyCounters
    from policyd._core.match.matcher import MatchRules
    from policyd._core.plan.mutation import MutationPlan, MutationStep
    from policyd._core.plan.validation import ValidationPlan
    from policyd.json_types import JSON
    from policyd.mutation.overlay import Overlay
    from policyd.policy.compile.exemptions import Exemption
    from policyd.policy.compile.reads.compiled_reads import CompiledRead
    from policyd.policy.compile.rollouts import CompiledRollout
    from policyd.policy.model.suite import Webhook

PolicyKind = Literal["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "Policy"]


@dataclass(frozen=True, slots=True)
class CompiledParamRef:
    """The paramRef of a binding; exactly one of ``name`` and ``selector`` is set."""

    name: str = ""
    namespace: str = ""
    selector: Mapping[str, JSON] | None = None
    deny_when_missing: bool = True


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding of a policy; a ``Policy`` has an implicit one, without name and match rules."""

    name: str = ""
    rules: MatchRules | None = None
    actions: tuple[str, ...] = ("Deny",)
    param_ref: CompiledParamRef | None = None


@dataclass(frozen=True, slots=True)
class CompiledMutation:
    """One entry of ``mutations``. ``kind`` is its patchType; ``overlay`` is set for overlays."""

    kind: str
    step: MutationStep
    overlay: Overlay | None = None


class InvocationKey(NamedTuple):
    """Identifies a mutating policy under one binding and param across the two rounds."""

    policy: tuple[str, str]
    binding: str
    param: tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledPolicy(PlannedPolicy):
    """One policy, ready to evaluate. Immutable except for its counters.

    ``rules`` match its requests, ``controllers`` (podControllers) the controllers whose template it
    evaluates. ``problem`` is set for a quarantined policy: at the webhooks ``broken_at`` matching
    requests are denied (failurePolicy Fail) or admitted (Ignore). ``param_kind`` is (apiVersion,
    kind) or None.
    ``made_of`` is a hash of its sources (``policy/compile/reuse.py``), empty in quarantine.
    ``namespace_fields`` are the paths of keys that its expressions read of namespaceObject, except
    matchConditions, where it is null.
    ``rollout`` is None for a policy that is enforced everywhere.
    ``exemptions`` are its own exceptions and the PolicyExceptions that name it; ``exempted_by`` is
    a hash of the latter.
    """

    kind: PolicyKind
    name: str
    source: str
    fail: bool
    rules: MatchRules
    counters: PolicyCounters
    controllers: MatchRules | None = None
    bindings: tuple[Binding, ...] = ()
    validation: ValidationPlan | None = None
    mutation: MutationPlan | None = None
    mutations: tuple[CompiledMutation, ...] = ()
    reinvoke: bool = False
    exemptions: tuple[Exemption, ...] = ()
    param_kind: tuple[str, str] | None = None
    params: JSON = None
    timeout_ns: int = 0
    problem: str = ""
    broken_at: tuple[Webhook, ...] = ()
    made_of: bytes = b""
    namespace_fields: frozenset[tuple[str, ...]] = frozenset()
    reads: tuple[CompiledRead, ...] = ()
    rollout: CompiledRollout | None = None
    exempted_by: bytes = b""
    invoked_once: bool = field(init=False)
    _exempting: ExemptionIndex = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Set ``invoked_once``, ``direct_validation`` and ``direct_mutation``.

        ``invoked_once``: one binding without match rules; no params, exemptions, rollout, problem.
        ``direct_validation``: its validation and ``params``, together because they are read for
        each request, if it is invoked once, has no separate timeout and does not use the
        authorizer; else None.
        ``direct_mutation``: likewise its mutations, if they do not use namespaceObject either.
        """
        once = (
            len(self.bindings) == 1
            and self.bindings[0].rules is None
            and self.param_kind is None
            and not self.exemptions
            and self.rollout is None
            and not self.problem
        )
        validation = None if self.timeout_ns or not once else self.validation
        if validation is not None and validation.frame.uses_authorizer:
            validation = None
        direct = None if validation is None else (validation, self.params)
        object.__setattr__(self, "invoked_once", once)
        object.__setattr__(self, "_exempting", indexed(self.exemptions))
        object.__setattr__(self, "direct_validation", direct)
        plan = None if self.timeout_ns or not once else self.mutation
        if plan is not None and (plan.frame.uses_authorizer or plan.frame.sees_namespace):
            plan = None
        mutation = None if plan is None else self.invocation(self.bindings[0], self.params)
        object.__setattr__(self, "direct_mutation", mutation)

    def invocation(
        self, binding: Binding, param: JSON, *, held: bool = False
    ) -> MutationInvocation | None:
        """Return what its mutations do under a binding and param; None if it has none. ``held``:
        its rollout does not enforce it.
        """
        if self.mutation is None:
            return None
        where = ("", "")
        if self.param_kind is not None and isinstance(param, dict):
            metadata = param.get("metadata") or {}
            where = (metadata.get("namespace") or "", metadata.get("name") or "")
        steps = [each.step for each in self.mutations]
        key = InvocationKey(self.sort_key, binding.name, where)
        return MutationInvocation(self.mutation, steps, param, key, self.reinvoke, held)

    def exemptions_near(self, namespace: str, name: str) -> list[Exemption]:
        """Return the exemptions that may apply to an object."""
        return self._exempting.near(namespace, name)

    @property
    def may_act_again(self) -> bool:
        """Whether it takes part in the second round of mutations: it is reinvoked, or it may have a
        new error in its configuration or matchConditions.
        """
        if self.reinvoke:
            return True
        conditional = self.mutation is not None and bool(self.mutation.conditions)
        return self.fail and (conditional or self.selects or not self.invoked_once)

    @property
    def selects(self) -> bool:
        """Whether the policy matches by labels."""
        return self.rules.selects or (self.controllers is not None and self.controllers.selects)

    @property
    def rule_sets(self) -> Iterator[MatchRules]:
        """Yield all rules that decide about requests: its own, of its bindings and its rollout."""
        rollout = None if self.rollout is None else self.rollout.namespaces
        bound = (binding.rules for binding in self.bindings)
        rules = (self.rules, self.controllers, *bound, rollout)
        return (each for each in rules if each is not None)

    @property
    def state(self) -> str:
        """Return ``active`` or ``quarantined``, the states of the metric ``policyd_policies``."""
        return "quarantined" if self.problem else "active"

    @property
    def sort_key(self) -> tuple[str, str]:
        """Return the key of the order of decisions: policy name, then kind."""
        return (self.name, self.kind)


# Which policies of a set are evaluated.
PolicyFilter = Callable[[CompiledPolicy], bool]
