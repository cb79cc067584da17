"""Whatever an expression returns, the direct form of its mutation gives what the general one does."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.mutation import ExpressionStep
from policyd._core.plan.mutators import DirectMutator
from policyd._core.values.read_trees import ReadTrees
from policyd._core.values.types import Optional, StructValue
from policyd.errors import MutationError, StatusError
from policyd.json_types import JSONObject
from policyd.mutation import KINDS, Target
from tests.builders.objects import container, pod
from tests.mutation.builders import POD, SCHEMAS, mutated, nested, patch, struct

names = st.sampled_from(["", "a", "b", "c", "a/b"])
texts = st.sampled_from(["", "a", "1Gi", "1024Mi"])
# Mostly what fits, so that much is merged; each expression may also return what does not.
flags = st.sampled_from([True, False, False, "yes", None, Optional(), Optional(True)])
numbers = st.sampled_from([0, 1, 2.0, 2.5, 2**40, "1"])
labels = st.dictionaries(names, texts | st.sampled_from([None, 1]), max_size=3)
quantities = st.dictionaries(st.sampled_from(["cpu", "memory"]), texts | numbers, max_size=2)


def optional(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields, in any order."""
    some = st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=4)
    return some.flatmap(
        lambda chosen: st.fixed_dictionaries({each: fields[each] for each in chosen})
    )


def members(path: str) -> st.SearchStrategy[dict[str, Any]]:
    """Fields of the object at a path, as an expression may return them."""
    if path == "Object":
        return optional(
            kind=texts,
            metadata=structs("Object.metadata"),
            spec=structs("Object.spec"),
        )
    if path == "Object.metadata":
        return optional(labels=labels, annotations=labels, name=texts, nope=texts)
    if path == "Object.spec":
        return optional(
            hostNetwork=flags,
            hostIPC=flags,
            nodeSelector=labels,
            activeDeadlineSeconds=numbers,
            securityContext=structs("Object.spec.securityContext"),
            containers=items("Object.spec.containers"),
            tolerations=st.lists(structs("Object.spec.tolerations"), max_size=2),
        )
    if path == "Object.spec.securityContext":
        return optional(runAsUser=numbers, supplementalGroups=st.lists(numbers, max_size=2))
    if path == "Object.spec.tolerations":
        return optional(key=texts, tolerationSeconds=numbers)
    if path == "Object.spec.containers.resources":
        return optional(limits=quantities, requests=quantities)
    if path == "Object.spec.containers.env":
        return optional(name=names, value=texts)
    return optional(
        name=names,
        image=texts,
        tty=flags,
        command=st.lists(texts, max_size=2),
        env=items("Object.spec.containers.env"),
        resources=structs("Object.spec.containers.resources"),
    )


def structs(path: str) -> st.SearchStrategy[Any]:
    def struct(fields: dict[str, Any]) -> StructValue:
        return StructValue(path, fields)

    return members(path).map(struct)


def items(path: str) -> st.SearchStrategy[list[Any]]:
    """Items of a list with keys: those of the object in its order, or any others."""

    def named(fields: list[dict[str, Any]]) -> list[StructValue]:
        first, second = fields
        return [
            StructValue(path, {**first, "name": "a"}),
            StructValue(path, {**second, "name": "b"}),
        ]

    alike = st.lists(members(path), min_size=2, max_size=2).map(named)
    return alike | st.lists(structs(path), max_size=3)


objects = st.builds(
    lambda first, second, fields, labels, annotations: pod(
        container("a", "i", env=[{"name": "a"}, {"name": "b", "value": "1"}], **first),
        container("b", "i", **second),
        labels=labels,
        annotations=annotations,
        **fields,
    ),
    optional(tty=st.just(True), resources=st.just({"limits": {"memory": "1Gi", "cpu": "1"}})),
    optional(command=st.just(["a"]), stdin=st.just(True)),
    optional(hostNetwork=st.just(True), nodeSelector=st.just({"a": "", "b": "1"})),
    st.dictionaries(names, texts, max_size=3),
    st.dictionaries(names, texts, max_size=2),
)


def both(kind: str, value: object, obj: JSONObject, *sources: object) -> None:
    with suppress(MutationError, StatusError):  # both refuse it, with the same words
        mutated(kind, value, obj, SCHEMAS.target(POD), (obj, *sources))


def grown(obj: JSONObject, size: int, *, hostile: bool) -> JSONObject:
    """The object with so many more containers that share parts; ``hostile``: also names."""
    spec = obj["spec"]
    first, *others = spec["containers"]
    last = [first, *others] if hostile else others
    more = [{**first, "name": f"more-{i % 30 if hostile else i}"} for i in range(size)]
    fields = {"containers": [first, *more, *last], **({"unknown": [spec, []]} if hostile else {})}
    labels = {**obj["metadata"].get("labels", {}), **{f"l{i}": "" for i in range(size)}}
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}, "spec": {**spec, **fields}}


many = st.integers(15, 60)


@given(objects, many, st.booleans(), structs("Object"))
def test_large_objects(obj: JSONObject, size: int, hostile: bool, value: StructValue) -> None:
    large = grown(obj, size, hostile=hostile)
    both("ApplyConfiguration", value, large, {"object": large, "other": [large, obj]})


CONTAINERS = "Object.spec.containers"


@given(objects, many, st.booleans(), st.lists(members(CONTAINERS), min_size=1, max_size=3))
def test_every_container_of_many(
    obj: JSONObject, size: int, hostile: bool, fields: list[dict[str, Any]]
) -> None:
    large = grown(obj, size, hostile=hostile)
    items = [
        StructValue(CONTAINERS, {**fields[i % len(fields)], "name": each["name"]})
        for i, each in enumerate(large["spec"]["containers"])
    ]
    spec = StructValue("Object.spec", {"containers": items})
    both("ApplyConfiguration", StructValue("Object", {"spec": spec}), large)


@given(objects, structs("Object"))
def test_objects(obj: JSONObject, value: StructValue) -> None:
    both("ApplyConfiguration", value, obj)


@given(objects, members("Object.spec"), st.sampled_from(["labels", "nodeSelector", "containers"]))
def test_parts_of_the_object_itself(obj: JSONObject, spec: dict[str, Any], part: str) -> None:
    read = obj["metadata"].get(part, obj["spec"].get(part))
    fields = {**spec, **({} if part == "labels" else {part: read})}
    metadata = {"labels": read} if part == "labels" else {"annotations": {"a": "1"}}
    inner = {
        "spec": StructValue("Object.spec", fields),
        "metadata": StructValue("Object.metadata", metadata),
    }
    both("ApplyConfiguration", StructValue("Object", inner), obj)


paths = st.sampled_from(
    [
        "/metadata/labels",
        "/metadata/labels/a",
        "/metadata/labels/a~1b",
        "/metadata/name",
        "/spec/hostNetwork",
        "/spec/nodeSelector/b",
        "/spec/containers/0/tty",
        "/spec/nope",
        "/spec/containers/-",
        "/spec/containers/0/resources/limits/memory",
        "/kind",
        "/metadata",
    ]
)
given_values = texts | flags | numbers | labels | st.lists(texts, max_size=2)
operations = st.builds(
    lambda op, path, source, value: patch(op, path, source=source, value=value),
    st.sampled_from(["add", "add", "replace", "remove", "copy", "move", "test"]),
    paths,
    paths,
    given_values,
)


@given(objects, st.lists(operations, min_size=1, max_size=2))
def test_patches(obj: JSONObject, value: list[StructValue]) -> None:
    both("JSONPatch", value, obj)


class OnlyDirect:
    """A mutator whose general form may not be needed."""

    def __init__(self, direct: DirectMutator | None) -> None:
        self.direct = direct

    def apply(
        self,
        value: object,
        obj: JSONObject,
        target: Target,
        sources: ReadTrees | None,
    ) -> JSONObject:
        raise AssertionError("the general form was needed")


COMMON: list[tuple[str, Any]] = [
    ("JSONPatch", [patch("add", "/metadata/labels/x", value="y")]),
    ("JSONPatch", [patch("remove", "/metadata/labels/app")]),
    ("ApplyConfiguration", nested("metadata", labels={"app": "x", "new": "y"})),
    ("ApplyConfiguration", nested("metadata", annotations={"new": "y"})),
    (
        "ApplyConfiguration",
        nested("spec", volumes=[struct("Object.spec.volumes", name="v")]),
    ),
    (
        "ApplyConfiguration",
        nested("spec", containers=[struct("Object.spec.containers", name="new", tty=True)]),
    ),
]


@pytest.mark.parametrize(("kind", "value"), COMMON)
def test_what_is_common_needs_no_general_form(kind: str, value: object) -> None:
    mutator = KINDS[kind].mutator
    assert mutator is not None
    obj, target = pod(container("c", "i"), labels={"app": "web"}), SCHEMAS.target(POD)
    assert target.schema is not None
    step = ExpressionStep(0, OnlyDirect(mutator.direct))
    tree = MutatedTree(obj, target.schema.root)
    assert tree.accept(step.apply(value, obj, target, ReadTrees((obj,)), tree)) is None
    assert tree.changes == 1
