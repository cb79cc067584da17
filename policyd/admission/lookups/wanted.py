"""Computes the objects that a set of policies may look up in a cluster, so that they can be cached.

Computed once for each set. Looks up nothing.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from policyd._core.match.selectors import Selector
from policyd.admission.lookups.params import selector_text
from policyd.policy.compile.compiled import CompiledParamRef, CompiledPolicy
from policyd.policy.compile.params import ParamStore
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.compile.reads.compiled_reads import CompiledRead

# The fields of each namespace that policies read, by their keys; empty if they need none.
WantedNamespaces = frozenset[tuple[str, ...]]
_LABELS = ("metadata", "labels")


@dataclass(frozen=True, slots=True)
class WantedParams:
    """Objects of one kind that bindings refer to, in one namespace; if ``namespace`` is empty, in
    all namespaces, or of a cluster-scoped kind.

    ``names`` are those that a binding names; ``selectors`` are the selectors, by their syntax in
    list requests.
    """

    api_version: str
    kind: str
    namespace: str
    names: frozenset[str]
    selections: frozenset[str]
    selectors: Mapping[str, Selector] = field(compare=False)

    def covers(self, name: str, labels: dict[str, str]) -> bool:
        """Whether a binding may refer to an object with this name and these labels."""
        return name in self.names or any(
            selector.matches(labels) for selector in self.selectors.values()
        )


@dataclass(frozen=True, slots=True)
class WantedReads:
    """Objects of one kind that policies read, in all namespaces or in one, with the paths of the
    keys that they use.
    """

    api_version: str
    kind: str
    namespace: str
    fields: frozenset[tuple[str, ...]]
    reads: frozenset[CompiledRead] = field(compare=False)

    @property
    def place(self) -> tuple[str, str, str]:
        """Return the kind and namespace of the objects, regardless of the keys used."""
        return self.api_version, self.kind, self.namespace


@dataclass(frozen=True, slots=True)
class WantedLookups:
    """The namespaces, params and objects of reads that policies may need."""

    namespaces: WantedNamespaces = frozenset()
    params: frozenset[WantedParams] = frozenset()
    reads: frozenset[WantedReads] = frozenset()


def wanted_lookups(policies: CompiledPolicySet) -> WantedLookups:
    """Return the objects that these policies may look up."""
    return WantedLookups(
        _namespaces(policies.policies), _params(policies), _reads(policies.policies)
    )


def _reads(policies: Iterable[CompiledPolicy]) -> frozenset[WantedReads]:
    kinds: dict[tuple[str, str], list[CompiledRead]] = {}
    for policy in policies:
        for read in policy.reads:
            kinds.setdefault((read.api_version, read.kind), []).append(read)
    return frozenset(
        WantedReads(*kind, place, fields_of(those), frozenset(those))
        for kind, listed in kinds.items()
        for places in [{read.place for read in listed}]
        # One list of all namespaces also serves the reads of single ones.
        for place in ({""} if "" in places else places)
        for those in [[read for read in listed if place in ("", read.place)]]
    )


def fields_of(reads: Iterable[CompiledRead]) -> frozenset[tuple[str, ...]]:
    """Return the fields that any of these reads uses, without fields below others."""
    used = frozenset(path for read in reads for path in read.fields)
    return frozenset(
        path for path in used if not any(path[:end] in used for end in range(len(path)))
    )


def uncovered(
    fields: Iterable[tuple[str, ...]], kept: Container[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Return the fields that are not below a kept one, sorted."""
    return sorted(
        path for path in fields if not any(path[:end] in kept for end in range(len(path) + 1))
    )


def _namespaces(policies: Iterable[CompiledPolicy]) -> WantedNamespaces:
    """Return the fields of namespaces that policies read, always including the labels."""
    labels, fields = False, frozenset[tuple[str, ...]]()
    for policy in policies:
        for plan in (policy.validation, policy.mutation):
            if plan is not None and plan.frame.sees_namespace:
                labels, fields = True, fields | policy.namespace_fields
        labels = labels or any(each.selects_namespaces for each in policy.rule_sets)
    return fields | {_LABELS} if labels else fields


def _params(policies: CompiledPolicySet) -> frozenset[WantedParams]:
    refs: dict[tuple[str, str], list[CompiledParamRef]] = {}
    for kind, ref in _references(policies.policies, policies.params):
        refs.setdefault(kind, []).append(ref)
    return frozenset(
        _wanted(kind, namespace, [each for each in those if namespace in ("", each.namespace)])
        for kind, those in refs.items()
        # Without a namespace it refers to the request's, or to a cluster-scoped kind.
        for places in [{each.namespace for each in those}]
        for namespace in ({""} if "" in places else places)
    )


def _references(
    policies: Iterable[CompiledPolicy], given: ParamStore
) -> Iterator[tuple[tuple[str, str], CompiledParamRef]]:
    """Yield the kinds and references that the policy sources do not settle."""
    for policy in policies:
        kind = policy.param_kind
        for binding in policy.bindings if kind is not None else ():
            ref = binding.param_ref
            if kind is not None and ref is not None and not given.settles(kind, ref):
                yield kind, ref


def _wanted(kind: tuple[str, str], namespace: str, refs: list[CompiledParamRef]) -> WantedParams:
    selectors: dict[str, Selector] = {}
    for ref in refs:
        if ref.name:
            continue
        try:
            selectors[selector_text(ref.selector or {})] = Selector(dict(ref.selector or {}))
        except ValueError:
            continue  # the binding is an error for every request
    names = frozenset(ref.name for ref in refs if ref.name)
    return WantedParams(*kind, namespace, names, frozenset(selectors), selectors)
