"""Merges note what they change, so that only that is decoded and compared. The result is that of
decoding and comparing the whole object.
"""

import copy
import json
from typing import Any

import pytest

from policyd._core.patch.diff import diff
from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.plan import Stopped, Subject
from policyd._core.schema.merge import merge
from policyd.errors import MutationError, StatusError
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import container, pod
from tests.builders.policies import apply_configuration, json_patch, overlay, policy
from tests.mutation.builders import SCHEMAS
from tests.policy_sets import compiled

LIMITS = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
TOLERATION = {"key": "a", "operator": "Exists"}
MANY: list[JSON] = [{"name": f"x{i}", "value": str(i)} for i in range(30)]
STRANGE: dict[str, Any] = {"app": None, "~1": "", "é\0": "\n", "one": {"a": [[]]}}
SHARED = container("c", "nginx", env=MANY)
OBJECTS: dict[str, JSONObject] = {
    "small": pod(container("c", "nginx"), labels={"app": "web"}),
    "without labels": pod(container("c", "nginx")),
    "full": pod(
        container("c", "nginx", resources=LIMITS, ports=[{"containerPort": 1}]),
        container(
            "d",
            "nginx",
            securityContext={"privileged": True, "runAsUser": 1},
            env=[{"name": "x", "value": "1"}, {"name": "y", "value": "2"}],
            volumeMounts=[{"name": "v", "mountPath": "/v"}],
        ),
        labels={"app": "web", "tier": "back", "a/b~c": "d"},
        annotations={"one": "1"},
        nodeSelector={"disk": "ssd"},
        tolerations=[TOLERATION],
        hostNetwork=True,
        hostIPC=False,
        initContainers=[container("i", "init")],
    ),
    "items without names": pod(container("", "a"), container("c", "b"), labels={"app": "web"}),
    "the same name twice": pod(container("c", "a"), container("c", "b"), labels={"app": "web"}),
    "large": pod(
        container("d", "nginx", resources=LIMITS),
        *(container(f"c{i}", "nginx", env=MANY, resources=LIMITS, tty=True) for i in range(40)),
        container("c", "nginx", env=[*MANY, {"name": "y", "value": "2"}]),
        labels={"app": "web", **{f"l{i}": "x" * 60 for i in range(200)}},
        annotations={"one": "x" * 100_000},
        tolerations=[{"key": str(i)} for i in range(100)],
    ),
    # What an API server refuses, or knows and policyd does not.
    "hostile": pod(
        SHARED,
        SHARED,
        container("~/*", "", env=[None, {"name": 1}, {"x": {}}], resources=None, unknown={"a": []}),
        container("d", "nginx", env={}, securityContext=[], resources={"limits": {"cpu": 1}}),
        labels=STRANGE,
        annotations=STRANGE,
        nodeSelector=None,
        tolerations=[{}, {}],
        priority="3",
        initContainers=[],
        unknown=[SHARED, [SHARED]],
    ),
}
CONTAINER = "Object.spec.containers"
EXPRESSIONS = (
    "Object{metadata: Object.metadata{labels: {'new': '1', 'app': 'other', 'a/b~c': 'e'}}}",
    "Object{metadata: Object.metadata{labels: {'tier': 'x', 'app': 'y'}, name: 'web'}}",
    "Object{metadata: Object.metadata{annotations: {'two': '2'}, labels: {'app': 'web'}}}",
    "Object{metadata: Object.metadata{labels: {}}}",
    "Object{spec: Object.spec{hostNetwork: false, nodeSelector: {'disk': ''}, priority: 3}}",
    f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {CONTAINER}{{name: c.name,"
    f" securityContext: {CONTAINER}.securityContext{{privileged: false}}}})}}}}",
    f"Object{{spec: Object.spec{{containers: [{CONTAINER}{{name: 'd', image: 'other', tty: false}}]}}}}",
    f"Object{{spec: Object.spec{{containers: [{CONTAINER}{{name: 'd', tty: true}},"
    f" {CONTAINER}{{name: 'c', tty: true}}]}}}}",
    f"Object{{spec: Object.spec{{containers: [{CONTAINER}{{name: 'new', image: 'a'}}]}}}}",
    f"Object{{spec: Object.spec{{containers: [{CONTAINER}{{name: 'c', resources:"
    f" {CONTAINER}.resources{{limits: {{'memory': '1024Mi', 'cpu': '1000m'}}}}}}]}}}}",
    f"Object{{spec: Object.spec{{containers: [{CONTAINER}{{name: 'c', ports:"
    f" [{CONTAINER}.ports{{containerPort: 1, protocol: 'TCP'}}]}}]}}}}",
    "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'b'}]}}",
    "Object{spec: Object.spec{volumes: [Object.spec.volumes{name: 'v'}]}}",
    "Object{spec: Object.spec{activeDeadlineSeconds: 2.0}}",
    "Object{kind: 'Secret', metadata: Object.metadata{labels: {'new': 1}}}",
    "Object{kind: 'Secret', metadata: Object.metadata{labels: {'app': 'new'}}}",
    "Object{metadata: Object.metadata{labels: {'app': ''}, annotations: {'one': '2', 'two': ''}}}",
    "Object{metadata: Object.spec{hostNetwork: true}}",
    "Object{spec: Object.spec{hostNetwork: 'yes', nope: 1}}",
    "Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: 1,"
    " seLinuxOptions: Object.spec.securityContext.seLinuxOptions{level: 's0'}}}}",
    "Object{spec: Object.spec{?hostIPC: optional.of(true), ?hostPID: optional.none()}}",
    "Object{spec: Object.spec{nodeSelector: {'disk': 'ssd', 'zone': 'a'}, hostIPC: false}}",
    f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {CONTAINER}{{name: c.name,"
    f" stdin: false, tty: true, resources: {CONTAINER}.resources{{limits: {{'memory': '1024Mi'}}}},"
    f" securityContext: {CONTAINER}.securityContext{{windowsOptions:"
    f" {CONTAINER}.securityContext.windowsOptions{{runAsUserName: 'a'}}}}}})}}}}",
    f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {CONTAINER}{{name: c.name,"
    f" env: [{CONTAINER}.env{{name: 'y', value: '3'}}, {CONTAINER}.env{{name: 'z', value: ''}}]}})}}}}",
    f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {CONTAINER}{{name: c.name,"
    f" image: 'other', command: ['a'], terminationMessagePath: ''}})}}}}",
    f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {CONTAINER}{{name: 'c'}})}}}}",
    "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'i', tty: true}]}}",
    "Object{spec: Object.spec{tolerations: object.spec.?tolerations.orValue([]).map(t,"
    " Object.spec.tolerations{key: t.key, effect: 'NoExecute'})}}",
)
ITEMS: dict[str, Any] = {
    "a field of every item": [{"(name)": "*", "tty": True}],
    "a field inside": [{"(name)": "*", "securityContext": {"privileged": False}}],
    "one item": [{"name": "c", "image": "other"}],
    "an item that is new": [{"name": "new", "image": "a"}],
    "each and one": [{"(name)": "*", "tty": True}, {"name": "d", "stdin": True}],
    "inside of inside": [{"(name)": "*", "env": [{"(name)": "x", "value": "9"}]}],
    "an item is removed": [{"(name)": "c", "$patch": "delete"}],
    "a field is removed": [{"(name)": "*", "image": None}],
    "quantities": [{"(name)": "*", "resources": {"limits": {"memory": "1024Mi"}}}],
}
TREES: dict[str, Any] = {
    "labels": {"metadata": {"labels": {"new": "1", "tier": "x", "app": "y"}}},
    "a label is removed": {"metadata": {"labels": {"app": None}}},
    "all labels are removed": {"metadata": {"labels": None, "annotations": {"one": None}}},
    "only new ones": {"metadata": {"labels": {"+(app)": "x", "+(b)": "x"}}},
    "empty": {"spec": {"nodeSelector": {"disk": None}, "hostNetwork": False}},
    "an expression": {"metadata": {"labels": "${{'a': '1', 'app': string(object.metadata.name)}}"}},
    "two lists": {"spec": {"containers": ITEMS["one item"], "tolerations": [TOLERATION]}},
} | {name: {"spec": {"containers": items}} for name, items in ITEMS.items()}
PATCHES = (
    "add', path: '/metadata/labels/new', value: 'x'",
    "add', path: '/metadata/labels/app', value: 'x'",
    "add', path: '/metadata/labels/app', value: 'web'",
    "add', path: '/metadata/labels/new', value: null",
    "add', path: '/metadata/labels', value: {'a': 'b'}",
    "add', path: '/metadata/labels', value: dyn({})",
    "add', path: '/metadata/annotations/a~1b~0c', value: ''",
    "add', path: '/spec/hostNetwork', value: false",
    "add', path: '/spec/hostNetwork', value: null",
    "add', path: '/spec/hostIPC', value: false",
    "add', path: '/spec/nope', value: 1",
    "add', path: '/spec/containers/0/tty', value: true",
    "add', path: '/spec/containers/-', value: {'name': 'n'}",
    "add', path: '/spec/priority', value: 1",
    "replace', path: '/spec/priority', value: 1",
    "remove', path: '/metadata/labels/app'",
)
MUTATIONS = (
    {text[:60] + text[60:][-40:]: apply_configuration(text) for text in EXPRESSIONS}
    | {name: overlay(tree) for name, tree in TREES.items()}
    | {patch: json_patch(f"[JSONPatch{{op: '{patch}}}]") for patch in PATCHES}
)


def change(mutation: JSONObject, obj: JSONObject, *, noted: bool) -> tuple[str, Any]:
    """The object after the mutation as JSON, and the operations; or the error."""
    policies = compiled(policy("p", mutations=[mutation]))
    (made,) = policies.policies
    target = policies.schemas.target(("", "v1", "Pod"))
    assert made.mutation is not None
    assert target.schema is not None
    root = target.schema.root
    tree = MutatedTree(obj, root if noted else None)
    subject = Subject(obj, None, {}, {}, None)
    step = made.mutations[0].step
    try:
        after = step.change(made.mutation, subject, None, target, 0, tree)
    except (MutationError, StatusError, Stopped) as error:
        return str(error), None
    if not noted:
        return json.dumps(after), diff(obj, after, root.list_keys)
    assert tree.accept(after) is None
    return json.dumps(after), tree.operations


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_result_is_that_of_visiting_everything(name: str) -> None:
    for kind, obj in OBJECTS.items():
        given = copy.deepcopy(obj)
        expected = change(MUTATIONS[name], obj, noted=False)
        assert change(MUTATIONS[name], obj, noted=True) == expected, kind
        assert obj == given, kind


def test_a_change_of_very_many_keys_takes_no_stack() -> None:
    schema = SCHEMAS.lookup("", "v1", "Pod")
    assert schema is not None
    labels = {str(number): "" for number in range(1_000_000)}
    patch = {"metadata": {"labels": labels}}
    after: Any = merge(pod(labels={"a": "b"}), patch, schema.root.type)
    assert len(after["metadata"]["labels"]) == 1_000_001
