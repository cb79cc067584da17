"""What docs/write says of mutations: the three forms do the same, the overlay works."""

import re
from pathlib import Path

import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.builders.policies import policy
from tests.mutation.overlays.builders import load, mutated
from tests.shared import ROOT

MUTATIONS = ROOT / "docs" / "write" / "mutations.md"
OVERLAYS = ROOT / "docs" / "write" / "overlays.md"
BLOCK = re.compile(r"^```yaml\n(mutations:\n.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    """The mutations that a page shows."""
    return BLOCK.findall(page.read_text())


def test_the_three_forms_do_the_same() -> None:
    forms = [yaml.safe_load(block)["mutations"] for block in blocks(MUTATIONS)]
    assert [form[0]["patchType"] for form in forms] == [
        "Overlay",
        "ApplyConfiguration",
        "JSONPatch",
    ]
    two = (container("app", "a:1"), container("side", "b:1"))
    plain, labelled = pod(*two), pod(*two)
    labelled["metadata"]["labels"] = {"team": "blue"}
    for obj, team in ((plain, "shop"), (labelled, "blue")):
        results = [mutated(load(policy(mutations=form)), obj) for form in forms]
        assert results[0]["metadata"]["labels"] == {"team": team}
        assert all(c["imagePullPolicy"] == "Always" for c in results[0]["spec"]["containers"])
        assert results[1] == results[0]
        assert results[2] == results[0]


def test_the_longer_example() -> None:
    policies = load(policy(mutations=yaml.safe_load(blocks(OVERLAYS)[0])["mutations"]))
    containers: list[JSONObject] = [
        {"name": "app", "image": "registry.example.com/app:1"},
        {"name": "tool", "image": "tool:1"},
        {"name": "proxy", "image": "p:1", "ports": [{"containerPort": 8080}], "stdin": True},
        {"name": "debug-1", "image": "d:1"},
    ]
    after = mutated(policies, pod(*containers))
    assert after["spec"]["securityContext"] == {"runAsNonRoot": True}
    app = {
        **containers[0],
        "imagePullPolicy": "Always",
        "resources": {"limits": {"memory": "256Mi"}},
    }
    proxy = {"name": "proxy", "image": "p:1", "ports": [{"containerPort": 8080}]}
    agent = {
        "name": "agent",
        "image": "registry.example.com/agent:2",
        "args": ["--pod", "web"],
        "imagePullPolicy": "Always",
        "resources": {"limits": {"memory": "256Mi"}},
    }
    assert after["spec"]["containers"] == [app, containers[1], proxy, agent]
    assert mutated(policies, after) == after
    user = pod(*containers, securityContext={"runAsUser": 0})
    assert mutated(policies, user) == user


def test_the_example_that_appends() -> None:
    policies = load(policy(mutations=yaml.safe_load(blocks(OVERLAYS)[1])["mutations"]))
    app = container("app", "a:1", args=["-v"])
    obj = pod(app, tolerations=[{"key": "spot", "operator": "Exists"}])
    after = mutated(policies, obj)
    assert [each["key"] for each in after["spec"]["tolerations"]] == ["spot", "dedicated"]
    assert after["spec"]["containers"][0]["args"] == ["-v", "--log-format=json"]
    assert mutated(policies, after) == after
