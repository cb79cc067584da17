"""What the calls do: which policies match, what is denied, and the cost in CEL's units. Counts
once; measures no time.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from policyd.admission import engine
from policyd.admission.decision import Verdict
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.offline.ignored import EffectRecorder
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook

SortKey = tuple[str, str]  # the sort_key of a policy: name, kind


@dataclass(frozen=True, slots=True)
class Census:
    """The calls of one webhook: how many matched a policy, were denied, and had an error in a
    policy; for each policy that matched, the number of calls and its cost units in all of them.
    """

    webhook: Webhook
    calls: int
    matched: int
    denied: int
    errors: int
    matches: dict[SortKey, int]
    units: dict[SortKey, int]


def census(
    policies: CompiledPolicySet,
    calls: Iterable[WebhookRequest],
    webhook: Webhook,
    authorizer: Authorizer | None = None,
) -> Census:
    """Evaluate every call of a webhook once."""
    matches: Counter[SortKey] = Counter()
    before = {each.sort_key: each.counters.snapshot()["cost"] for each in policies.policies}
    made = matched = denied = errors = 0
    for call in calls:
        if call.webhook != webhook:
            continue
        seen: set[SortKey] = set()

        def note(policy: CompiledPolicy, seen: set[SortKey] = seen) -> bool:
            seen.add(policy.sort_key)
            return True

        verdict, recorder = Verdict(), EffectRecorder()
        response = engine.review(
            policies,
            decode(call.body),
            webhook=webhook,
            recorder=recorder,
            only=note,
            authorizer=authorizer,
            verdict=verdict,
        )
        made += 1
        matches.update(seen)
        matched += bool(seen)
        denied += not response.allowed
        found = verdict.findings
        errors += any(each.error for each in found) or bool(recorder.ignored(found))
    after = {each.sort_key: each.counters.snapshot()["cost"] for each in policies.policies}
    units = {key: after[key] - before[key] for key in matches}
    return Census(webhook, made, matched, denied, errors, dict(matches), units)
