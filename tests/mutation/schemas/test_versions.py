"""Each Kubernetes version has its own built-in schemas, and none of them stops an API server that is
newer.
"""

import copy
from typing import Any

import pytest

from policyd._core.json.equality import equal
from policyd.errors import StatusError
from policyd.json_types import JSONObject
from policyd.mutation import Schemas
from policyd.mutation.schemas.schemas import Gvk, builtin_table
from policyd.versions import SUPPORTED, KubernetesVersion
from tests.builders.samples import Samples, every_kind
from tests.mutation.builders import POD, mutated, patch
from tests.sampling import sampled

V36, V37 = KubernetesVersion(1, 36), KubernetesVersion(1, 37)
# Fields that 1.37 introduced: a kind, the fields on the way there, and the field.
NEW = [
    (POD, "spec volumes emptyDir", "mode"),
    (POD, "spec containers livenessProbe httpGet", "protocol"),
    (POD, "spec containers volumeMounts", "bindMountOptions"),
    (("batch", "v1", "Job"), "spec", "scheduling"),
]


@pytest.mark.parametrize(("gvk", "path", "name"), NEW, ids=[name for *_, name in NEW])
def test_fields_are_those_of_the_version(gvk: Gvk, path: str, name: str) -> None:
    found = {}
    for version in (V36, V37):
        schema = Schemas.builtin(version).lookup(*gvk)
        assert schema is not None
        kind = schema.root.type
        for step in path.split():
            kind = kind.fields[step].type
            kind = kind.item.type if kind.item is not None else kind
        found[version] = name in kind.fields
    assert found == {V36: False, V37: True}


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_every_kind_of_every_version_can_be_built(version: KubernetesVersion) -> None:
    table, schemas = builtin_table(version), Schemas.builtin(version)
    assert table.version.startswith(f"v{version}.")
    for key in table.kinds:
        group, name, kind = key.split("/")
        assert schemas.knows((group, name, kind)), key


UNKNOWN = "new-in-a-later-version"


def with_unknown(value: Any) -> Any:
    """The value with one more field in each map."""
    if isinstance(value, list):
        return [with_unknown(each) for each in value]
    if isinstance(value, dict):
        return {**{key: with_unknown(each) for key, each in value.items()}, UNKNOWN: {"x": [1]}}
    return value


LABEL = [patch("add", "/metadata/labels", value={"a": "b"})]


def apply(operations: list[Any], obj: JSONObject, gvk: tuple[str, str, str]) -> JSONObject:
    return mutated("JSONPatch", operations, obj, Schemas.builtin().target(gvk), ())


@pytest.mark.parametrize(
    "kind", sampled(every_kind()), ids=lambda each: f"{each.api_version}-{each.kind}"
)
def test_fields_of_a_newer_api_server_do_not_stop_a_mutation(kind: Samples) -> None:
    group, _, version = kind.api_version.rpartition("/")
    for manifest in kind.all(2):
        sent: JSONObject = with_unknown({"metadata": {}, **manifest})
        before = copy.deepcopy(sent)
        after = apply(LABEL, sent, (group, version, kind.kind))
        assert sent == before
        metadata = {**sent["metadata"], "labels": {"a": "b"}}
        assert equal(after, {**sent, "metadata": metadata})


def test_a_copy_keeps_the_fields_of_a_newer_api_server() -> None:
    sent: JSONObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {
            "containers": [{"name": "a", "livenessProbe": {"httpGet": {"port": 1, "x": "y"}}}]
        },
    }
    copied = [
        patch("copy", "/spec/containers/-", source="/spec/containers/0"),
        patch("replace", "/spec/containers/1/name", value="b"),
    ]
    after = apply(copied, sent, POD)
    assert after["spec"]["containers"][1] == {**sent["spec"]["containers"][0], "name": "b"}


def test_a_field_that_nobody_knows_is_still_an_error() -> None:
    sent = {"apiVersion": "v1", "kind": "Pod", "metadata": {"x": 1}, "spec": {"containers": []}}
    with pytest.raises(StatusError, match=r'unknown field "spec\.x"'):
        apply([patch("add", "/spec/x", value=1)], sent, POD)
