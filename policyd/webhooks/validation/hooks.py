"""Check one webhook of a configuration."""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion
from policyd.webhooks.validation.clients import check_client
from policyd.webhooks.validation.conditions import check_conditions
from policyd.webhooks.validation.field_problems import (
    FieldProblem,
    invalid,
    required,
    unsupported,
)
from policyd.webhooks.validation.names import label_1035_errors, qualified_name
from policyd.webhooks.validation.rule_checks import check_rule, check_selector

REVIEW_VERSIONS = ("v1", "v1beta1")
NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
MAX_TIMEOUT = 30


@dataclass(frozen=True, slots=True)
class Checks:
    """What is checked. All of it is when a configuration is created; in an update, what was invalid
    before may stay so.
    """

    version: KubernetesVersion
    conditions: bool = True
    no_side_effects: bool = True
    known_reviews: bool = True
    unique_names: bool = True
    label_values: bool = True


def check_webhook(hook: JSONObject, path: str, checks: Checks) -> Iterator[FieldProblem]:
    """Check a decoded webhook with its defaults."""
    yield from qualified_name(f"{path}.name", hook.get("name", ""))
    for index, rule in enumerate(hook.get("rules", ())):
        yield from check_rule(rule, f"{path}.rules[{index}]")
    for field, values in (
        ("failurePolicy", ("Fail", "Ignore")),
        ("matchPolicy", ("Equivalent", "Exact")),
    ):
        if hook[field] not in values:
            yield unsupported(f"{path}.{field}", hook[field], values)
    allowed = NO_SIDE_EFFECTS if checks.no_side_effects else SIDE_EFFECTS
    if "sideEffects" not in hook:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}")
    elif hook["sideEffects"] not in allowed:
        yield unsupported(f"{path}.sideEffects", hook["sideEffects"], allowed)
    timeout = hook["timeoutSeconds"]
    if not 1 <= timeout <= MAX_TIMEOUT:
        wrong = f"the timeout value must be between 1 and {MAX_TIMEOUT} seconds"
        yield from invalid(f"{path}.timeoutSeconds", timeout, [wrong])
    for field in ("namespaceSelector", "objectSelector"):
        at = f"{path}.{field}"
        yield from check_selector(hook[field], at, any_values=not checks.label_values)
    reinvocation, values = hook.get("reinvocationPolicy", "Never"), ("IfNeeded", "Never")
    if reinvocation not in values:
        yield unsupported(f"{path}.reinvocationPolicy", reinvocation, values)
    yield from check_client(hook["clientConfig"], f"{path}.clientConfig")
    if checks.conditions:
        conditions = hook.get("matchConditions", [])
        yield from check_conditions(conditions, f"{path}.matchConditions", checks.version)
    reviews = hook.get("admissionReviewVersions", [])
    yield from _check_reviews(reviews, f"{path}.admissionReviewVersions", checks)


def knows_review(hook: JSONObject) -> bool:
    """Whether the webhook takes a version of AdmissionReview that the API server sends."""
    return any(each in REVIEW_VERSIONS for each in hook.get("admissionReviewVersions", ()))


def _check_reviews(versions: list[str], path: str, checks: Checks) -> Iterator[FieldProblem]:
    supported = ", ".join(REVIEW_VERSIONS)
    if not versions:
        yield required(path, f"must specify one of {supported}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        at = f"{path}[{index}]"
        if version in seen:
            yield from invalid(at, version, ["duplicate version"])
            continue
        seen.add(version)
        yield from invalid(at, version, label_1035_errors(version))
    if checks.known_reviews and seen.isdisjoint(REVIEW_VERSIONS):
        yield from invalid(path, versions, [f"must include at least one of {supported}"])
