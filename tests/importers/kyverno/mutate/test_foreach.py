"""``mutate.foreach`` of Kyverno."""

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.importers.kyverno.mutate.builders import changed, imported, overlay, refusal


def test_what_is_the_same_for_all_items_is_a_condition() -> None:
    found = overlay(
        """
        foreach:
        - list: request.object.spec.[initContainers, containers][]
          patchStrategicMerge:
            spec: {containers: [{(name): "{{element.name}}", resources: {requests: {+(cpu): 1}}}]}
        """
    )
    assert found == {
        "spec": {"containers": [{"(name)": "*", "resources": {"requests": {"+(cpu)": 1}}}]}
    }


def test_values_of_the_item() -> None:
    mutate = """
    foreach:
    - list: request.object.spec.containers
      preconditions:
        all: [{key: "{{element.image}}", operator: NotEquals, value: "x/*"}]
      patchStrategicMerge:
        spec:
          containers:
          - name: "{{ element.name }}"
            image: "x/{{ element.image }}"
            resources: {limits: {+(memory): 1Gi, +(cpu): "1"}}
    """
    limits = {"limits": {"cpu": "2"}}
    obj = pod(container("a", "i"), container("b", "x/j"), container("c", "k", resources=limits))
    found = changed(mutate, obj)["spec"]["containers"]
    assert [each["image"] for each in found] == ["x/i", "x/j", "x/k"]
    assert [each.get("resources") for each in found] == [
        {"limits": {"memory": "1Gi", "cpu": "1"}},
        None,
        {"limits": {"memory": "1Gi", "cpu": "2"}},
    ]


@pytest.mark.parametrize("anchor", ["memory", "+(memory)"])
def test_a_choice_of_two_missing_values_changes_nothing(anchor: str) -> None:
    mutate = """
    foreach:
    - list: request.object.spec.containers
      patchStrategicMerge:
        spec:
          containers:
          - (name): "{{ element.name }}"
            resources:
              limits:
                MEMORY: "{{ element.resources.requests.memory || element.resources.limits.memory }}"
    """.replace("MEMORY", anchor)
    asked = {"requests": {"memory": "1Gi"}}
    cpus = {"requests": {"cpu": "1"}}
    others = (container(name, "i", resources=each) for name, each in (("b", cpus), ("c", asked)))
    obj = pod(container("a", "i"), *others)
    found = changed(mutate, obj)["spec"]["containers"]
    limits = [each.get("resources", {}).get("limits") or {} for each in found]
    assert limits == [{}, {}, {"memory": "1Gi"}]


def test_a_choice_of_two_missing_values_removes_the_field() -> None:
    image = (
        "{{ request.object.metadata.annotations.image || request.object.metadata.labels.image }}"
    )
    mutate = f"{{patchStrategicMerge: {{spec: {{schedulerName: '{image}'}}}}}}"
    assert "schedulerName" not in changed(mutate, pod(schedulerName="s"))["spec"]
    named = pod(labels={"image": "x"})
    assert changed(mutate, named)["spec"]["schedulerName"] == "x"


def test_variables_of_the_loop() -> None:
    mutate = """
    foreach:
    - list: request.object.spec.containers
      context: [{name: registry, variable: {jmesPath: "join('/', ['x', element.image])"}}]
      patchStrategicMerge:
        spec: {containers: [{name: "{{element.name}}", image: "{{ registry }}"}]}
    """
    found = changed(mutate, pod(container("a", "i"), container("b", "j")))
    assert [each["image"] for each in found["spec"]["containers"]] == ["x/i", "x/j"]
    asked = mutate.replace(
        "variable: {jmesPath: \"join('/', ['x', element.image])\"}", "imageRegistry: {}"
    )
    assert "registry" in refusal(asked)
    assert "image registry" in refusal(asked)


def test_keys_of_the_items() -> None:
    mutate = """
    foreach:
    - list: request.object.spec.[initContainers, containers][]
      patchStrategicMerge: {metadata: {annotations: {"x/{{element.name}}": runtime/default}}}
    """
    found = changed(mutate, pod(container("a", "i"), container("b", "i")))
    assert found["metadata"]["annotations"] == {"x/a": "runtime/default", "x/b": "runtime/default"}


CERTIFICATES = """
foreach:
- list: request.object.spec.LIST
  patchStrategicMerge:
    spec:
      LIST:
      - name: "{{ element.name }}"
        volumeMounts: [{name: certs, mountPath: /certs}]
      volumes: [{name: certs, emptyDir: {}}]
"""


def test_fields_beside_the_items_need_an_item() -> None:
    obj = pod(container("a", "i"))
    found = changed(CERTIFICATES.replace("LIST", "containers"), obj)
    assert found["spec"]["volumes"] == [{"name": "certs", "emptyDir": {}}]
    assert found["spec"]["containers"][0]["volumeMounts"]
    assert changed(CERTIFICATES.replace("LIST", "initContainers"), obj) == obj
    assert not imported(CERTIFICATES.replace("LIST", "containers")).spec["matchConditions"]


def test_operations_with_indexes_and_missing_parents() -> None:
    mutate = """
    foreach:
    - list: request.object.spec.containers
      patchesJson6902: |-
        - {op: add, path: "/spec/containers/{{elementIndex}}/env/-", value: {name: I, value: "{{element.image}}"}}
        - {op: add, path: "/metadata/annotations/image-{{element.name}}", value: "{{element.image}}"}
    """
    found = changed(mutate, pod(container("a", "i", env=[{"name": "A"}]), container("b", "j")))
    assert [each["env"] for each in found["spec"]["containers"]] == [
        [{"name": "A"}, {"name": "I", "value": "i"}],
        [{"name": "I", "value": "j"}],
    ]
    assert found["metadata"]["annotations"] == {"image-a": "i", "image-b": "j"}


def test_operations_that_are_the_same_for_all_items_are_an_overlay() -> None:
    found = overlay(
        """
        foreach:
        - list: request.object.spec.containers
          patchesJson6902: |-
            - {op: add, path: "/spec/containers/{{elementIndex}}/tty", value: true}
        """
    )
    assert found == {"spec": {"containers": [{"(name)": "*", "tty": True}]}}


REMOVALS = """
foreach:
- list: request.object.spec.volumes[]
  order: Descending
  preconditions:
    all: [{key: hostPath, operator: AnyIn, value: "{{ element.keys(@) }}"}]
  patchesJson6902: |-
    - {op: remove, path: "/spec/volumes/{{elementIndex}}"}
- list: request.object.spec.containers[]
  foreach:
  - list: element.volumeMounts
    order: Descending
    preconditions:
      all: [{key: "{{element.name}}", operator: AnyIn, value: ["h*"]}]
    patchesJson6902: |-
      - {op: remove, path: "/spec/containers/{{elementIndex0}}/volumeMounts/{{elementIndex1}}"}
"""


def test_nested_loops_and_removals_from_the_end() -> None:
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("h1", "e", "h2")]
    obj = pod(*(container(name, "i", volumeMounts=[*mounts]) for name in "ab"))
    obj["spec"]["volumes"] = [
        {"name": "h1", "hostPath": {"path": "/"}},
        {"name": "h2", "hostPath": {"path": "/"}},
        {"name": "e", "emptyDir": {}},
    ]
    found = changed(REMOVALS, obj)["spec"]
    assert found["volumes"] == [{"name": "e", "emptyDir": {}}]
    assert [each["volumeMounts"] for each in found["containers"]] == [[mounts[1]], [mounts[1]]]
    assert changed(REMOVALS, pod(container("a", "i"))) == pod(container("a", "i"))


def test_independent_loops_of_a_rule_with_variables_see_the_same_object() -> None:
    context: list[JSONObject] = [{"name": "v", "variable": {"value": "x"}}]
    assert len(imported(REMOVALS).spec["mutations"]) == 2
    assert len(imported(REMOVALS, context=context).spec["mutations"]) == 1
    dependent = REMOVALS.replace("spec.containers[]", "spec.volumes[]")
    found = imported(dependent, context=context)
    assert len(found.spec["mutations"]) == 2
    assert "after each mutation" in found.notes.remarks[0].message


REFUSALS = [
    ("foreach: [{list: request.object.spec.containers}]", "foreach[0]: one of"),
    (
        "foreach: [{list: request.object.spec.containers, other: 1, patchesJson6902: []}]",
        "foreach[0]: `other`",
    ),
    (
        "foreach: [{list: request.object.spec.containers, order: Up, patchesJson6902: '[]'}]",
        "foreach[0].order: `Up`",
    ),
    (
        "foreach: [{list: request.object.spec.containers, patchStrategicMerge: "
        "{metadata: {labels: {a: '{{element.name}}'}}}}]",
        "the last item",
    ),
    (
        "foreach: [{list: request.object.spec.volumes, patchStrategicMerge: "
        "{spec: {containers: [{name: '{{element.name}}', tty: true}]}}}]",
        "not only those of this list",
    ),
    (
        "foreach: [{list: request.object.spec.containers, foreach: "
        "[{list: element.env, patchStrategicMerge: {metadata: {labels: {a: b}}}}]}]",
        "in a foreach of a foreach",
    ),
]


@pytest.mark.parametrize(("mutate", "reason"), REFUSALS)
def test_refusals(mutate: str, reason: str) -> None:
    assert reason in refusal(mutate)
