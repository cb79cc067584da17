"""Requests to subresources: what a suite says in short is what a real API server sends."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.model.suite_cases import cases_of
from policyd.policy.source.loader import require
from policyd.policy.suite.case_files import CaseError
from policyd.policy.suite.case_review import review_of
from tests import shared
from tests.builders.policies import suite
from tests.policy_sets import loaded

# What the API server adds: the one who asks, times, and what the suite does not say.
OTHERS = ("uid", "userInfo", "options", "dryRun")
KINDS = ("PodExecOptions", "PodAttachOptions", "PodPortForwardOptions", "PodProxyOptions",
         "ServiceProxyOptions", "NodeProxyOptions", "Eviction", "TokenRequest", "Scale",
         "Binding")  # fmt: skip


def built(request: JSONObject) -> JSONObject:
    case = {"name": "c", "request": request, "expect": {"allowed": True}}
    (document,) = require(loaded(suite(cases=[case]))).documents
    (found,) = cases_of(document.model)  # type: ignore[arg-type]
    review: JSONObject = review_of(found, document)["request"]
    return review


def recorded(kind: str) -> list[JSONObject]:
    requests = [row["review"]["request"] for row in shared.reviews()]
    return [each for each in requests if each["kind"]["kind"] == kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_in_short_is_the_recorded_one(kind: str) -> None:
    requests = recorded(kind)
    assert requests
    for real in requests:
        short: dict[str, Any] = {"object": real["object"]}
        for field in ("name", "namespace"):
            if field in real:
                short[field] = real[field]
        if real["oldObject"] is not None:
            short["oldObject"] = real["oldObject"]
        if kind == "Scale":
            short["resource"] = real["resource"]
        found = built(short)
        for each in OTHERS:
            assert each in found
        if "namespace" not in real and kind == "Scale":  # of a cluster-scoped resource
            found.pop("namespace")
        assert {k: v for k, v in found.items() if k not in OTHERS} == {
            k: v for k, v in real.items() if k not in OTHERS
        }


def test_connect_has_no_options() -> None:
    obj = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
    assert built({"object": obj, "name": "web"})["options"] is None


def test_what_is_given_wins() -> None:
    obj = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}}
    found = built({"object": obj, "resource": {"version": "v1", "resource": "bindings"}})
    assert found["resource"] == {"group": "", "version": "v1", "resource": "bindings"}
    assert "subResource" not in found
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
    given = {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}}
    assert built({"object": scale, **given, "subResource": "other"})["subResource"] == "other"


def test_a_scale_needs_its_resource() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
    with pytest.raises(CaseError, match=r"set request\.resource"):
        built({"object": scale})
