"""The types of every public name, as a type checker sees them. ``make check`` runs mypy on this
file; nothing runs it.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Literal, assert_type

import policyd
from policyd import (
    AccessDecision,
    Attributes,
    Authorizer,
    Failure,
    KubernetesVersion,
    Lookups,
    PolicydError,
    PolicyError,
    PolicySet,
    PolicyViolation,
    Problem,
    ReviewError,
    ReviewResult,
    StaticAuthorizer,
    asgi,
    build_review,
)

assert_type(policyd.__version__, str)


def loading(path: Path, documents: list[dict[str, Any]], version: KubernetesVersion) -> None:
    assert_type(PolicySet.load("policies"), PolicySet)
    assert_type(PolicySet.load(path, kubernetes_version="1.36"), PolicySet)
    assert_type(PolicySet.load([path, "policies"], kubernetes_version=version), PolicySet)
    assert_type(PolicySet.from_text("", name="a.yaml"), PolicySet)
    assert_type(PolicySet.from_documents(*documents, authorizer=StaticAuthorizer([])), PolicySet)


def about(policies: PolicySet, version: KubernetesVersion) -> None:
    assert_type(policies.generation, str)
    assert_type(policies.kubernetes_version, str)
    assert_type(policies.names, tuple[str, ...])
    assert_type(policies.enforced, PolicySet)
    assert_type(KubernetesVersion.parse("1.36"), KubernetesVersion)
    assert_type((version.major, version.minor), tuple[int, int])


def requests(pod: Mapping[str, Any]) -> None:
    review = build_review(
        pod,
        pod,
        "UPDATE",
        user="ann",
        groups=("dev",),
        name="web",
        namespace="shop",
        resource="v1/pods",
        subresource="status",
        dry_run=True,
        defaults=False,
        policies=PolicySet.from_documents([pod]),
    )
    assert_type(review, dict[str, Any])
    assert_type(build_review(None, old=pod), dict[str, Any])


async def answers(policies: PolicySet, body: bytes, review: dict[str, Any], it: Lookups) -> None:
    assert_type(policies.review(review), dict[str, Any])
    assert_type(policies.review(body, "mutate", timeout=1.5), dict[str, Any])
    assert_type(policies.review_bytes(body, "validate", timeout=None), bytes)
    assert_type(policies.evaluate(review, authorizer=StaticAuthorizer([])), ReviewResult)
    assert_type(policies.evaluate(body, "mutate", defaults=False), ReviewResult)
    assert_type(await policies.areview(review, lookups=it, timeout=2), dict[str, Any])
    assert_type(await policies.aevaluate(body, "validate", lookups=None), ReviewResult)


def results(result: ReviewResult, violation: PolicyViolation) -> None:
    assert_type(result.allowed, bool)
    assert_type(result.code, int)
    assert_type(result.reason, str)
    assert_type(result.message, str)
    assert_type(result.warnings, tuple[str, ...])
    assert_type(result.audit_annotations, Mapping[str, str])
    assert_type(result.patch, list[dict[str, Any]])
    assert_type(result.object, dict[str, Any] | None)
    assert_type(result.violations, tuple[PolicyViolation, ...])
    assert_type(violation.policy, str)
    assert_type(violation.kind, str)
    assert_type(violation.binding, str)
    assert_type(violation.message, str)
    assert_type(violation.reason, str)
    assert_type(violation.actions, tuple[Literal["Deny", "Warn", "Audit"], ...])
    assert_type(violation.index, int)
    assert_type(violation.error, bool)
    assert_type(violation.rollout, str)
    assert_type(violation.field, str)


def errors(policy: PolicyError, review: ReviewError, problem: Problem) -> None:
    raised: list[PolicydError] = [policy, review]
    assert_type(raised[0], PolicydError)
    assert_type(policy.problems, tuple[Problem, ...])
    assert_type((problem.file, problem.path, problem.message), tuple[str, str, str])
    assert_type((problem.line, problem.column), tuple[int, int])
    assert_type((problem.hint, problem.excerpt, problem.rule), tuple[str, str, str])
    assert_type(problem.severity, Literal["error", "advice"])
    assert_type(review.status, int)


class Everybody:
    """Fulfils the protocol without inheriting from it."""

    def check(self, attributes: Attributes) -> AccessDecision | Failure | None:
        assert_type((attributes.user, attributes.verb), tuple[str, str])
        assert_type(attributes.groups, tuple[str, ...])
        return AccessDecision(True, reason="because") if attributes.path else Failure("not known")


def authorizers(own: Everybody, failure: Failure, decision: AccessDecision) -> None:
    listed: list[Authorizer] = [own, StaticAuthorizer([{"user": "bob", "verb": "create"}])]
    assert_type(listed[0].check(Attributes("ann", "get")), AccessDecision | Failure | None)
    assert_type(failure.why, str)
    assert_type((decision.allowed, decision.reason, decision.error), tuple[bool, str, str])


class Namespaces(Lookups):
    """Looks up one thing only."""

    async def namespace(self, name: str) -> dict[str, Any] | Failure:
        return {"metadata": {"name": name}}


async def looked_up(it: Lookups) -> None:
    own: Lookups = Namespaces()
    assert_type(own, Lookups)
    assert_type(await it.authorize(Attributes("ann", "get")), AccessDecision | Failure)
    assert_type(await it.namespace("shop"), dict[str, Any] | Failure)
    assert_type(await it.is_namespaced("v1", "ConfigMap"), bool | Failure | None)
    found = await it.params("v1", "ConfigMap", namespace="a", name="b", selector="")
    assert_type(found, Sequence[dict[str, Any]] | Failure)


Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


def apps(policies: PolicySet, lookups: Lookups) -> None:
    app: App = asgi(policies)
    everything: App = asgi(
        lambda: policies,
        lookups=lookups,
        timeout=5,
        max_body_bytes=2**20,
        body_timeout=1.5,
        max_in_flight=10,
        max_in_flight_bytes=2**26,
    )
    assert_type([app, everything], list[App])
