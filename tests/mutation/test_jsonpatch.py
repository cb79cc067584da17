"""The mutation kind JSONPatch: how values of CEL become JSON, and what becomes of the result. Refusals
that were recorded from an API server are in ``test_refusals.py``.
"""

import copy
import math
from typing import Any

import pytest

from policyd._core.values.mutation_json import ConversionError, json_value
from policyd._core.values.types import (
    Duration,
    Optional,
    StructValue,
    Timestamp,
    UInt,
)
from policyd.mutation import MutationError, StatusError
from tests.mutation.builders import CONFIG_MAP, POD, SCHEMAS, WIDGET, mutated, patch, struct

CONFIG: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
SECRET = ("", "v1", "Secret")
NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "


def apply(operations: object, obj: dict[str, Any], target: tuple[str, str, str]) -> dict[str, Any]:
    before = copy.deepcopy(obj)
    try:
        return mutated("JSONPatch", operations, obj, SCHEMAS.target(target), (obj,))
    finally:
        assert obj == before


VALUES: list[tuple[Any, Any]] = [
    ("text", "text"),
    (2**53 - 1, 2**53 - 1),
    (2**53, str(2**53)),
    (-(2**63), str(-(2**63))),
    (UInt(7), 7),
    (UInt(2**64 - 1), str(2**64 - 1)),
    (5.0, 5),
    (5.5, 5.5),
    (1e30, 1e30),
    (b"bytes", "Ynl0ZXM="),
    (Duration(5_400_000_000_000), "5400s"),
    (Timestamp(1_704_067_200), "2024-01-01T00:00:00Z"),
    (Optional("x"), "x"),
    ([1, Optional(2), UInt(3)], [1, 2, 3]),
    ({"a": [{"b": 2**60}]}, {"a": [{"b": str(2**60)}]}),
    (struct("Object.spec.x", a=1, b=["c"]), {"a": 1, "b": ["c"]}),
    (struct("Object.x", y=[struct("Object.x.y", z=b"z")]), {"y": [{"z": "eg=="}]}),
    ([struct("Object.x", y=1)], [{"y": 1}]),
    (struct("Object.x", y=Optional()), {"y": None}),
    (struct("Object.x", y=UInt(9), z=2**60), {"y": 9, "z": 2**60}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_values(value: Any, expected: Any) -> None:
    after = apply([patch("add", "/spec", value=value)], {"kind": "Widget"}, WIDGET)
    assert after["spec"] == expected
    assert type(after["spec"]) is type(expected)


NUMBER = (
    "json: error calling MarshalJSON for type *structpb.Value: "
    "proto:\u00a0google.protobuf.Value.number_value: "
)
NO_VALUES: list[tuple[Any, str]] = [
    (Optional(), NO_JSON + "optional.none() dereference"),
    (math.nan, NO_JSON + NUMBER + "invalid NaN value"),
    (
        struct("Object.x", y=2**53 + 1),
        NO_JSON + "9007199254740993 is no exact JSON number; write it as a string",
    ),
    (
        struct("Object.x", y=struct("Object.y")),
        'type mismatch: unexpected type name "Object.y", expected "Object.x.y", which matches field name path from root Object type',
    ),
    (
        struct("Object.x", y={1: "x"}),
        NO_JSON + "fail to convert field \"y\": map key '\\x01' is of type types.Int, not string",
    ),
]


@pytest.mark.parametrize(("value", "message"), NO_VALUES)
def test_values_that_have_no_json(value: Any, message: str) -> None:
    with pytest.raises(MutationError) as caught:
        apply([patch("add", "/spec", value=value)], {}, WIDGET)
    assert str(caught.value) == message


PRINTED: list[tuple[tuple[str, str, str], str, Any, Any]] = [
    (CONFIG_MAP, "/data/b", None, ""),
    (CONFIG_MAP, "/immutable", False, False),
    (POD, "/spec/hostNetwork", False, "absent"),
    (POD, "/spec/hostNetwork", None, "absent"),
    (POD, "/metadata/finalizers", [], "absent"),
    (POD, "/spec/terminationGracePeriodSeconds", 5.0, 5),
    (POD, "/spec/overhead", {"cpu": "0.5", "memory": 1024}, {"cpu": "500m", "memory": "1024"}),
    (POD, "/spec/containers", [{"args": [None]}, None], [{"args": [""]}, {}]),
    (SECRET, "/data/b", "aGVsbG8=", "aGVsbG8="),
    (WIDGET, "/spec/anything", None, None),
    (WIDGET, "/unknown", {"x": []}, {"x": []}),
]


@pytest.mark.parametrize(("target", "path", "value", "expected"), PRINTED)
def test_what_go_prints_of_a_value(
    target: tuple[str, str, str], path: str, value: Any, expected: Any
) -> None:
    before = {"kind": target[2], "metadata": {}, "spec": {}, "data": {}}
    after: Any = apply([patch("add", path, value=value)], before, target)
    for name in path.split("/")[1:]:
        after = after.get(name, "absent")
    assert after == expected


UNDECODABLE: list[tuple[tuple[str, str, str], str, Any, str]] = [
    (
        CONFIG_MAP,
        "/data",
        "str",
        "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string",
    ),
    (
        CONFIG_MAP,
        "/data/a",
        True,
        "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string",
    ),
    (
        CONFIG_MAP,
        "/data/a",
        1.5,
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
    (
        CONFIG_MAP,
        "/data/a",
        {},
        "json: cannot unmarshal object into Go struct field ConfigMap.data of type string",
    ),
    (CONFIG_MAP, "/unknown", 1, 'strict decoding error: unknown field "unknown"'),
    (
        CONFIG_MAP,
        "/metadata",
        {"x": 1, "y": 2},
        'strict decoding error: unknown field "metadata.x", unknown field "metadata.y"',
    ),
    (CONFIG_MAP, "/kind", "Secret", "illegal base64 data at input byte 0"),
    (
        POD,
        "/spec",
        {"terminationGracePeriodSeconds": 5.5},
        "json: cannot unmarshal number 5.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    ),
    (
        POD,
        "/spec",
        {"dnsPolicy": []},
        "json: cannot unmarshal array into Go struct field PodSpec.spec.dnsPolicy of type v1.DNSPolicy",
    ),
    (
        POD,
        "/spec",
        {"containers": [{"ports": [{"x": 1}]}]},
        'strict decoding error: unknown field "spec.containers[0].ports[0].x"',
    ),
]


@pytest.mark.parametrize(("target", "path", "value", "message"), UNDECODABLE)
def test_result_that_does_not_decode(
    target: tuple[str, str, str], path: str, value: Any, message: str
) -> None:
    before = {"apiVersion": "v1", "kind": target[2], "data": {"a": "!!!!"}}
    operation = patch("replace" if path == "" else "add", path, value=value)
    with pytest.raises(StatusError) as caught:
        apply([operation], before, target)
    assert (str(caught.value), caught.value.code, caught.value.reason) == (
        message,
        500,
        "InternalError",
    )


def test_untouched_parts_are_not_judged() -> None:
    before = {**CONFIG, "data": {"a": 1}}
    assert apply([patch("add", "/data/b", value="2")], before, CONFIG_MAP)["data"] == {
        "a": 1,
        "b": "2",
    }


def test_removed_kind_is_put_back() -> None:
    assert apply([patch("remove", "/kind")], CONFIG, CONFIG_MAP) == CONFIG


def test_failed_test_gives_the_same_object() -> None:
    assert apply([patch("test", "/data/a", value="2")], CONFIG, CONFIG_MAP) is CONFIG


def test_kinds_of_subresources_decode_too() -> None:
    scale = ("autoscaling", "v1", "Scale")
    with pytest.raises(StatusError, match=r"ScaleSpec.spec.replicas of type int32"):
        apply([patch("add", "/spec", value={"replicas": "3"})], {"kind": "Scale"}, scale)


@pytest.mark.parametrize("value", ["text", [1], [StructValue("Object", {})]])
def test_anything_but_a_list_of_patches_is_refused(value: Any) -> None:
    with pytest.raises(MutationError):
        apply(value, CONFIG, CONFIG_MAP)


def test_a_value_that_holds_the_object_too_often_is_refused() -> None:
    value: object = ["a"]
    for _ in range(64):
        value = [value, value]
    with pytest.raises(ConversionError, match="more than 1000000 values"):
        json_value(value)
    assert json_value(["a" * 1000, {"b": [1]}]) == ["a" * 1000, {"b": [1]}]
