"""The calls of webhooks that a benchmark repeats: made once, from reviews, as the API server would
make them. Measures nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import orjson

from policyd.admission import engine
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import API_VERSION, KIND, decode
from policyd.defaulting.defaults import Defaults
from policyd.errors import ReviewError
from policyd.json_types import JSONObject
from policyd.offline.admitting import BOTH, Turns
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook


@dataclass(frozen=True, slots=True)
class Review:
    """A review and where it is from. ``webhooks``: which of them get it; ``built``: of a manifest,
    which lacks the API server's defaults.
    """

    place: str
    review: JSONObject
    webhooks: tuple[Webhook, ...] = BOTH
    built: bool = False


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """The body of one request to a webhook, and the uid that its answer must have."""

    place: str
    webhook: Webhook
    body: bytes
    uid: object

    @classmethod
    def of(cls, place: str, webhook: Webhook, request: JSONObject) -> "WebhookRequest":
        """Return the call with the AdmissionReview of a request."""
        review = {"kind": KIND, "apiVersion": API_VERSION, "request": request}
        return cls(place, webhook, orjson.dumps(review), request.get("uid"))


def requests_of(
    policies: CompiledPolicySet,
    reviews: Iterable[Review],
    authorizer: Authorizer | None = None,
    defaults: Defaults | None = None,
) -> list[WebhookRequest]:
    """Return the calls for these reviews. A review for both webhooks is mutated first: the
    validating one gets the mutated object, and nothing after a denial. Webhooks without policies
    are not called.

    Raises ReviewError with the place of what is not an AdmissionReview.
    """
    used = used_webhooks(policies)
    made: list[WebhookRequest] = []
    for each in reviews:
        webhooks = tuple(webhook for webhook in each.webhooks if webhook in used)
        if not webhooks:
            continue
        try:
            turns = Turns(decode(dict(each.review)), webhooks, defaults, built=each.built)
            for request, webhook in turns:
                call = WebhookRequest.of(each.place, webhook, request.raw)
                response = engine.review(
                    policies, decode(call.body), webhook=webhook, authorizer=authorizer
                )
                turns.add(response)
                made.append(call)
        except ReviewError as error:
            raise ReviewError(f"{each.place}: {error}") from None
    return made


def used_webhooks(policies: CompiledPolicySet) -> tuple[Webhook, ...]:
    """Return the webhooks for which there are policies."""
    used = {
        "mutate": any(each.mutation is not None for each in policies.policies),
        "validate": any(each.validation is not None for each in policies.policies),
    }
    return tuple(webhook for webhook in BOTH if used[webhook])


def digest(reviews: Iterable[Review]) -> str:
    """Return a short hash of reviews, in their order."""
    whole = sha256()
    for each in reviews:
        body = orjson.dumps((each.webhooks, each.built, each.review))
        whole.update(f"{len(body)} ".encode() + body)
    return whole.hexdigest()[:16]
