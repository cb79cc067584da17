"""Each kind of request reaches policyd from a real API server and is judged and mutated as it is."""

from typing import Any

from tests.builders.objects import (
    PRIVILEGED,
    config_map,
    container,
    deployment,
    pod,
    widget_definition,
)
from tests.builders.policies import (
    CONFIG_MAPS,
    NOT_PRIVILEGED,
    PODS,
    apply_configuration,
    demand,
    labelling,
    policy,
    rule,
)
from tests.e2e.client import APPLY, Client
from tests.e2e.conftest import Install
from tests.e2e.definitions import Define
from tests.e2e.webhook import DENIED


def test_updates_see_both_objects(install: Install, client: Client, namespace: str) -> None:
    fixed = demand("object.data.zone == oldObject.data.zone", "the zone is fixed")
    install(policy("fixed", rule("configmaps", operations=["UPDATE"]), validations=[fixed]))
    thing = client.made(config_map("a", namespace, {"zone": "one", "size": "1"}))
    moved = client.patch(thing, {"data": {"zone": "two"}})
    assert (moved.status, moved.message) == (
        422,
        f"{DENIED}policy 'fixed' denied request: the zone is fixed",
    )
    assert client.patch(thing, {"data": {"size": "2"}}).status == 200
    assert client.get(thing).body["data"] == {"zone": "one", "size": "2"}


def test_deletes_see_the_old_object(install: Install, client: Client, namespace: str) -> None:
    kept = demand("oldObject.metadata.?labels.?keep.orValue('') != 'yes'", "kept")
    install(
        policy("keep", rule("configmaps", "pods", operations=["DELETE"]), validations=[kept]),
        # Mutating policies are not asked: a webhook may not patch a DELETE.
        policy("touch", rule("*", operations=["*"]), mutations=[labelling("touched", "'yes'")]),
    )
    kept_one = config_map("a", namespace)
    kept_one["metadata"]["labels"] = {"keep": "yes"}
    client.made(kept_one)
    other = client.made(pod(name="b", namespace=namespace))
    assert client.delete(kept_one).message == f"{DENIED}policy 'keep' denied request: kept"
    assert client.delete(other).status == 200
    assert client.get(kept_one).status == 200
    # One request for each object, none of which has a name.
    swept = client.send("DELETE", f"/api/v1/namespaces/{namespace}/configmaps")
    assert swept.message == f"{DENIED}policy 'keep' denied request: kept"


def test_connect_is_judged_before_anything_runs(
    install: Install, client: Client, namespace: str
) -> None:
    shell = demand("!(object.command[0] in ['sh', 'bash'])", "no shells")
    install(policy("exec", rule("pods/exec", operations=["CONNECT"]), validations=[shell]))
    thing = client.made(pod(namespace=namespace))
    exec_path = f"/api/v1/namespaces/{namespace}/pods/{thing['metadata']['name']}/exec"
    denied = client.send("POST", exec_path, container="app", command="sh", stdout="true")
    assert (denied.status, denied.message) == (
        422,
        f"{DENIED}policy 'exec' denied request: no shells",
    )
    passed = client.send("POST", exec_path, container="app", command="ls", stdout="true")
    assert "denied" not in passed.message  # there is no kubelet to run it
    assert passed.status in (400, 404, 500)


def test_scale_is_a_request_of_its_parent(install: Install, client: Client, namespace: str) -> None:
    small = demand("object.kind == 'Scale' && object.spec.replicas <= 5", "too many")
    scale = rule("deployments/scale", group="apps", operations=["UPDATE"])
    install(policy("small", scale, validations=[small]))
    thing = client.made(deployment(namespace=namespace))
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    current = client.send("GET", path).body
    for replicas, status in ((6, 422), (5, 200)):
        answer = client.send("PUT", path, {**current, "spec": {"replicas": replicas}})
        assert answer.status == status, answer.body
    assert client.get(thing).body["spec"]["replicas"] == 5


def test_dry_runs_are_judged_and_changed_alike(
    install: Install, client: Client, namespace: str
) -> None:
    install(
        policy("dry", CONFIG_MAPS, validations=[demand("!has(object.data.bad)", "bad")]),
        policy("stamp", CONFIG_MAPS, mutations=[labelling("dry", "string(request.dryRun)")]),
    )
    fine = config_map("a", namespace, {"good": ""})
    answer = client.made(fine, dryRun="All")
    assert answer["metadata"]["labels"] == {"dry": "true"}
    assert client.get(fine).status == 404
    assert client.create(config_map("b", namespace, {"bad": ""}), dryRun="All").status == 422
    assert client.made(fine)["metadata"]["labels"] == {"dry": "false"}


def test_server_side_apply_creates_and_updates(
    install: Install, client: Client, namespace: str
) -> None:
    install(
        policy("frozen", CONFIG_MAPS, validations=[demand("object.data.size != '13'", "unlucky")]),
        policy(
            "stamp",
            CONFIG_MAPS,
            mutations=[labelling("operation", "request.operation.lowerAscii()")],
        ),
    )
    thing = config_map("a", namespace, {"size": "1"})

    def applied(size: str) -> Any:
        wanted = config_map("a", namespace, {"size": size})
        return client.patch(thing, wanted, APPLY, fieldManager="me", force="true")

    assert applied("13").message == f"{DENIED}policy 'frozen' denied request: unlucky"
    assert applied("1").status == 201
    assert client.get(thing).body["metadata"]["labels"] == {"operation": "create"}
    assert applied("2").status == 200
    assert applied("13").status == 422
    stored = client.get(thing).body
    assert (stored["data"], stored["metadata"]["labels"]) == (
        {"size": "2"},
        {"operation": "update"},
    )


def test_generated_names_are_known_when_validating(
    install: Install, client: Client, namespace: str
) -> None:
    named = demand("request.name.startsWith('job-') && request.name.size() > 4", "no name")
    install(
        policy("named", CONFIG_MAPS, validations=[{**named, "messageExpression": "request.name"}]),
        policy("stamp", CONFIG_MAPS, mutations=[labelling("named", "string(has(request.name))")]),
    )
    made = client.made(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"generateName": "job-", "namespace": namespace},
        }
    )
    assert made["metadata"]["name"].startswith("job-")
    assert made["metadata"]["labels"] == {"named": "false"}


def test_templates_of_controllers_are_judged(
    install: Install, client: Client, namespace: str
) -> None:
    install(
        policy("pods", PODS, podControllers=True, validations=[NOT_PRIVILEGED]),
        policy("pull", PODS, podControllers=True, mutations=[labelling("by", "'policyd'")]),
    )
    denied = client.create(deployment(container(**PRIVILEGED), namespace=namespace))
    assert (denied.status, denied.message) == (
        422,
        f"{DENIED}policy 'pods' denied request: privileged containers are not allowed",
    )
    made = client.made(deployment(namespace=namespace))
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", "by": "policyd"}
    assert "labels" not in made["metadata"]


def test_custom_resources_have_the_schema_of_their_definition(
    install: Install, client: Client, namespace: str, define: Define
) -> None:
    definition = widget_definition()
    define(definition)
    widgets = rule("widgets", group="e2e.policyd.dev")
    merged = "Object{spec: Object.spec{parts: [Object.spec.parts{name: 'b', size: 2}]}}"
    install(
        definition,
        policy("colour", widgets, validations=[demand("object.spec.colour != 'red'", "not red")]),
        policy("part", widgets, mutations=[apply_configuration(merged)]),
    )
    parts = [{"name": "a", "size": 1}, {"name": "b"}]
    widget = {
        "apiVersion": "e2e.policyd.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"colour": "blue", "parts": parts},
    }
    assert client.made(widget)["spec"]["parts"] == [
        {"name": "a", "size": 1},
        {"name": "b", "size": 2},
    ]
    red = client.patch(widget, {"spec": {"colour": "red"}})
    assert red.message == f"{DENIED}policy 'colour' denied request: not red"
