"""Chooses for each policy whether the API server or the webhook enforces it. No I/O.

``auto`` chooses by measured CPU time of the API server and policyd together, for the creation of a
Pod. A webhook call costs about 1,000 µs (1,600 if it mutates), 600 of them the API server's own,
and then next to nothing for each further policy. In the API server each policy costs:

    validating policies    1.36: 700 µs             1.37: 20 µs
    mutating policies      1.36: 850 to 1,700 µs    1.37: 700 to 1,100 µs
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from policyd.bounded_text import few
from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.placement.placed_documents import ServedKinds
from policyd.placement.placement import PlacedPart, Placement, PlacementMode, PolicyPart
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.model.suite import Webhook
from policyd.versions import KubernetesVersion
from policyd.webhooks.needs.targets import ANY, RequestTarget, TargetIndex
from policyd.webhooks.needs.webhook_needs import Shared, WebhookNeed, needs_of, webhooks_of


class Overlaps:
    """The policies by the requests that they match. Versions do not count: an object that matches
    in one version matches in all.
    """

    def __init__(self, needs: Sequence[WebhookNeed], shared: Shared) -> None:
        self._shared = shared
        self._targets: dict[tuple[str, Webhook], list[RequestTarget]] = {}
        for need in needs:
            known = self._targets.setdefault((need.policy.name, need.webhook), [])
            known += map(self._widened, need.targets)
        self._indexes = {
            webhook: TargetIndex(
                (target, name)
                for (name, of), targets in self._targets.items()
                if of == webhook
                for target in targets
            )
            for webhook in ("validate", "mutate")
        }

    def matches(self, policy: str, webhook: Webhook) -> bool:
        """Whether a policy matches any request."""
        return bool(self._targets.get((policy, webhook)))

    def with_(self, policy: str, webhook: Webhook) -> list[str]:
        """Return the other policies that match some of the same requests at the webhook, sorted."""
        found: set[str] = set()
        for target in dict.fromkeys(self._targets.get((policy, webhook), ())):
            found.update(name for other, name in self._about(target, webhook) if target.meet(other))
        return sorted(found - {policy})

    def _about(
        self, target: RequestTarget, webhook: Webhook
    ) -> Iterator[tuple[RequestTarget, str]]:
        index = self._indexes[webhook]
        pairs = [
            (group, resource)
            for group, resource in index.pairs
            if ANY in (group, target.group) or group == target.group
            if ANY in (resource, target.resource) or resource == target.resource
        ]
        for pair in pairs:
            yield from index.at(pair)

    def _widened(self, target: RequestTarget) -> RequestTarget:
        group = ANY if self._shared.may_be(target) else target.group
        return replace(target, group=group, version=ANY)


# From this version the API server evaluates validations without converting the object first.
CHEAP_VALIDATION = KubernetesVersion(1, 37)
# The number of validating policies for the same resources that cost as much as a webhook call.
MOST_VALIDATING = 48
_SHOWN = 3  # names of other policies in a reason


def choose(
    exports: Iterable[ExportedPolicy],
    policies: CompiledPolicySet,
    served: ServedKinds,
    mode: PlacementMode,
    refused: Mapping[PolicyPart, str] | None = None,
) -> Placement:
    """Choose for every part of every policy. ``exports`` are the exported policies; ``refused`` are
    the parts that the API server of this cluster refused before, and the reasons.

    With ``only`` a part that the API server cannot enforce is a problem of the placement.
    """
    chooser = _Chooser(exports, policies, served, refused or {})
    ways = {"auto": chooser.auto, "only": chooser.only, "never": chooser.never}
    found = list(ways[mode]())
    problems = [
        f"{each.kind} {each.policy} ({each.webhook}): {each.why}"
        for each in found
        if mode == "only" and each.engine == "webhook"
    ]
    return Placement(tuple(found), tuple(problems))


class _Chooser:
    def __init__(
        self,
        exports: Iterable[ExportedPolicy],
        policies: CompiledPolicySet,
        served: ServedKinds,
        refused: Mapping[PolicyPart, str],
    ) -> None:
        self._policies = policies
        self._served = served
        self._refused = refused
        self._exported: dict[tuple[str, str, Webhook], ExportedPart] = {
            (each.kind, each.name, part.webhook): part for each in exports for part in each.parts
        }
        self._overlaps = Overlaps(needs_of(policies), Shared.of(policies.equivalents))
        self._barred = {
            (policy.name, webhook): why
            for policy, webhook in self._each()
            if (why := self._bar(policy, webhook))
        }

    def never(self) -> Iterator[PlacedPart]:
        """Yield every part, for the webhook."""
        for policy, webhook in self._each():
            yield _at_webhook(policy, webhook, "--in-tree is never")

    def only(self) -> Iterator[PlacedPart]:
        """Yield every part, for the API server if possible."""
        for policy, webhook in self._each():
            barred = self._barred.get((policy.name, webhook))
            if barred is not None:
                yield _at_webhook(policy, webhook, barred)
            else:
                yield self._in_tree(policy, webhook, "--in-tree is only")

    def auto(self) -> Iterator[PlacedPart]:
        """Yield every part, for the cheaper engine."""
        for policy, webhook in self._each():
            costs = self._validating if webhook == "validate" else self._mutating
            why = self._barred.get((policy.name, webhook)) or _stale(policy)
            cheaper = False
            if not why:
                cheaper, why = costs(policy)
            yield (self._in_tree if cheaper else _at_webhook)(policy, webhook, why)

    def _each(self) -> Iterator[tuple[CompiledPolicy, Webhook]]:
        for policy in self._policies.policies:
            for webhook in webhooks_of(policy):
                yield policy, webhook

    def _in_tree(self, policy: CompiledPolicy, webhook: Webhook, why: str) -> PlacedPart:
        part = self._exported[policy.kind, policy.name, webhook]
        return PlacedPart(policy.kind, policy.name, webhook, "api-server", why, part.documents)

    def _bar(self, policy: CompiledPolicy, webhook: Webhook) -> str:
        """Return why the API server cannot enforce this part; empty if it can."""
        part = self._exported.get((policy.kind, policy.name, webhook))
        if policy.problem:
            return f"the policy has errors: {policy.problem}"
        if part is None or not (part.documents or part.reasons):
            return "the policy cannot be exported"
        if part.reasons:
            return "; ".join(f"{each.path}: {each.message}" for each in part.reasons)
        unserved = [each for each in part.documents if not self._served.serves(each)]
        if unserved:
            kind, version = unserved[0]["kind"], unserved[0]["apiVersion"]
            return f"the cluster does not serve {kind} of {version}"
        if policy.param_kind is not None and self._holds_params(policy.param_kind):
            return (
                f"{policy.param_kind[1]} objects are among the sources of the policies, and the API"
                " server reads only objects of the cluster"
            )
        return self._refused.get((policy.name, webhook), "")

    def _holds_params(self, kind: tuple[str, str]) -> bool:
        params = self._policies.params
        return any(params.kind_in(kind, namespaced).objects for namespaced in (True, False))

    def _validating(self, policy: CompiledPolicy) -> tuple[bool, str]:
        """Whether the API server validates at lower cost, and the reason."""
        if not self._overlaps.matches(policy.name, "validate"):
            return False, "it matches no request"
        others = self._overlaps.with_(policy.name, "validate")
        if self._policies.version < CHEAP_VALIDATION:
            if not others:
                return True, "no other policy validates its resources: no webhook call is needed"
            return False, (
                f"before Kubernetes {CHEAP_VALIDATION}, one webhook call costs less than"
                f" {1 + len(others)} validating policies for its resources: it and"
                f" {few(others, _SHOWN)}"
            )
        able = 1 + sum((name, "validate") not in self._barred for name in others)
        if able > MOST_VALIDATING:
            return (
                False,
                f"one webhook call costs less than {able} validating policies for its resources",
            )
        return True, "the API server validates for less than a webhook call"

    def _mutating(self, policy: CompiledPolicy) -> tuple[bool, str]:
        """Whether the API server mutates at lower cost, and the reason."""
        if not self._overlaps.matches(policy.name, "mutate"):
            return False, "it matches no request"
        others = self._overlaps.with_(policy.name, "mutate")
        if others:
            return False, (
                f"one webhook call costs less than {1 + len(others)} mutating policies for its"
                f" resources: it and {few(others, _SHOWN)}"
            )
        return True, "no other policy mutates its resources: no webhook call is needed"


def _at_webhook(policy: CompiledPolicy, webhook: Webhook, why: str) -> PlacedPart:
    return PlacedPart(policy.kind, policy.name, webhook, "webhook", why)


def _stale(policy: CompiledPolicy) -> str:
    """Return why the API server might use outdated params."""
    if policy.param_kind is None or policy.param_kind not in BUILTIN_KINDS:
        return ""
    # k8s.io/apiserver, admission/plugin/policy/generic/policy_source.go
    return (
        f"the API server never watches {policy.param_kind[1]} objects again once its last policy"
        " with params of that kind was deleted"
    )
