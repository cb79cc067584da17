"""Which policies match the same resources at a webhook, whatever they select of them. No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from policyd.policy.model.suite import Webhook
from policyd.webhooks.needs.index import TargetIndex
from policyd.webhooks.needs.targets import ANY, RequestTarget
from policyd.webhooks.needs.webhook_needs import Shared, WebhookNeed


class Overlaps:
    """The policies by the requests that they match. Versions do not count: an object that is
    matched in one version is matched in all.
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

    def with_(self, policy: str, webhook: Webhook) -> frozenset[str]:
        """Return the other policies that match some of the same requests at the webhook."""
        found: set[str] = set()
        for target in dict.fromkeys(self._targets.get((policy, webhook), ())):
            found.update(name for other, name in self._about(target, webhook) if target.meet(other))
        return frozenset(found - {policy})

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
