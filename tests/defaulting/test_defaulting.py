"""Defaults of manifests, and what is written of an object that mutations changed."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.json.equality import equal
from policyd.defaulting.defaults import Defaults
from policyd.defaulting.written import written
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import Schemas
from tests.builders.objects import container, deployment, pod
from tests.builders.samples import DEFINITIONS, MANIFESTS, Samples, every_kind

DEFAULTS = Defaults(Schemas.builtin().with_crds(DEFINITIONS))
KINDS = every_kind()
NAMES = [f"{each.api_version} {each.kind}" for each in KINDS]


def seen(manifest: JSONObject) -> Any:
    return copy.deepcopy(DEFAULTS.applied(manifest))


def changed(manifest: JSONObject, after: JSON) -> JSON:
    return DEFAULTS.changes(manifest, DEFAULTS.applied(manifest), after)[1]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_without_changes_the_manifest_is_what_it_was(kind: Samples) -> None:
    for manifest in kind.all(5):
        before = copy.deepcopy(manifest)
        found = DEFAULTS.applied(manifest)
        assert manifest == before, "the manifest itself was changed"
        assert DEFAULTS.changes(manifest, found, seen(manifest)) == ([], manifest)


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "a", "b", "c"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES, VALUES)
def test_equal_before_and_after_give_exactly_raw(raw: JSON, before: JSON) -> None:
    assert written(raw, before, copy.deepcopy(before)) is raw


@given(VALUES, VALUES)
def test_without_defaults_what_is_written_is_what_mutations_made(raw: JSON, after: JSON) -> None:
    assert written(raw, copy.deepcopy(raw), after) == after


@given(st.sampled_from(MANIFESTS), st.data())
def test_what_is_written_has_the_change_in_a_cluster(manifest: JSONObject, data: Any) -> None:
    """With defaults applied to it again, it is the changed object with its defaults."""
    after = seen(manifest)
    labels = data.draw(st.dictionaries(st.sampled_from(["a", "x"]), st.sampled_from(["1", "2"])))
    after["metadata"]["labels"] = labels
    spec = after.get("spec") or {}
    containers = spec.get("containers") or []
    if containers:
        kept = data.draw(st.lists(st.booleans(), min_size=len(containers), max_size=30))
        spec["containers"] = [each for each, keep in zip(containers, kept, strict=False) if keep]
        for each in spec["containers"]:
            if data.draw(st.booleans()):
                each["securityContext"] = {"runAsNonRoot": True}
        spec["containers"] += [container("added")]
    assert DEFAULTS.applied(changed(manifest, after)) == DEFAULTS.applied(after)


def test_a_changed_default_is_written_with_its_parents() -> None:
    manifest = deployment()
    after = seen(manifest)
    after["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] = True
    after["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = 3
    operations, found = DEFAULTS.changes(manifest, DEFAULTS.applied(manifest), after)
    assert {each["path"]: each["value"] for each in operations} == {
        "/spec/strategy": {"rollingUpdate": {"maxSurge": 3}},
        "/spec/template/spec/securityContext": {"runAsNonRoot": True},
    }
    assert isinstance(found, dict)
    assert set(found["spec"]) == {*manifest["spec"], "strategy"}


def test_items_that_move_keep_what_was_written_of_them() -> None:
    manifest = pod(container("a"), container("b", "b:2"), container("c"))
    after = seen(manifest)
    first, second, third = after["spec"]["containers"]
    second["image"] = "mirror/b:2"
    after["spec"]["containers"] = [container("new"), third, second]
    assert first["imagePullPolicy"] == "IfNotPresent"
    found: Any = changed(manifest, after)
    assert found["spec"]["containers"] == [
        container("new"),
        container("c"),
        container("b", "mirror/b:2"),
    ]


def test_a_quantity_stays_as_it_was_written() -> None:
    manifest = pod(container(resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}}))
    after = seen(manifest)
    assert after["spec"]["containers"][0]["resources"]["limits"]["memory"] == "1Gi"
    after["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1"
    found: Any = changed(manifest, after)
    limits = {"cpu": "1", "memory": "1024Mi"}
    assert found["spec"]["containers"] == [container(resources={"limits": limits})]


def test_a_changed_text_of_a_secret_is_written_once() -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a"},
        "stringData": {"a": "x", "b": "y"},
    }
    after = seen(manifest)
    after["data"]["a"] = "eg=="
    found: Any = changed(manifest, after)
    assert (found["stringData"], found["data"]) == ({"b": "y"}, {"a": "eg=="})
    assert DEFAULTS.applied(found) == DEFAULTS.applied(after)


@pytest.mark.parametrize(
    "manifest",
    [
        {"apiVersion": "example.com/v1", "kind": "Unknown", "spec": {"a": None}},
        {"apiVersion": "apps/v9", "kind": "Deployment", "spec": {}},
        {"kind": "Pod"},
        {},
        {"apiVersion": 1, "kind": ["Pod"]},
        None,
        [],
    ],
)
def test_unknown_kinds_stay_as_they_are(manifest: JSON) -> None:
    assert DEFAULTS.applied(manifest) is manifest


@pytest.mark.parametrize(
    "spec",
    [
        "text",
        {"containers": {}},
        {"containers": ["a"]},
        {"containers": [{"resources": {"limits": {"cpu": "lots"}}}]},
        {"terminationGracePeriodSeconds": "30"},
        {"hostNetwork": "yes"},
        {"nodeSelector": {"a": 1}},
    ],
)
def test_what_the_api_server_cannot_decode_stays_as_it_is(spec: JSON) -> None:
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    assert DEFAULTS.applied(manifest) is manifest


def test_fields_that_the_schema_does_not_have_are_kept() -> None:
    found: Any = DEFAULTS.applied(pod(container(future={"a": None}), later=[1]))
    assert found["spec"]["later"] == [1]
    assert found["spec"]["containers"][0]["future"] == {"a": None}


def test_deep_manifests() -> None:
    deep: JSON = 1
    for _ in range(900):
        deep = {"a": deep}
    for manifest in (pod(later=deep), {**MANIFESTS[-1], "spec": deep}):
        before: Any = DEFAULTS.applied(manifest)
        after = {**before, "metadata": {**before["metadata"], "labels": {"a": "b"}}}
        operations, found = DEFAULTS.changes(manifest, before, after)
        assert [each["path"] for each in operations] == ["/metadata/labels"]
        assert isinstance(found, dict)
        assert equal(found["spec"], manifest["spec"])


def test_options_of_connect_are_no_objects() -> None:
    request = {"operation": "CONNECT", "object": pod(), "oldObject": None}
    assert DEFAULTS.request(request) == request
    both = {"operation": "UPDATE", "object": pod(), "oldObject": pod()}
    found = DEFAULTS.request(both)
    assert found["object"]["spec"]["dnsPolicy"] == found["oldObject"]["spec"]["dnsPolicy"]
