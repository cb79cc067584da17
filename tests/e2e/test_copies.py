"""The copy operations of a JSON Patch are bounded as the API server bounds them."""

from pathlib import Path

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION, json_patch, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.in_tree import HOOK, TREE, both

KIND = "MutatingAdmissionPolicy"
MUTATE = 'admission webhook "mutate.policyd.dev" denied the request: '


def copying(name: str, copies: int) -> list[JSONObject]:
    """A policy that copies ``data.a`` so many times."""
    expression = (
        f"lists.range({copies}).map(i, JSONPatch{{op: 'copy', from: '/data/a', "
        "path: '/data/b' + string(i)})"
    )
    spec = {
        "matchConstraints": {"resourceRules": [rule("configmaps")]},
        "matchConditions": [
            {"name": "large", "expression": "has(object.data) && 'a' in object.data"}
        ],
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [json_patch(expression)],
    }
    metadata = {"name": name}
    return [
        {"apiVersion": ADMISSION, "kind": KIND, "metadata": metadata, "spec": spec},
        {
            "apiVersion": ADMISSION,
            "kind": f"{KIND}Binding",
            "metadata": metadata,
            "spec": {"policyName": name},
        },
    ]


def test_copies_have_a_limit(api: Cluster, client: Client, tmp_path: Path) -> None:
    documents = [*copying("few", 3), *copying("many", 12)]
    with both(api, client, documents, tmp_path, "copies-") as namespace:
        told = {}
        for side in (TREE, HOOK):
            for name in ("few", "many"):
                thing = config_map("a", namespace(side, name), {"a": "x" * 300_000})
                answer = client.create(thing, dryRun="All")
                told[side, name] = (answer.status, answer.message)
        assert told[TREE, "few"] == told[HOOK, "few"]  # as large as no ConfigMap may be
        assert told[TREE, "many"][0] == told[HOOK, "many"][0] == 403
        text = told[HOOK, "many"][1].removeprefix(MUTATE)
        assert "the accumulated size increase of copy is 3300022, exceeding the limit" in text
        assert told[TREE, "many"][1] == text
