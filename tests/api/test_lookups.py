"""areview and aevaluate: what policies need to know of a cluster is looked up, and nothing else."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from policyd import (
    AccessDecision,
    Attributes,
    Failure,
    Lookups,
    PolicySet,
    ReviewResult,
    StaticAuthorizer,
    build_review,
)
from policyd.json_types import JSONObject
from tests.api.objects import POD, in_tree, labels, requiring
from tests.builders.policies import labelling

MAY = "authorizer.group('').resource('pods').namespace('shop').check('delete').allowed()"
IN_PROD = "namespaceObject.metadata.labels.stage == 'prod'"


class Known(Lookups):
    """Knows everything at once, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def authorize(self, attributes: Attributes) -> AccessDecision | Failure:
        self.asked.append(str(attributes))
        return AccessDecision(attributes.user == "bob")

    async def namespace(self, name: str) -> JSONObject | Failure:
        self.asked.append(name)
        metadata = {"name": name, "labels": {"stage": name}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    async def is_namespaced(self, api_version: str, kind: str) -> bool | Failure | None:
        self.asked.append((api_version, kind))
        return {"Limit": True, "Global": False}.get(kind)

    async def params(
        self, api_version: str, kind: str, *, namespace: str, name: str, selector: str
    ) -> Sequence[JSONObject] | Failure:
        self.asked.append((kind, namespace, name, selector))
        if name == "missing":
            return []
        metadata = {"name": name or "found", "namespace": namespace, "labels": {"for": "pods"}}
        other = {"metadata": {"name": "other", "namespace": namespace}, "most": 0}
        return [{"metadata": metadata, "most": 1}, other]


def evaluated(
    lookups: Lookups | None, *documents: JSONObject, user: str = "bob", **given: Any
) -> ReviewResult:
    authorizer = given.pop("authorizer", None)
    policies = PolicySet.from_documents(*documents, authorizer=authorizer)
    review = build_review(POD, user=user, namespace="prod")
    return asyncio.run(policies.aevaluate(review, lookups=lookups, **given))


@pytest.mark.parametrize(("user", "allowed"), [("bob", True), ("ann", False)])
def test_the_authorizer_is_looked_up_once(user: str, allowed: bool) -> None:
    known = Known()
    result = evaluated(known, requiring("a", MAY), requiring("b", MAY), user=user)
    assert result.allowed is allowed
    assert known.asked == [f"'{user}' may delete pods in namespace shop"]


def test_an_authorizer_of_the_set_or_of_the_call_answers_first() -> None:
    known = Known()
    rules = StaticAuthorizer([{"user": "ann"}])
    assert evaluated(known, requiring("a", MAY), user="ann", authorizer=rules).allowed
    policies, review = PolicySet.from_documents(requiring("a", MAY)), build_review(POD, user="ann")
    work = policies.areview(review, lookups=known, authorizer=rules)
    assert asyncio.run(work)["response"]["allowed"]
    assert known.asked == []


def test_namespaces_are_looked_up_for_both_webhooks() -> None:
    known = Known()
    mutation = labelling("stage", "namespaceObject.metadata.labels.stage")
    result = evaluated(known, requiring("stage", mutations=[mutation]), requiring("prod", IN_PROD))
    assert result.allowed
    assert result.object is not None
    assert result.object["metadata"]["labels"] == {"stage": "prod"}
    assert known.asked == ["prod", "prod"]


PARAMS: list[tuple[str, JSONObject, Any, bool]] = [
    ("Limit", {"name": "pods", "parameterNotFoundAction": "Deny"}, ("prod", "pods", ""), True),
    ("Global", {"name": "pods", "parameterNotFoundAction": "Deny"}, ("", "pods", ""), True),
    ("Limit", {"name": "missing", "parameterNotFoundAction": "Deny"}, ("prod", "missing", ""), False),
    ("Limit", {"name": "missing", "parameterNotFoundAction": "Allow"}, ("prod", "missing", ""), True),
    (
        "Limit",
        {"selector": {"matchLabels": {"for": "pods"}}, "parameterNotFoundAction": "Deny"},
        ("prod", "", "for=pods"),
        True,
    ),
    ("Unknown", {"name": "pods", "parameterNotFoundAction": "Deny"}, None, False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "ref", "asked", "allowed"), PARAMS)
def test_params_are_looked_up(kind: str, ref: JSONObject, asked: Any, allowed: bool) -> None:
    known = Known()
    bound, binding = in_tree("limit", "size(object.spec.containers) <= params.most", paramRef=ref)
    bound["spec"]["paramKind"] = {"apiVersion": "example.com/v1", "kind": kind}
    assert evaluated(known, bound, binding).allowed is allowed
    wanted = [("example.com/v1", kind)]
    assert known.asked == [*wanted, *([(kind, *asked)] if asked else [])]


def test_nothing_is_looked_up_that_no_policy_needs() -> None:
    known = Known()
    assert not evaluated(known, requiring("no", "false"), labels("team", team="a")).allowed
    assert known.asked == []


@pytest.mark.parametrize("lookups", [None, type("Nothing", (Lookups,), {})()])
def test_what_nobody_looks_up_is_an_error_of_the_policy(lookups: Lookups | None) -> None:
    (found,) = evaluated(lookups, requiring("a", MAY)).violations
    assert found.error
    assert evaluated(lookups, requiring("a", MAY, failurePolicy="Ignore")).allowed


def test_an_exception_is_logged_and_its_text_stays_there(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Lookups):
        async def authorize(self, attributes: Attributes) -> AccessDecision | Failure:
            raise OSError("token abc")

    with caplog.at_level(logging.ERROR, "policyd.lookups"):
        (found,) = evaluated(Broken(), requiring("a", MAY)).violations
    assert "the lookup failed with OSError" in found.message
    assert "abc" not in found.message
    assert "token abc" in caplog.text


def test_a_lookup_that_takes_too_long_is_cancelled() -> None:
    ended: list[str] = []

    class Slow(Lookups):
        async def namespace(self, name: str) -> JSONObject | Failure:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise
            return Failure("never")

    (found,) = evaluated(Slow(), requiring("a", IN_PROD), timeout=0.2).violations
    assert found.error
    assert ended == ["cancelled"]


def test_lookups_of_one_request_run_together() -> None:
    class Together(Known):
        def __init__(self) -> None:
            super().__init__()
            self.both = asyncio.Barrier(2)

        async def authorize(self, attributes: Attributes) -> AccessDecision | Failure:
            await self.both.wait()
            return AccessDecision(True)

    other = MAY.replace("delete", "create")
    assert evaluated(Together(), requiring("a", MAY), requiring("b", other), timeout=20).allowed


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_the_answer_is_that_of_review(webhook: Any) -> None:
    policies = PolicySet.from_documents(requiring("no", "false"), labels("team", team="a"))
    review = build_review(POD)
    answer = asyncio.run(policies.areview(review, webhook, lookups=Known()))
    assert answer == policies.review(review, webhook)
    result = asyncio.run(policies.aevaluate(review, webhook))
    assert result == policies.evaluate(review, webhook)
