"""ApplyConfiguration: what merges how, and the API server's words for what cannot be merged."""

import copy
from typing import Any

import pytest

from policyd._core.go.printing import EMPTY
from policyd._core.values.types import Duration, Optional, StructValue, Timestamp, TypeValue, UInt
from policyd.mutation import MutationError, StatusError
from tests.mutation.builders import (
    CONFIG_MAP,
    DEPLOYMENT,
    POD,
    SCHEMAS,
    SERVICE,
    WIDGET,
    mutated,
    nested,
    struct,
    two_containers,
)

Target = tuple[str, str, str]
PREFIX = "error applying patch: failed to convert patch object to typed object: "
ATOMIC = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "


def containers(*items: dict[str, Any]) -> StructValue:
    return nested("spec", containers=[struct("Object.spec.containers", **item) for item in items])


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}


def apply(value: object, obj: dict[str, Any], target: Target) -> dict[str, Any]:
    before = copy.deepcopy(obj)
    try:
        return mutated("ApplyConfiguration", value, obj, SCHEMAS.target(target), (obj,))
    finally:
        assert obj == before


def names(obj: dict[str, Any]) -> list[str]:
    return [container["name"] for container in obj["spec"]["containers"]]


ORDERS = [
    (["new"], ["app", "side", "new"]),
    (["new", "app"], ["new", "app", "side"]),
    (["side", "app"], ["side", "app"]),
    (["side", "new"], ["app", "side", "new"]),
    (["app", "new"], ["app", "side", "new"]),
    (["new", "side"], ["app", "new", "side"]),
]


@pytest.mark.parametrize(("given", "expected"), ORDERS)
def test_order_of_merged_lists(given: list[str], expected: list[str]) -> None:
    assert (
        names(apply(containers(*({"name": name} for name in given)), two_containers(), POD))
        == expected
    )


def test_items_merge_by_their_keys() -> None:
    env = struct("Object.spec.containers.env", name="B", value="2")
    after = apply(containers({"name": "side", "image": "s:2", "env": [env]}), two_containers(), POD)
    assert after["spec"]["containers"][1] == {
        "name": "side",
        "image": "s:2",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    }


def test_missing_key_takes_its_default() -> None:
    port = struct("Object.spec.containers.ports", containerPort=80, name="web")
    after = apply(containers({"name": "app", "ports": [port]}), two_containers(), POD)
    assert after["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "protocol": "TCP", "name": "web"}
    ]


def test_duplicates_of_the_live_object_give_way() -> None:
    live = two_containers()
    live["spec"]["containers"][1]["env"] = [{"name": "A", "value": v} for v in "xy"]
    env = struct("Object.spec.containers.env", name="A", value="z")
    after = apply(containers({"name": "side", "env": [env]}), live, POD)
    assert after["spec"]["containers"][1]["env"] == [{"name": "A", "value": "z"}]


def test_no_change_is_the_same_object() -> None:
    live = two_containers()
    for value in (struct("Object"), nested("spec"), containers({"name": "app", "image": "a:1"})):
        assert apply(value, live, POD) is live


def test_what_stays_is_shared() -> None:
    live = two_containers()
    after = apply(containers({"name": "app", "image": "a:2"}), live, POD)
    assert after["spec"]["containers"][1] is live["spec"]["containers"][1]


def test_kind_of_the_patch_is_ignored() -> None:
    after = apply(
        struct("Object", apiVersion="v9", kind="Nope", data={"k": "v"}),
        {"kind": "ConfigMap"},
        CONFIG_MAP,
    )
    assert after == {"kind": "ConfigMap", "data": {"k": "v"}}


SETS = [
    (["t9"], ["t1", "t2", "t9"]),
    (["t0", "t1"], ["t0", "t1", "t2"]),
    (["t2", "t1"], ["t2", "t1"]),
]


@pytest.mark.parametrize(("given", "expected"), SETS)
def test_sets(given: list[str], expected: list[str]) -> None:
    after = apply(nested("spec", tags=given), widget(tags=["t1", "t2"]), WIDGET)
    assert after["spec"]["tags"] == expected


VALUES: list[tuple[str, Any, Any]] = [
    ("text", "x", "x"),
    ("count", 2.0, 2.0),
    ("count", 2**62, 2**62),
    ("port", "http", "http"),
    ("port", True, True),
    ("text", TypeValue("int"), "int"),
    ("text", Optional("x"), "x"),
    ("labels", {"a": "b"}, {"old": "l", "a": "b"}),
    ("free", {"l": [9]}, {"l": [9], "m": 1}),
    ("tags", [], []),
]


@pytest.mark.parametrize(("field", "given", "expected"), VALUES)
def test_values_of_custom_resources(field: str, given: Any, expected: Any) -> None:
    live = widget(labels={"old": "l"}, free={"l": [1], "m": 1})
    if field == "free":
        given = struct("Object.spec.free", **given)
    assert apply(nested("spec", **{field: given}), live, WIDGET)["spec"][field] == expected


def endpoint(**fields: Any) -> dict[str, Any]:
    return {"endpoints": [struct("Object.spec.endpoints", **fields)]}


UDP, TCP = {"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}
LABELS = struct("Object.spec.template.metadata", labels={"c": "d"})
MERGED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"endpoints": [UDP, TCP]}, endpoint(port=1, comment="x"), {"endpoints": [UDP, {**TCP, "comment": "x"}]}),
    ({"endpoints": [{"port": 1}]}, endpoint(**TCP, comment="x"), {"endpoints": [{**TCP, "comment": "x"}]}),
    ({"endpoints": [{"port": 1}]}, endpoint(**UDP), {"endpoints": [{"port": 1}, UDP]}),
    ({"port": "http"}, {"port": 80}, {"port": 80}),
    ({"nullable": None}, {"nullable": "x"}, {"nullable": "x"}),
    ({"free": {"a": {"b": 1}}},
     {"free": struct("Object.spec.free", a=struct("Object.spec.free.a", c=2))},
     {"free": {"a": {"b": 1, "c": 2}}}),
    ({"template": {"kind": "X", "metadata": {"labels": {"a": "b"}}}},
     {"template": struct("Object.spec.template", metadata=LABELS)},
     {"template": {"kind": "X", "metadata": {"labels": {"a": "b", "c": "d"}}}}),
]  # fmt: skip


@pytest.mark.parametrize(("before", "given", "after"), MERGED)
def test_custom_resources_merge_by_their_definition(
    before: dict[str, Any], given: dict[str, Any], after: dict[str, Any]
) -> None:
    assert apply(nested("spec", **given), widget(**before), WIDGET)["spec"] == after


def test_native_values_become_what_go_prints() -> None:
    limits = {"cpu": 2, "memory": "1024Mi"}
    resources = struct("Object.spec.containers.resources", limits=limits)
    after = apply(containers({"name": "app", "resources": resources}), two_containers(), POD)
    assert after["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2", "memory": "1Gi"}}
    assert apply(nested("spec", replicas=9.0), {"spec": {}}, DEPLOYMENT) == {
        "spec": {"replicas": 9}
    }


ERRORS: list[tuple[Target, Any, str]] = [
    (CONFIG_MAP, struct("Object", nope=1), PREFIX + ".nope: field not declared in schema"),
    (CONFIG_MAP, struct("Object", data=None), PREFIX + ".data: expected map, got &{NULL_VALUE}"),
    (CONFIG_MAP, struct("Object", data=["x"]), PREFIX + ".data: expected map, got &{[x]}"),
    (
        CONFIG_MAP,
        struct("Object", immutable="yes"),
        PREFIX + ".immutable: expected boolean, got &{yes}",
    ),
    (
        CONFIG_MAP,
        nested("metadata", labels={"app": None}),
        PREFIX + ".metadata.labels.app: expected string, got &value.valueUnstructured{Value:0}",
    ),
    (
        DEPLOYMENT,
        nested("spec", replicas="9"),
        PREFIX + ".spec.replicas: expected numeric (int or float), got string",
    ),
    (
        DEPLOYMENT,
        nested("spec", replicas=UInt(9)),
        PREFIX + ".spec.replicas: expected numeric (int or float), got uint64",
    ),
    (
        DEPLOYMENT,
        nested("spec", replicas=9.5),
        "unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32",
    ),
    (
        DEPLOYMENT,
        nested("spec", replicas=5_000_000_000),
        "unable to convert unstructured object to apps/v1, Kind=Deployment: 5000000000 does not fit into int32 at spec.replicas",
    ),
    (SERVICE, nested("spec", selector={"x": "y"}), ATOMIC + ".spec.selector"),
    (POD, containers({"name": "app", "args": ["a"]}), ATOMIC + ".spec.containers[0].args"),
    (
        POD,
        containers({"name": "app", "args": ["a"]}, {"name": "b", "command": ["c"]}),
        ATOMIC + ".spec.containers[0].args, .spec.containers[1].command",
    ),
    (
        POD,
        containers({"name": "app"}, {"name": "app"}),
        PREFIX + '.spec.containers: duplicate entries for key [name="app"]',
    ),
    (
        POD,
        containers({"name": "app", "env": [{"name": "B"}]}),
        PREFIX
        + '.spec.containers[name="app"].env: element 0: associative list with keys may not have non-map elements',
    ),
    (
        WIDGET,
        nested("spec", tags=["t9", "t9"]),
        PREFIX + '.spec.tags: duplicate entries for key [="t9"]',
    ),
    (
        WIDGET,
        nested("spec", tags=[["a"]]),
        PREFIX
        + '.spec.tags[={{undefined}}]: expected string, got &value.valueUnstructured{Value:[]ref.Val{"a"}}',
    ),
    (
        WIDGET,
        nested("spec", port=Duration(5_400_000_000_000)),
        PREFIX + ".spec.port: expected map, got &{1h30m0s}",
    ),
    (
        WIDGET,
        nested("spec", text=Timestamp(1_704_067_200)),
        PREFIX
        + ".spec.text: expected string, got &value.valueUnstructured{Value:time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)}",
    ),
    (WIDGET, nested("spec", plain=["x"]), ATOMIC + ".spec.plain"),
    (WIDGET, nested("spec", atomic={"a": "b"}), ATOMIC + ".spec.atomic"),
    (
        WIDGET,
        nested("spec.closed", b="x"),
        PREFIX + ".spec.closed.b: field not declared in schema",
    ),
    (
        WIDGET,
        nested("spec", labels={"a": 1}),
        PREFIX + ".spec.labels.a: expected string, got &value.valueUnstructured{Value:1}",
    ),
    (
        WIDGET,
        nested("spec", text=b"hello"),
        PREFIX
        + ".spec.text: expected string, got &value.valueUnstructured{Value:[]uint8{0x68, 0x65, 0x6c, 0x6c, 0x6f}}",
    ),
    (
        WIDGET,
        struct("Object", spec=struct("Object.spec", labels={1: "x"})),
        PREFIX
        + ".spec: expected map, got &{fail to convert field \"labels\": map key '\\x01' is of type types.Int, not string}",
    ),
    (
        WIDGET,
        nested("spec", count="a", text=1),
        PREFIX
        + "errors:\n  .spec.count: expected numeric (int or float), got string\n"
        + "  .spec.text: expected string, got &value.valueUnstructured{Value:1}",
    ),
    (
        DEPLOYMENT,
        nested("spec", template=struct("Object.spec.wrong"), selector=struct("Object.other")),
        'type mismatch: unexpected type name "Object.spec.wrong", expected "Object.spec.template", which matches field name path from root Object type\n'
        'unexpected type name "Object.other", expected "Object.spec.selector", which matches field name path from root Object type',
    ),
    (
        ("autoscaling", "v1", "Scale"),
        nested("spec", replicas=1),
        PREFIX + "no corresponding type for autoscaling/v1, Kind=Scale",
    ),
]


@pytest.mark.parametrize(("target", "value", "message"), ERRORS)
def test_errors_in_the_words_of_the_api_server(target: Target, value: Any, message: str) -> None:
    with pytest.raises(MutationError) as caught:
        apply(value, two_containers() if target == POD else {"kind": target[2]}, target)
    assert str(caught.value) == message


def test_unknown_kinds_fail_the_request() -> None:
    with pytest.raises(
        StatusError, match=r"Resource kind other.io/v1, Kind=Thing not found\."
    ) as caught:
        apply(struct("Object"), {}, ("other.io", "v1", "Thing"))
    assert (caught.value.code, caught.value.reason) == (503, "ServiceUnavailable")


def test_container_without_a_name_is_another_container() -> None:
    assert apply(containers({"image": "x:1"}), two_containers(), POD)["spec"]["containers"][2] == {
        "image": "x:1"
    }


def test_lists_that_came_as_json_may_hold_maps() -> None:
    live = two_containers()
    value = nested("spec", initContainers=live["spec"]["containers"])
    assert apply(value, live, POD)["spec"]["initContainers"] == live["spec"]["containers"]


def test_only_an_empty_list_that_the_expression_made_is_nil() -> None:
    live = widget(plain=[], free={"l": ["x"]})
    for given, nil in ((live["spec"]["plain"], False), ([], True)):
        after = apply(nested("spec.free", l=given), live, WIDGET)
        assert (after["spec"]["free"]["l"] is EMPTY) == nil


def test_live_items_without_keys_are_an_error() -> None:
    with pytest.raises(
        MutationError,
        match=r"typed object: \.spec\.endpoints: element 0: associative list with keys may",
    ):
        apply(
            nested("spec", endpoints=[struct("Object.spec.endpoints", port=1)]),
            widget(endpoints=[3]),
            WIDGET,
        )
