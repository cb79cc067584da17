"""The requests that are repeated: those that the API server would send."""

import orjson
import pytest

from policyd.benchmark.corpus import corpus
from policyd.benchmark.webhook_requests import Review, WebhookRequest, digest, requests_of
from policyd.errors import ReviewError
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import demand, denying, labelling, policy
from tests.policy_sets import compiled

LABELLED = policy("labelled", validations=[demand("'team' in object.metadata.labels", "no team")])
LABELS = policy("labels", mutations=[labelling("team", "'shop'")])


def given(obj: JSONObject, *, built: bool = False) -> Review:
    return Review("here:1", build_review(obj), built=built)


def sent(request: WebhookRequest) -> JSONObject:
    found: JSONObject = orjson.loads(request.body)["request"]["object"]
    return found


def test_the_validating_webhook_gets_the_mutated_object() -> None:
    first, second = requests_of(compiled(LABELS, LABELLED), [given(pod())])
    assert (first.webhook, second.webhook) == ("mutate", "validate")
    assert "labels" not in sent(first)["metadata"]
    assert sent(second)["metadata"]["labels"] == {"team": "shop"}


def test_webhooks_without_policies_are_not_called() -> None:
    assert [each.webhook for each in requests_of(compiled(LABELS), [given(pod())])] == ["mutate"]
    found = requests_of(compiled(LABELLED), [given(pod())])
    assert [each.webhook for each in found] == ["validate"]


def test_a_review_that_records_its_webhook_goes_there_only() -> None:
    recorded = Review("here:1", build_review(pod()), ("validate",))
    assert [each.webhook for each in requests_of(compiled(LABELS, LABELLED), [recorded])] == [
        "validate"
    ]


def test_nothing_follows_a_denial() -> None:
    broken = policy("broken", mutations=[labelling("x", "object.spec.nothing")])
    found = requests_of(compiled(broken, LABELLED), [given(pod())])
    assert [each.webhook for each in found] == ["mutate"]


def test_manifests_get_defaults_and_recorded_reviews_do_not() -> None:
    policies = compiled(denying())
    defaults = policies.defaults
    built, recorded = requests_of(
        policies, [given(pod(), built=True), given(pod())], defaults=defaults
    )
    assert sent(built)["spec"]["restartPolicy"] == "Always"
    assert "restartPolicy" not in sent(recorded)["spec"]


def test_what_is_no_review_is_an_error_with_its_place() -> None:
    with pytest.raises(ReviewError, match="here:1: request must be an object"):
        requests_of(
            compiled(denying()),
            [Review("here:1", {**build_review(pod()), "request": 1})],
        )


def test_a_hash_depends_on_every_review_and_their_order() -> None:
    one, two = given(pod(name="one")), given(pod(name="two"))
    assert len({digest(each) for each in ([], [one], [two], [one, two], [two, one])}) == 5
    assert digest([one, two]) == digest([one, two])


def test_the_built_in_reviews_have_what_clusters_have() -> None:
    found = corpus()
    what = {
        (each.review["request"]["operation"], each.review["request"]["kind"]["kind"])
        for each in found
    }
    wanted = {("CREATE", "Pod"), ("UPDATE", "Pod"), ("DELETE", "Pod"), ("CREATE", "Deployment")}
    assert wanted <= what
    assert len({kind for _, kind in what}) > 12
    policies = compiled(denying())
    assert len(requests_of(policies, found)) == len(found)
