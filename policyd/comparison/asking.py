"""Sends recorded requests to another product: to its mutating webhooks one after the other, each
with the object that the previous one returned, then to its validating ones.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from queue import SimpleQueue

import orjson

from policyd._core.patch.apply import apply
from policyd.admission.lookups.authorizer import Authorizer
from policyd.benchmark.client import RequestFailed
from policyd.comparison.findings import RuleFinding, findings_in
from policyd.comparison.sending import Reach, Sender
from policyd.defaulting.defaults import Defaults
from policyd.errors import ConfigError, PatchError
from policyd.json_types import JSON, JSONObject
from policyd.offline.replaying import Recorded
from policyd.policy.model.suite import Webhook
from policyd.versions import KubernetesVersion
from policyd.webhooks.calls import Calls, Hook, HookCall, called

# So many failures before any answer mean that the webhook does not exist or is not reachable.
_HOPELESS = 3

Ask = Callable[[Hook, JSONObject], JSONObject]


@dataclass(frozen=True, slots=True)
class OtherAnswer:
    """The combined answers of all webhooks of one kind. ``after``: the object with their patches.

    ``unknown``: why they were not called. ``failure``: why one of them did not answer.
    """

    webhook: Webhook
    allowed: bool
    findings: tuple[RuleFinding, ...]
    after: JSON
    unknown: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class OtherProduct:
    """The webhooks of another product. ``namespaces`` are Namespace objects."""

    hooks: Sequence[Hook]
    namespaces: Sequence[JSONObject]
    authorizer: Authorizer | None
    defaults: Defaults
    version: KubernetesVersion

    def answers(self, recorded: Recorded, ask: Ask) -> Iterator[OtherAnswer]:
        """Yield the answers of the mutating webhooks, then of the validating ones, no matter which
        received the recorded request. Stop at a denial.
        """
        request = dry(recorded.request)
        for webhook in recorded.webhooks:
            answer = self._answer(webhook, request, ask)
            yield answer
            if not answer.allowed or answer.unknown or answer.failure:
                return
            request = {**request, "object": self.defaults.applied(answer.after)}

    def called(self, recorded: Recorded) -> list[Hook]:
        """Return the webhooks that would be called unless a patch changes that."""
        calls = self._calls(dry(recorded.request))
        return [each.hook for webhook in recorded.webhooks for each in _of(calls, webhook)]

    def _calls(self, request: JSONObject) -> Calls:
        return called(
            self.hooks,
            request,
            namespaces=self.namespaces,
            authorizer=self.authorizer,
            version=self.version,
        )

    def _answer(self, webhook: Webhook, request: JSONObject, ask: Ask) -> OtherAnswer:
        obj, findings, allowed = request.get("object"), list[RuleFinding](), True
        calls = self._calls(request)
        unknown = _unknown(calls, webhook, request)
        if unknown:
            return OtherAnswer(webhook, True, (), obj, unknown=unknown)
        for call in _of(calls, webhook):
            try:
                response = ask(call.hook, {**request, "object": obj})
                if webhook == "mutate" and response.get("patch"):
                    obj = apply(orjson.loads(b64decode(response["patch"])), obj)
            except (RequestFailed, PatchError, ValueError, TypeError) as error:
                failure = f"{call.hook.name}: {error}"
                return OtherAnswer(webhook, True, (), obj, failure=failure)
            findings += findings_in(response)
            allowed = allowed and response["allowed"]
            if webhook == "mutate" and not allowed:
                break
        return OtherAnswer(webhook, allowed, tuple(findings), obj)


def answers_to(
    recorded: Sequence[Recorded], product: OtherProduct, reach: Reach, connections: int
) -> Iterator[tuple[OtherAnswer, ...]]:
    """Yield the answers to each request, sending several at the same time. Raises ConfigError
    if the first ones are not answered.
    """
    senders, failures = SimpleQueue[Sender](), 0

    def answers(each: Recorded) -> tuple[OtherAnswer, ...]:
        sender = senders.get()
        try:
            return tuple(product.answers(each, sender.ask))
        finally:
            senders.put(sender)

    with ExitStack() as stack, ThreadPoolExecutor(connections, "compare") as pool:
        for _ in range(connections):
            senders.put(Sender(reach, stack))
        try:
            for number, found in enumerate(pool.map(answers, recorded), 1):
                failures += bool(found[-1].failure)
                if failures == number == min(_HOPELESS, len(recorded)):
                    raise ConfigError(f"the other product does not answer: {found[-1].failure}")
                yield found
        finally:  # otherwise the pool would first send all others
            pool.shutdown(cancel_futures=True)


def dry(request: JSONObject) -> JSONObject:
    """Return the request as a dry run, which has no effects."""
    return {**request, "dryRun": True}


def _of(calls: Calls, webhook: Webhook) -> tuple[HookCall, ...]:
    return calls.mutating if webhook == "mutate" else calls.validating


def _unknown(calls: Calls, webhook: Webhook, request: JSONObject) -> str:
    """Return why the request to the webhooks of this kind is not known."""
    rejection = calls.rejection
    if rejection is not None and rejection.hook.mutates == (webhook == "mutate"):
        return rejection.message
    for other in calls.others:
        if other.undecided and other.hook.mutates == (webhook == "mutate"):
            return f"{other.hook.name}: {other.reason}"
    recorded = request.get("resource") or {}
    for call in _of(calls, webhook):
        group, version, _ = call.resource
        if (recorded.get("group", ""), recorded.get("version", "")) != (group, version):
            wanted = f"{group}/{version}" if group else version
            return f"{call.hook.name} sees the object in {wanted}, which was not recorded"
    return ""
