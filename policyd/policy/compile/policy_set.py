"""CompiledPolicySet: all policies of the sources, compiled, indexed and immutable. Evaluates
nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from policyd._core.counting.counters import PolicyCounters
from policyd._core.match.equivalents import Equivalents
from policyd._core.match.matcher import Index
from policyd._core.plan.mutation import MutationPlan
from policyd._core.plan.validation import ValidationPlan
from policyd.defaulting.defaults import Defaults
from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.params import (
    KnownReads,
    Namespaces,
    ParamStore,
    UnknownReads,
    stored,
)
from policyd.policy.compile.reads.read_tables import ReadSource
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document
from policyd.versions import NEWEST, KubernetesVersion


class MatchIndex(StrEnum):
    """Which policies are matched: the ones of a webhook, or the ones that take part in a second
    round of mutations.
    """

    VALIDATE = "validate"
    MUTATE = "mutate"
    AGAIN = "again"


class CounterRegistry:
    """Counters by policy name; passed from one policy set to the next, so they never decrease."""

    def __init__(self) -> None:
        self._counters: dict[str, PolicyCounters] = {}

    def get(self, name: str) -> PolicyCounters:
        """Return the counters of a policy, created on first use."""
        counters = self._counters.get(name)
        if counters is None:
            counters = self._counters[name] = PolicyCounters(name)
        return counters

    def all(self) -> list[PolicyCounters]:
        """Return the counters of every policy ever loaded, sorted by name."""
        return [self._counters[name] for name in sorted(self._counters)]


@dataclass(eq=False, repr=False)
class CompiledPolicySet:
    """An immutable set of compiled policies; ``generation`` is a hash of its sources.

    ``problems`` are all problems of the sources, including the problems of quarantined policies.
    ``suites`` are the PolicyTest documents, ``exemption_ends`` is when each exception expires
    (None: never), ``version`` is the Kubernetes version whose behavior it follows. ``files`` are
    the classes of documents in each source file (``policy/source/losses.py``). ``objects_known``:
    reads find what is among the params; else only a cluster knows the objects of reads.
    """

    policies: tuple[CompiledPolicy, ...]
    _: KW_ONLY
    generation: str
    params: ParamStore
    namespaces: Namespaces
    schemas: Schemas
    equivalents: Equivalents
    registry: CounterRegistry
    mapper: ResourceMapper = BUILT_IN
    problems: tuple[Problem, ...] = ()
    suites: tuple[Document, ...] = ()
    exemption_ends: tuple[datetime | None, ...] = ()
    version: KubernetesVersion = NEWEST
    files: Mapping[str, frozenset[str]] = field(default_factory=dict)
    objects_known: bool = False

    def __post_init__(self) -> None:
        self.policies = tuple(sorted(self.policies, key=lambda policy: policy.sort_key))
        validating = [
            p for p in self.policies if p.validation is not None or "validate" in p.broken_at
        ]
        mutating = [p for p in self.policies if p.mutation is not None or "mutate" in p.broken_at]
        # The webhooks with policies that may need lookups in a cluster.
        self.with_lookups = frozenset(
            webhook
            for webhook, asks in (
                ("validate", any(_asks(p, p.validation, self.params) for p in validating)),
                ("mutate", any(_asks(p, p.mutation, self.params) for p in mutating)),
            )
            if asks
        )
        self.has_reads = any(policy.reads for policy in self.policies)
        # A second round of mutations matches again, and few policies take part in it.
        again = [policy for policy in mutating if policy.may_act_again]
        self.second_round = bool(again)
        # Whether the same policies match again: none depends on labels or bindings.
        self.steady = not any(policy.selects or not policy.invoked_once for policy in again)
        # The policies by what they match, in the order of decisions: the object of a request, and,
        # with podControllers, the Pod of its template.
        parts = {
            MatchIndex.VALIDATE: validating,
            MatchIndex.MUTATE: mutating,
            MatchIndex.AGAIN: again,
        }
        self.direct = {part: Index([(p.rules, p) for p in of]) for part, of in parts.items()}
        self.controllers = {
            part: Index([(p.controllers, p) for p in of if p.controllers is not None])
            for part, of in parts.items()
        }

    def with_namespaces(self, objects: Iterable[JSONObject]) -> "CompiledPolicySet":
        """Return the same policies with more namespaces, or some of them with other labels."""
        return self._with(namespaces=self.namespaces.including(objects))

    def reading(self, objects: Iterable[JSONObject]) -> "CompiledPolicySet":
        """Return the same policies, whose reads find these objects and those among the policies,
        and no others.
        """
        kinds = {(read.api_version, read.kind) for each in self.policies for read in each.reads}
        if not kinds:
            return self
        found = [
            stored(each, self.mapper, self.defaults)
            for each in objects
            if (each.get("apiVersion"), each.get("kind")) in kinds
        ]
        return self._with(params=self.params.including(found), objects_known=True)

    @cached_property
    def reads(self) -> ReadSource:
        """The objects of reads without a cluster."""
        if self.objects_known:
            return KnownReads(self.params, self.mapper)
        return UnknownReads("policyd runs without --cluster")

    def with_params(self, params: ParamStore) -> "CompiledPolicySet":
        """Return the same policies with other params, for evaluation without a cluster."""
        return self._with(params=params)

    def with_definitions(self, crds: Sequence[JSONObject]) -> "CompiledPolicySet":
        """Return the same policies, evaluated as if these usable CustomResourceDefinitions were
        among their documents.
        """
        if not crds:
            return self
        return self._with(
            mapper=self.mapper.with_definitions(crds),
            schemas=self.schemas.with_crds(crds),
            equivalents=self.equivalents.with_crds(crds),
            params=self.params.defining(crds),
        )

    @property
    def defaults(self) -> Defaults:
        """The defaults of the kinds that the policies know, in their version of Kubernetes."""
        return Defaults(self.schemas)

    def without(self, parts: Collection[tuple[str, Webhook]]) -> "CompiledPolicySet":
        """Return the same set without what these policies, by name, do at these webhooks."""
        if not parts:
            return self
        return replace(self, policies=tuple(_remaining(self.policies, parts)))

    @cached_property
    def enforced(self) -> "CompiledPolicySet":
        """The same set as it is once every rollout is over."""
        if all(policy.rollout is None for policy in self.policies):
            return self
        ended = tuple(replace(policy, rollout=None) for policy in self.policies)
        return replace(self, policies=ended)

    @cached_property
    def staged(self) -> "CompiledPolicySet":
        """The same set before any rollout is over, whatever the time."""
        if all(policy.rollout is None or not policy.rollout.until for policy in self.policies):
            return self
        return replace(self, policies=tuple(map(_before_until, self.policies)))

    def _with(self, **fields: object) -> "CompiledPolicySet":
        copy = object.__new__(CompiledPolicySet)
        copy.__dict__.update(self.__dict__, **fields)
        copy.__dict__.pop("reads", None)
        for stage in ("enforced", "staged"):
            other = copy.__dict__.pop(stage, self)
            if other is not self:
                copy.__dict__[stage] = other._with(**fields)
        return copy

    @property
    def quarantined(self) -> tuple[CompiledPolicy, ...]:
        """Return the policies that could not be compiled; their failurePolicy decides."""
        return tuple(policy for policy in self.policies if policy.problem)

    def counters(self) -> list[PolicyCounters]:
        """Return the counters of every policy ever loaded."""
        return self.registry.all()


def _before_until(policy: CompiledPolicy) -> CompiledPolicy:
    rollout = policy.rollout
    return policy if rollout is None else replace(policy, rollout=replace(rollout, until=None))


def _remaining(
    policies: Iterable[CompiledPolicy], parts: Collection[tuple[str, Webhook]]
) -> Iterator[CompiledPolicy]:
    """Yield the policies that still do something without these parts."""
    for policy in policies:
        validates = (policy.name, "validate") in parts and policy.validation is not None
        mutates = (policy.name, "mutate") in parts and policy.mutation is not None
        left = policy
        if validates:
            left = replace(left, validation=None)
        if mutates:
            left = replace(left, mutation=None, mutations=(), reinvoke=False)
        if left is policy or left.validation is not None or left.mutation is not None:
            yield left


def _asks(
    policy: CompiledPolicy, plan: ValidationPlan | MutationPlan | None, params: ParamStore
) -> bool:
    """Whether the policy uses reads, the authorizer, namespaceObject, namespace labels, or params
    that the sources do not determine.
    """
    kind = policy.param_kind
    if kind is not None and not all(params.settles(kind, b.param_ref) for b in policy.bindings):
        return True
    if any(each.selects_namespaces for each in policy.rule_sets):
        return True
    if plan is None:
        return False
    return plan.frame.uses_authorizer or plan.frame.sees_namespace or bool(plan.frame.reads)
