"""The table of subresources: what a real API server sends for each, and what it stores."""

from collections.abc import Iterator

import pytest

from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Gvk
from policyd.policy.kinds.object_types import KindSchemas
from policyd.policy.kinds.subresources import SUBRESOURCES, Subresource, subresources_named
from tests import shared
from tests.policies.subresources import BOTH, METADATA_WRITES

CORE, APPS = "", "apps"


def requests() -> Iterator[tuple[JSONObject, Subresource]]:
    """The recorded requests to subresources, each with its row."""
    for row in shared.reviews():
        request = row["review"]["request"]
        if "subResource" in request:
            name = f"{request['resource']['resource']}/{request['subResource']}"
            (found,) = subresources_named(name)
            yield request, found


def test_recorded_requests_are_those_of_the_table() -> None:
    seen = set()
    for request, row in requests():
        seen.add((row.resource, row.subresource))
        assert request["operation"] == row.operation
        gvk = request["kind"]
        if row.kind[1]:
            assert f"{gvk['group']}/{gvk['version']}".removeprefix("/") == row.kind[0]
            assert gvk["kind"] == row.kind[1]
    unseen = {(row.resource, row.subresource) for row in SUBRESOURCES} - seen
    assert unseen == {("certificatesigningrequests", "approval")}


def test_objects_of_kinds_that_only_subresources_have_fit_their_schemas() -> None:
    kinds = KindSchemas([])
    found = set()
    for request, row in requests():
        if row.kind[1]:
            gvk = Gvk(**request["kind"])
            schema = kinds.find(gvk)
            assert schema is not None
            assert request["object"].keys() <= schema["properties"].keys()
            found.add(gvk.kind)
    assert found == {row.kind[1] for row in SUBRESOURCES} - {""}


STORED: list[tuple[str, str, str, bool]] = [
    ("pods/status", CORE, "status.phase", True),
    ("pods/status", CORE, "spec.nodeName", False),
    ("pods/status", CORE, "spec", False),
    ("pods/status", CORE, "metadata.labels.a", True),
    ("pods/status", CORE, "metadata.ownerReferences", False),
    ("deployments/status", APPS, "metadata.labels.a", False),
    ("deployments/status", APPS, "metadata.annotations.a", True),
    ("widgets/status", "example.com", "metadata.annotations.a", False),
    ("widgets/status", "example.com", "metadata", True),
    ("widgets/status", "example.com", "status", True),
    ("resourceclaims/status", "resource.k8s.io", "metadata.finalizers", False),
    ("pods/ephemeralcontainers", CORE, "spec.ephemeralContainers.*.image", True),
    ("pods/ephemeralcontainers", CORE, "spec", True),
    ("pods/ephemeralcontainers", CORE, "spec.*", True),
    ("pods/ephemeralcontainers", CORE, "spec.containers.*.image", False),
    ("pods/ephemeralcontainers", CORE, "metadata.labels", False),
    ("pods/ephemeralcontainers", CORE, "status", False),
    ("pods/resize", CORE, "spec.containers.0.resources.limits.cpu", True),
    ("pods/resize", CORE, "spec.initContainers.*.resizePolicy", True),
    ("pods/resize", CORE, "spec.containers.*.image", False),
    ("pods/resize", CORE, "spec.containers", True),
    ("deployments/scale", APPS, "spec.replicas", True),
    ("deployments/scale", APPS, "metadata.annotations", False),
    ("deployments/scale", APPS, "status.replicas", False),
    ("pods/exec", CORE, "command", True),
    ("pods/binding", CORE, "target.name", True),
    ("pods/binding", CORE, "metadata.labels", True),
    ("pods/binding", CORE, "metadata.finalizers", False),
    ("pods/eviction", CORE, "deleteOptions.gracePeriodSeconds", True),
    ("pods/eviction", CORE, "metadata.labels", False),
    ("serviceaccounts/token", CORE, "spec.audiences", True),
    ("serviceaccounts/token", CORE, "status.token", False),
    ("namespaces/finalize", CORE, "spec.finalizers", True),
    ("namespaces/finalize", CORE, "status", False),
    ("certificatesigningrequests/approval", "certificates.k8s.io", "status.conditions", True),
    ("certificatesigningrequests/approval", "certificates.k8s.io", "status.certificate", False),
]


@pytest.mark.parametrize(("resource", "group", "path", "stored"), STORED)
def test_what_is_stored(resource: str, group: str, path: str, stored: bool) -> None:
    (found,) = subresources_named(resource)
    assert found.stores(tuple(path.split(".")), group, resource.partition("/")[0]) is stored


def test_metadata_is_stored_as_a_real_api_server_does() -> None:
    for (group, resource), subresources in METADATA_WRITES.items():
        for name, parts in subresources.items():
            (found,) = subresources_named(f"{resource}/{name}")
            stored = {
                part for part in BOTH if found.stores(("metadata", part, "a"), group, resource)
            }
            assert stored == parts, (resource, name)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("pods/exec", ["pods/exec"]),
        ("*/exec", ["pods/exec"]),
        ("*/proxy", ["pods/proxy", "services/proxy", "nodes/proxy"]),
        ("*/scale", ["/scale"]),
        ("widgets/status", ["/status"]),
        ("services/exec", []),
        ("pods/log", []),
        ("pods/*", []),
        ("*/*", []),
        ("pods", []),
    ],
)
def test_subresources_by_the_resource_of_a_rule(resource: str, expected: list[str]) -> None:
    found = [f"{each.resource}/{each.subresource}" for each in subresources_named(resource)]
    assert found == expected
