"""Reviews that wait for their authorizer: the answers of one that knows everything, in its order."""

import asyncio
import json
from collections.abc import Coroutine
from time import perf_counter_ns
from typing import Any, TypeVar

import pytest

from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.lookups.authorizer import (
    AccessDecision,
    Attributes,
    AuthorizerRule,
    Failure,
    StaticAuthorizer,
)
from policyd.admission.review import decode, to_dict
from policyd.admission.with_cluster import review_with
from policyd.json_types import JSONObject
from tests.admission.lookups import clusters
from tests.admission.lookups.samples import (
    SECOND,
    Listening,
    adding,
    get,
    request_of,
    reviewed,
    validating,
)
from tests.builders.policies import vap, vap_binding
from tests.conformance.apiserver_rows import authorizer as recorded
from tests.policy_sets import compiled
from tests.shared import conformance

Result = TypeVar("Result")


class Cluster:
    """Fetches from a table; notes what was asked, and how much of it at the same time."""

    def __init__(self, *rules: AuthorizerRule) -> None:
        self.table = StaticAuthorizer(rules)
        self.asked: list[Attributes] = []
        self.rounds: list[int] = []
        self._open = 0

    async def fetch(self, attributes: Attributes) -> AccessDecision:
        self.asked.append(attributes)
        self._open += 1
        for _ in range(3):  # others are asked meanwhile
            await asyncio.sleep(0)
        self.rounds.append(self._open)
        await asyncio.sleep(0)
        self._open -= 1
        return self.table.check(attributes)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


SECRETS = AuthorizerRule(resource="secrets", reason="trusted")
NODES = AuthorizerRule(resource="nodes", error="no answer")
TWO_BINDINGS = (
    vap("v", validations=[{"expression": f"!{get('secrets')}.allowed()", "message": "v"}]),
    vap_binding("b1", policyName="v"),
    vap_binding("b2", policyName="v", validationActions=["Warn"]),
)
SETS: dict[str, tuple[Webhook, tuple[JSONObject, ...]]] = {
    "one": ("validate", (validating("a", f"{get('secrets')}.allowed()"),)),
    "denied": ("validate", (validating("a", f"{get('pods')}.allowed()"),)),
    "errored": ("validate", (validating("a", f"{get('nodes')}.errored()"),)),
    "between others": (
        "validate",
        (
            validating("a", "false"),
            validating("b", f"{get('pods')}.allowed()", f"{get('secrets')}.allowed()", "false"),
            validating("c", "false", validationActions=["Warn"]),
        ),
    ),
    "bindings": ("validate", (*TWO_BINDINGS, validating("a", "false"), validating("w", "false"))),
    "skipped": (
        "validate",
        (
            validating(
                "a",
                "false",
                matchConditions=[{"name": "c", "expression": f"{get('pods')}.allowed()"}],
            ),
        ),
    ),
    "mutations": (
        "mutate",
        (
            adding(
                "a",
                "string(object.metadata.labels.size())",
                f"{get('secrets')}.reason() + object.metadata.labels['l0']",
            ),
            adding("b", "object.metadata.labels['l1'] + 'y'", reinvocationPolicy="IfNeeded"),
        ),
    ),
    "a mutation that fails before one that waits": (
        "mutate",
        (
            adding(
                "a", "string(1 / (object.metadata.labels.size() - 1))", f"{get('secrets')}.reason()"
            ),
        ),
    ),
    "reinvoked": (
        "mutate",
        (
            adding("a", f"{get('secrets')}.reason() + 'x'", reinvocationPolicy="IfNeeded"),
            adding("b", "'b'"),
        ),
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_who_waits_comes_to_the_same_as_who_knows(name: str) -> None:
    webhook, documents = SETS[name]
    cluster = Cluster(SECRETS, NODES)
    once, later = compiled(*documents), compiled(*documents)
    told, told_later = Listening(), Listening()
    request = request_of()
    want = engine.review(once, request, webhook=webhook, recorder=told, authorizer=cluster.table)
    found = reviewed(clusters.Users(cluster.fetch), later, webhook, recorder=told_later)
    assert cluster.asked
    assert to_dict(found)["response"] | {"uid": ""} == to_dict(want)["response"] | {"uid": ""}
    assert sorted(told_later.told) == sorted(told.told)
    decisions = [
        [each.snapshot()["decisions"] for each in policies.counters()] for policies in (once, later)
    ]
    assert decisions[0] == decisions[1]


def test_rows_of_a_real_api_server_come_to_the_same() -> None:
    rows = [
        row
        for row in conformance("apiserver/vap-cel.jsonl")
        if row["review"] and "authorizer." in json.dumps(row["policies"])
    ]

    async def fetch(attributes: Attributes) -> AccessDecision:
        return recorded().check(attributes)

    for row in rows:
        policies = compiled(*row["policies"])
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        request = decode({**review, "request": row["review"]})
        want = engine.review(policies, request, webhook="validate", authorizer=recorded())
        found = run(review_with(clusters.Users(fetch), policies, request, webhook="validate"))
        assert found == want, row["id"]
    print(f"{len(rows)} passed of {len(rows)}")
    assert len(rows) > 30


def test_what_policies_ask_at_the_same_time_is_fetched_so_and_each_question_once() -> None:
    cluster = Cluster(AuthorizerRule())
    both = f"{get('pods')}.allowed() && {get('secrets')}.allowed()"
    documents = [validating(name, both) for name in "abc"]
    policies = compiled(*documents, validating("d", f"{get('nodes')}.allowed()"))
    assert reviewed(clusters.Users(cluster.fetch), policies).allowed
    assert sorted(each.resource for each in cluster.asked) == ["nodes", "pods", "secrets"]
    assert cluster.rounds == [2, 2, 1]


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_fetch_that_does_not_end_is_cut_at_the_deadline(
    webhook: Webhook, failure_policy: str, allowed: bool
) -> None:
    make, member = (adding, "reason") if webhook == "mutate" else (validating, "allowed")
    policies = compiled(make("a", f"{get('pods')}.{member}()", failurePolicy=failure_policy))
    # Long enough to be evaluated before it passes, however busy the machine.
    response = reviewed(
        clusters.Users(clusters.never), policies, webhook, deadline=perf_counter_ns() + SECOND // 2
    )
    assert response.allowed is allowed
    if not allowed:
        assert "not known in time whether 'bob' may get pods" in response.message


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_a_policy_waits_no_longer_than_its_own_time_and_the_others_go_on(webhook: Webhook) -> None:
    async def fetch(attributes: Attributes) -> AccessDecision:
        if attributes.resource == "pods":
            await clusters.never(attributes)
        await asyncio.sleep(0.5)  # longer than the first policy has
        return AccessDecision(True, "x")

    make, member = (adding, "reason") if webhook == "mutate" else (validating, "allowed")
    documents = (
        make("a", f"{get('pods')}.{member}()", timeoutSeconds=0.3, failurePolicy="Ignore"),
        make("b", f"{get('secrets')}.{member}()"),
        make("c", f"{get('nodes')}.{member}()"),
    )
    told = Listening()
    started = perf_counter_ns()
    deadline = started + 20 * SECOND
    response = reviewed(
        clusters.Users(fetch), compiled(*documents), webhook, deadline=deadline, recorder=told
    )
    assert perf_counter_ns() - started < 10 * SECOND
    assert response.allowed
    assert (response.patch is not None) is (webhook == "mutate")
    assert [row[1] for row in told.told if row[0] == "error"] == ["a"]
    assert sorted(told.lookups) == ["success", "success", "timeout"]


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_question_that_cannot_be_answered_is_an_evaluation_error_that_names_it(
    webhook: Webhook, failure_policy: str, allowed: bool
) -> None:
    async def fetch(attributes: Attributes) -> Failure:
        return Failure("the line is dead")

    make, member = (adding, "reason") if webhook == "mutate" else (validating, "allowed")
    told = Listening()
    policies = compiled(make("a", f"{get('pods')}.{member}()", failurePolicy=failure_policy))
    response = reviewed(clusters.Users(fetch), policies, webhook, recorder=told)
    assert response.allowed is allowed
    (row,) = told.told
    assert "cannot find out whether 'bob' may get pods: the line is dead" in row[2]
    assert told.lookups == ["error"]
    absorbed = compiled(make("a", "true" if webhook == "validate" else "'x'"))
    assert reviewed(clusters.Users(fetch), absorbed, webhook).allowed
    either = compiled(validating("a", f"{get('pods')}.allowed() || true"))
    assert reviewed(clusters.Users(fetch), either).allowed


def test_the_event_loop_goes_on_meanwhile_and_a_cancelled_review_cancels_its_fetches() -> None:
    cancelled: list[Attributes] = []

    async def fetch(attributes: Attributes) -> AccessDecision:
        try:
            return await clusters.never(attributes)
        finally:
            cancelled.append(attributes)

    async def scenario() -> None:
        request = request_of()
        policies = compiled(validating("a", f"{get('pods')}.allowed()"))
        review = asyncio.ensure_future(
            review_with(clusters.Users(fetch), policies, request, webhook="validate")
        )
        for _ in range(10):
            await asyncio.sleep(0)
        assert not review.done()
        review.cancel()
        with pytest.raises(asyncio.CancelledError):
            await review
        await asyncio.sleep(0)

    run(scenario())
    assert len(cancelled) == 1


class Ignorant:
    """Knows nothing yet, and nobody fetches for it."""

    def check(self, attributes: Attributes) -> AccessDecision | None:
        return None


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_without_waiting_what_is_not_known_is_an_error(
    webhook: Webhook, failure_policy: str, allowed: bool
) -> None:
    expression = f"{get('pods')}.allowed() || true"
    make, text = (
        (adding, f"string({expression})") if webhook == "mutate" else (validating, expression)
    )
    document = make("a", text, failurePolicy=failure_policy)
    request = request_of()
    response = engine.review(compiled(document), request, webhook=webhook, authorizer=Ignorant())
    assert response.allowed is allowed
    if not allowed:
        assert "authorizer: it is not known in time whether 'bob' may get pods" in response.message
