"""Checks one webhook of a configuration, and its address: its url, or its Service."""

from collections.abc import Iterator
from typing import get_args
from urllib.parse import unquote

from policyd._core.match.labels import (
    domain_errors,
    key_errors,
    label_1035_errors,
    value_errors,
)
from policyd._core.net.url import ParsedURL, parse_url
from policyd.json_types import JSONObject
from policyd.policy.checks.resources import overlaps
from policyd.policy.model.match import Operation, ScopeType
from policyd.versions import KubernetesVersion
from policyd.webhooks.validation.conditions import check_conditions
from policyd.webhooks.validation.field_problems import (
    FieldProblem,
    as_json,
    forbidden,
    invalid,
    required,
    unsupported,
)
from policyd.webhooks.validation.metadata import check_labels, qualified_name

REVIEW_VERSIONS = ("v1", "v1beta1")
NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
MAX_TIMEOUT = 30


def check_webhook(
    hook: JSONObject, path: str, version: KubernetesVersion
) -> Iterator[FieldProblem]:
    """Check a decoded webhook that has its defaults."""
    yield from qualified_name(f"{path}.name", hook.get("name", ""))
    for index, rule in enumerate(hook.get("rules", ())):
        yield from check_rule(rule, f"{path}.rules[{index}]")
    yield from unsupported(f"{path}.failurePolicy", hook["failurePolicy"], ("Fail", "Ignore"))
    yield from unsupported(f"{path}.matchPolicy", hook["matchPolicy"], ("Equivalent", "Exact"))
    if hook.get("sideEffects") is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(NO_SIDE_EFFECTS)}")
    else:
        yield from unsupported(f"{path}.sideEffects", hook["sideEffects"], NO_SIDE_EFFECTS)
    timeout = hook["timeoutSeconds"]
    if not 1 <= timeout <= MAX_TIMEOUT:
        wrong = f"the timeout value must be between 1 and {MAX_TIMEOUT} seconds"
        yield from invalid(f"{path}.timeoutSeconds", timeout, [wrong])
    for field in ("namespaceSelector", "objectSelector"):
        yield from check_selector(hook[field], f"{path}.{field}")
    reinvocation = hook.get("reinvocationPolicy", "Never")
    yield from unsupported(f"{path}.reinvocationPolicy", reinvocation, ("IfNeeded", "Never"))
    yield from check_client(hook["clientConfig"], f"{path}.clientConfig")
    conditions = hook.get("matchConditions", [])
    yield from check_conditions(conditions, f"{path}.matchConditions", version)
    reviews = hook.get("admissionReviewVersions", [])
    yield from _check_reviews(reviews, f"{path}.admissionReviewVersions")


def _check_reviews(versions: list[str], path: str) -> Iterator[FieldProblem]:
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
    if seen.isdisjoint(REVIEW_VERSIONS):
        yield from invalid(path, versions, [f"must include at least one of {supported}"])


MAX_PORT = 65535
_ONLY_ASCII = bytes(range(128)) + b"?" * 128
_FORM = "; desired format: https://host[/path]"


def check_client(client: JSONObject, path: str) -> Iterator[FieldProblem]:
    """Check a clientConfig."""
    if ("url" in client) == ("service" in client):
        yield required(path, "exactly one of url or service is required")
    elif "url" in client:
        yield from _check_url(client["url"], f"{path}.url")
    else:
        yield from _check_service(client["service"], f"{path}.service")


def _check_url(url: str, path: str) -> Iterator[FieldProblem]:
    found = parse_url(url)
    if not isinstance(found, ParsedURL):
        yield required(path, f"url must be a valid URL: {found}{_FORM}")
        return
    if found.scheme != "https":
        yield from invalid(path, found.scheme, [f"'https' is the only allowed URL scheme{_FORM}"])
    if not found.host:
        yield from invalid(path, "", [f"host must be specified{_FORM}"])
    for part, what in (
        (found.user, "user information is"),
        (unquote(found.fragment) or None, "fragments are"),
        (found.raw_query or None, "query parameters are"),
    ):
        if part is not None:
            yield from invalid(path, part, [f"{what} not permitted in the URL"])


def _check_service(service: JSONObject, path: str) -> Iterator[FieldProblem]:
    # The API server swaps the two: it reports a missing namespace as a missing name.
    if not service.get("namespace"):
        yield required(f"{path}.name")
    if not service.get("name"):
        yield required(f"{path}.namespace")
    port = service["port"]
    if not 1 <= port <= MAX_PORT:
        wrong = f"port is not valid: must be between 1 and {MAX_PORT}, inclusive"
        yield from invalid(f"{path}.port", port, [wrong])
    yield from _check_path(service.get("path", ""), f"{path}.path")


def _check_path(url: str, path: str) -> Iterator[FieldProblem]:
    if url in ("", "/"):
        return
    if url == "//":
        yield from invalid(path, url, ["segment[0] may not be empty"])
        return
    if not url.startswith("/"):
        yield from invalid(path, url, ["must start with a '/'"])
    # The API server removes one byte, even if it is not the slash but a part of a character.
    data = url.encode()[1:].removesuffix(b"/")
    plain = data.translate(_ONLY_ASCII).decode("ascii")
    for index, segment in enumerate(plain.split("/")):
        if not segment:
            yield from invalid(path, url, [f"segment[{index}] may not be empty"])
        else:
            errors = domain_errors(segment)
            yield from invalid(path, url, [f"segment[{index}]: {error}" for error in errors])


_OPERATIONS, _SCOPES = get_args(Operation), get_args(ScopeType)


def check_rule(rule: JSONObject, path: str) -> Iterator[FieldProblem]:
    """Check one rule."""
    operations = rule.get("operations", [])
    yield from _check_list(f"{path}.operations", operations, "operations")
    for index, operation in enumerate(operations):
        yield from unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    yield from _check_list(f"{path}.apiGroups", rule.get("apiGroups", []), "API groups")
    versions = rule.get("apiVersions", [])
    yield from _check_list(f"{path}.apiVersions", versions, "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _check_resources(f"{path}.resources", rule.get("resources", []))
    yield from unsupported(f"{path}.scope", rule.get("scope", "*"), _SCOPES)


def _check_list(path: str, values: list[str], what: str) -> Iterator[FieldProblem]:
    if not values:
        yield required(path)
    elif len(values) > 1 and "*" in values:
        yield from invalid(path, values, [f"if '*' is present, must not specify other {what}"])


def _check_resources(path: str, resources: list[str]) -> Iterator[FieldProblem]:
    if not resources:
        yield required(path)
    for index, wrong in overlaps(resources):
        if index is None:
            yield from invalid(path, resources, [wrong])
        elif not wrong:
            yield required(f"{path}[{index}]")
        else:
            yield from invalid(f"{path}[{index}]", resources[index], [wrong])


def check_selector(selector: JSONObject, path: str) -> Iterator[FieldProblem]:
    """Check a label selector."""
    yield from check_labels(f"{path}.matchLabels", selector.get("matchLabels", {}))
    for index, requirement in enumerate(selector.get("matchExpressions", [])):
        at = f"{path}.matchExpressions[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values", [])
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                yield required(f"{at}.values", detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden(f"{at}.values", detail)
        else:
            text = f"Invalid value: {as_json(operator)}: not a valid selector operator"
            yield FieldProblem(f"{at}.operator", "FieldValueInvalid", text)
        key = requirement.get("key", "")
        yield from invalid(f"{at}.key", key, key_errors(key))
        for number, value in enumerate(values):
            yield from invalid(f"{at}.values[{number}]", value, value_errors(value))
