"""The API server's own patch library applies every patch of policyd, to what policyd meant by it."""

import random
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.objects import container, deployment, widget_definition
from tests.builders.policies import PODS, json_patch, policy, rule
from tests.e2e.builders import recorded_pods
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.e2e.definitions import Define
from tests.shared import ROOT

KEYS = ("", "a", "b", "name", "~", "~1", "/", "a/b", "0", "-", "ä€𝄞", "\u2028", '"\\', "<&>", " ")
SEED = 20261121
CASES = 400


def test_the_sample_mutations_apply_to_recorded_pods(
    install: Install, client: Client, namespace: str
) -> None:
    install(ROOT / "policies" / "mutation")
    for thing in recorded_pods(namespace):
        labels = thing["metadata"]["labels"]
        made = client.made(thing)
        assert made["metadata"]["labels"] == {
            **labels,
            "app.kubernetes.io/managed-by": "platform",
            "example.com/environment": "production",
        }
        spec = made["spec"]
        assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        for each in [*spec["containers"], *spec.get("initContainers", [])]:
            assert each["imagePullPolicy"] == "Always"
            context = each["securityContext"]
            assert context.get("privileged") or "allowPrivilegeEscalation" in context
        assert client.get(made).body == made


OVERLAY: JSONObject = {
    "metadata": {"labels": {"+(app)": "none", "team": "${request.namespace}", "gone": None}},
    "spec": {
        "nodeSelector": {"disk": "ssd", "zone": None},
        "tolerations": [{"key": "${object.metadata.name}", "operator": "Exists"}],
        "containers": [
            {
                "(image)": "*:latest",
                "imagePullPolicy": "Never",
                "resources": {"limits": {"cpu": 2}},
            },
            {"name": "debug", "$patch": "delete"},
            {"name": "side", "image": "side:1"},
        ],
    },
}


def test_overlays_arrive_and_are_settled(install: Install, client: Client, namespace: str) -> None:
    install(policy("overlay", PODS, mutations=[{"patchType": "Overlay", "overlay": OVERLAY}]))
    containers = [
        {"name": "app", "image": "app:latest"},
        {"name": "debug", "image": "debug:1"},
        {"name": "log", "image": "log:1"},
    ]
    thing = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"gone": "x"}},
        "spec": {"containers": containers, "nodeSelector": {"zone": "a"}},
    }
    made = client.made(thing)
    assert made["metadata"]["labels"] == {"app": "none", "team": namespace}
    spec = made["spec"]
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert spec["tolerations"][0] == {"key": "web", "operator": "Exists"}
    assert [each["name"] for each in spec["containers"]] == ["app", "log", "side"]
    assert spec["containers"][0]["imagePullPolicy"] == "Never"
    assert spec["containers"][0]["resources"]["limits"] == {"cpu": "2"}
    assert client.get(made).body == made


def test_appended_items_are_added_once(install: Install, client: Client, namespace: str) -> None:
    pod = {
        "tolerations": [{"$patch": "append"}, {"key": "spot", "operator": "Exists"}],
        "containers": [{"(name)": "*", "args": [{"$patch": "append"}, "-v"]}],
    }
    tree: JSONObject = {"spec": {"template": {"spec": pod}}}
    mutation = {"patchType": "Overlay", "overlay": tree}
    install(policy("append", rule("deployments", group="apps"), mutations=[mutation]))
    own = [{"key": "own", "operator": "Equal", "value": "1"}]
    app = container("app", "app:1", args=["-q"])
    made = client.made(deployment(app, namespace=namespace, tolerations=own))
    spec = made["spec"]["template"]["spec"]
    assert spec["tolerations"] == [*own, {"key": "spot", "operator": "Exists"}]
    assert spec["containers"][0]["args"] == ["-q", "-v"]
    made["metadata"]["labels"] = {"changed": "yes"}
    answer = client.replace(made)
    assert answer.status == 200
    assert answer.body["metadata"]["labels"] == {"changed": "yes"}
    assert answer.body["spec"] == made["spec"]


def test_any_difference_of_two_trees_arrives(
    install: Install, client: Client, namespace: str, define: Define
) -> None:
    """A mutation that replaces one random tree by another becomes the smallest patch for that."""
    definition = free_form_definition()
    define(definition)
    replace = json_patch("[JSONPatch{op: 'replace', path: '/spec/is', value: object.spec.want}]")
    mutation = policy("grow", rule("trees", group="e2e.policyd.dev"), mutations=[replace])
    server = install(definition, mutation)
    chance = random.Random(SEED)
    for number in range(CASES):
        before = {"root": tree(chance, 5)}
        want = {"root": edited(chance, before["root"])}
        thing = {
            "apiVersion": "e2e.policyd.dev/v1",
            "kind": "Tree",
            "metadata": {"name": f"tree-{number}", "namespace": namespace},
            "spec": {"is": before, "want": want},
        }
        assert client.made(thing, dryRun="All")["spec"]["is"] == want, f"{before} to {want}"
    # A patch that replaced the tree as a whole would arrive too.
    assert server.metric('policyd_patch_operations_total{policy="grow"}') > 2 * CASES


def tree(chance: random.Random, depth: int) -> Any:
    """A JSON value of the kinds that a custom resource keeps as they are."""
    shape = chance.random() if depth else 0
    if shape < 0.3:
        return chance.choice(
            [None, True, False, 0, -7, 2**31, 0.5, "", "text", "\u2028<&>", [], {}]
        )
    if shape < 0.6:
        return {key: tree(chance, depth - 1) for key in chance.sample(KEYS, chance.randint(0, 5))}
    if shape < 0.8:
        return [tree(chance, depth - 1) for _ in range(chance.randint(0, 5))]
    names = chance.sample(range(9), chance.randint(0, 6))
    return [
        {"name": f"item-{i}", "value": tree(chance, depth - 2 if depth > 1 else 0)} for i in names
    ]


def edited(chance: random.Random, value: Any, rate: float = 0.25) -> Any:
    """The value with some of its parts replaced, added, removed or put in another order."""
    if chance.random() < rate / 2:
        return tree(chance, 2)
    if isinstance(value, dict):
        kept = {key: edited(chance, each) for key, each in value.items() if chance.random() > rate}
        added = {key: tree(chance, 1) for key in KEYS if chance.random() < rate / 5}
        return {**kept, **added}
    if isinstance(value, list):
        items = [edited(chance, each) for each in value if chance.random() > rate]
        if chance.random() < rate:
            chance.shuffle(items)
        if chance.random() < rate:
            items.insert(chance.randint(0, len(items)), tree(chance, 1))
        return items
    return value


def free_form_definition() -> JSONObject:
    """Trees: whatever stands in their spec is kept."""
    made = widget_definition()
    made["metadata"]["name"] = "trees.e2e.policyd.dev"
    made["spec"]["names"] = {"plural": "trees", "singular": "tree", "kind": "Tree"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    (version,) = made["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = free
    return made
