"""SubjectAccessReview: query the authorizers of the API server whether a user may do something.

The messages and rules are those of k8s.io/apiserver (pkg/cel/library/authz.go, and
plugin/pkg/authorizer/webhook for queries to another server).
"""

from lightkube import AsyncClient
from lightkube.models.authorization_v1 import (
    FieldSelectorAttributes,
    LabelSelectorAttributes,
    NonResourceAttributes,
    ResourceAttributes,
    SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
)
from lightkube.resources.authorization_v1 import SubjectAccessReview

from policyd._core.lib.authorization import AccessDecision, Attributes
from policyd.cluster.bounds import InvalidAnswer

BOTH = "webhook subject access review returned both allow and deny response"
# The API server adds these for a selector that does not parse. In the API server itself such a
# selector is ignored without a message, so the decision does not mention it either.
UNPARSED = frozenset(
    f"spec.resourceAttributes.{selector} ignored due to parse error"
    for selector in ("fieldSelector", "labelSelector")
)


async def review(client: AsyncClient, attributes: Attributes) -> AccessDecision:
    """Query the API server; raises what the client raises."""
    answer = await client.create(SubjectAccessReview(spec=spec(attributes)))
    if answer.kind != SubjectAccessReview.__name__:
        raise InvalidAnswer(f"expected an answer of kind SubjectAccessReview, got {answer.kind!r}")
    return decision(answer.status or SubjectAccessReviewStatus(allowed=False))


def spec(attributes: Attributes) -> SubjectAccessReviewSpec:
    """The spec of the SubjectAccessReview; selectors are sent raw, the API server parses them."""
    made = SubjectAccessReviewSpec(
        user=attributes.user,
        uid=attributes.uid or None,
        groups=list(attributes.groups) or None,
        extra={key: list(values) for key, values in attributes.extra} or None,
    )
    if attributes.path:
        made.nonResourceAttributes = NonResourceAttributes(
            path=attributes.path, verb=attributes.verb
        )
        return made
    made.resourceAttributes = resource = ResourceAttributes(
        verb=attributes.verb,
        group=attributes.group,
        version="*",
        resource=attributes.resource,
        subresource=attributes.subresource or None,
        namespace=attributes.namespace or None,
        name=attributes.name or None,
    )
    if attributes.field_selector:
        resource.fieldSelector = FieldSelectorAttributes(rawSelector=attributes.field_selector)
    if attributes.label_selector:
        resource.labelSelector = LabelSelectorAttributes(rawSelector=attributes.label_selector)
    return made


def decision(status: SubjectAccessReviewStatus) -> AccessDecision:
    """The decision: allowed only if nothing denies."""
    reason = status.reason or ""
    if status.denied and status.allowed:
        return AccessDecision(False, reason, BOTH)
    errors = (status.evaluationError or "").split("; ")
    error = "; ".join(each for each in errors if each not in UNPARSED)
    return AccessDecision(bool(status.allowed), reason, error)
