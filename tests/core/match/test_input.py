"""The request as the matcher sees it: from JSON, and from a request that has been read."""

from typing import Any

import pytest

from policyd._core.json.request import AdmissionRequest
from policyd._core.match.equivalents import Equivalents
from policyd._core.match.matcher import MatchInput, input_of
from tests.builders.reviews import request

SEEN = (
    "kind",
    "resource",
    "request_kind",
    "request_resource",
    "sub_resource",
    "operation",
    "name",
    "namespace",
    "object",
    "old_object",
    "never_matched",
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"requestKind": None, "requestResource": None},
        {"requestKind": {"version": "v1", "kind": "Scale"}, "subResource": "scale"},
        {"requestResource": {"group": "apps", "version": "v1beta1", "resource": "pods"}},
        {"operation": "DELETE", "namespace": None, "name": None},
        request("authentication.k8s.io/v1/tokenreviews", "TokenReview"),
    ],
)
def test_a_request_that_was_read_is_seen_as_its_json_is(changes: dict[str, Any]) -> None:
    sent = {**request(), "uid": "1", "object": {"metadata": {"labels": {"app": "web"}}}, **changes}
    read, known = AdmissionRequest(sent), Equivalents({})
    one = MatchInput(sent, lambda name: None, equivalents=known)
    other = input_of(read, lambda name: None, read.object, read.old_object, known)
    for name in SEEN:
        assert getattr(other, name) == getattr(one, name), name
