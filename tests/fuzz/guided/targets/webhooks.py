"""Webhook configurations: validation, defaults and matching.

An input is a list of a configuration, a stored one and a request: [new, stored, request].
"""

import json
from itertools import islice
from typing import Any

import orjson

from policyd._core.json.tree import normal
from policyd.errors import ConfigError, ReviewError, UnreadableReview
from policyd.webhooks.calls.calling import called
from policyd.webhooks.calls.model import hooks_of
from policyd.webhooks.validation import (
    problems,
    with_defaults,
)
from tests.builders.reviews import request
from tests.builders.webhook_rows import random_cases
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget

DEPTH = 200
WORDS = (
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "webhooks",
    "rules",
    "clientConfig",
    "operations",
    "apiGroups",
    "apiVersions",
    "resources",
    "scope",
    "namespaceSelector",
    "objectSelector",
    "matchConditions",
    "matchPolicy",
    "Exact",
    "Equivalent",
    "failurePolicy",
    "Ignore",
    "Fail",
    "None",
    "reinvocationPolicy",
    "IfNeeded",
    "sideEffects",
    "NoneOnDryRun",
    "timeoutSeconds",
    "service",
    "url",
    "https://a.b/c",
    "caBundle",
    "expression",
    "object.x == 1",
    "In",
    "NotIn",
    "Exists",
    "matchLabels",
    "*",
    "*/*",
    "pods/*",
    "*/status",
    "CREATE",
    "Namespaced",
    "Cluster",
    "v1",
    "v1beta1",
    "name",
)


def check(data: bytes) -> None:
    try:
        found = orjson.loads(data)
        new, stored, asked = found
        normal(found, DEPTH)
    except (ValueError, TypeError, UnreadableReview):
        return
    if not isinstance(new, dict) or not isinstance(stored, dict) or not isinstance(asked, dict):
        return
    held = orjson.dumps(found)
    for each in (new, stored):
        validated(each)
    matched([new, stored], asked)
    assert orjson.dumps(found) == held, "an argument was changed"


def validated(configuration: dict[str, Any]) -> None:
    try:
        found = problems(configuration)
    except ConfigError as error:
        assert str(error)
        return
    assert [str(each) for each in found] == [str(each) for each in problems(configuration)]
    if found:
        return
    defaulted = with_defaults(configuration)
    assert with_defaults(defaulted) == defaulted, "defaults of defaults"


def matched(configurations: list[dict[str, Any]], asked: dict[str, Any]) -> None:
    """Configurations without problems are matched with any request of an AdmissionReview."""
    try:
        given = [each for each in configurations if not problems(each)]
        first = called(hooks_of(given), asked)
    except (ConfigError, ReviewError) as error:
        assert str(error)
        return
    assert repr(called(hooks_of(given), asked)) == repr(first), "not the same twice"


def seeds() -> list[bytes]:
    cases = [each.configuration for each in islice(random_cases(1, 24), 24)]
    valid = [each for each in cases if not problems(each)]
    wanted = request(
        object={"metadata": {"name": "web", "labels": {"a": "b"}}}, userInfo={"username": "ann"}
    )
    listed = [[new, valid[0], wanted] for new in cases]
    return [json.dumps(each).encode() for each in listed]


TARGET = FuzzTarget(check, seeds, mutating.json_mutation(WORDS))
