"""SubjectAccessReview: checks with the API server's authorizers whether a user may do something.

Messages and rules are the same as in k8s.io/apiserver (pkg/cel/library/authz.go, and
plugin/pkg/authorizer/webhook for queries to another server). Sends nothing.
"""

from policyd._core.lib.authorization import AccessDecision, Attributes
from policyd.json_types import JSONObject

KIND = "SubjectAccessReview"
PATH = "apis/authorization.k8s.io/v1/subjectaccessreviews"
BOTH = "webhook subject access review returned both allow and deny response"
# The API server adds these for an invalid selector. For its own checks it ignores such a selector
# without a message, so the decision omits them as well.
UNPARSED = frozenset(
    f"spec.resourceAttributes.{selector} ignored due to parse error"
    for selector in ("fieldSelector", "labelSelector")
)


def review_of(attributes: Attributes) -> JSONObject:
    """Return the review to send; the API server parses the raw selectors."""
    spec: JSONObject = {
        "user": attributes.user,
        "uid": attributes.uid,
        "groups": list(attributes.groups),
        "extra": {key: list(values) for key, values in attributes.extra},
    }
    if attributes.path:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    else:
        asked: JSONObject = {
            "verb": attributes.verb,
            "group": attributes.group,
            "version": "*",
            "resource": attributes.resource,
            "subresource": attributes.subresource,
            "namespace": attributes.namespace,
            "name": attributes.name,
            "fieldSelector": _raw(attributes.field_selector),
            "labelSelector": _raw(attributes.label_selector),
        }
        spec["resourceAttributes"] = {key: value for key, value in asked.items() if value}
    given = {key: value for key, value in spec.items() if value}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": KIND, "spec": given}


def _raw(selector: str) -> JSONObject:
    return {"rawSelector": selector} if selector else {}


def decision(review: JSONObject) -> AccessDecision:
    """Return the decision of an answered review: allowed only if nothing denies."""
    status = review.get("status") or {}
    allowed, denied = (status.get(each) is True for each in ("allowed", "denied"))
    reason = str(status.get("reason") or "")
    if denied and allowed:
        return AccessDecision(False, reason, BOTH)
    errors = str(status.get("evaluationError") or "").split("; ")
    error = "; ".join(each for each in errors if each not in UNPARSED)
    return AccessDecision(allowed, reason, error)
