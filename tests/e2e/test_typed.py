"""Values of built-in kinds in expressions: JSON in 1.36, Go's structs, maps and lists since 1.37.

What such values do not take, such as a key that is no string, is an error there, and structs are
compared as Go compares them. Custom resources are JSON in both.
"""

from pathlib import Path

from policyd.json_types import JSONObject
from tests.builders.objects import container, deployment
from tests.builders.policies import demand, rule
from tests.e2e.builders import validating
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.e2e.in_tree import HOOK, TREE, both

CONTAINERS = "object.spec.template.spec.containers"
LIMITS = f"{CONTAINERS}[0].resources.limits"
EXPRESSIONS = (
    # Both versions decide these alike,
    f"{CONTAINERS}[0].name == 'app'",
    f"{CONTAINERS}[7].name == 'app'",
    f"{CONTAINERS}['a'].name == 'app'",
    "object.metadata.labels['none'] == 'web'",
    "'replicas' in object.spec",
    f"{CONTAINERS} != 'a'",
    "1 == object.spec",
    "object.metadata.labels.orValue(1) == 1",
    f"{LIMITS} == oldObject.spec.template.spec.containers[0].resources.limits",
    # and these differently.
    f"{CONTAINERS}[0u].name == 'app'",
    f"{CONTAINERS}[0.0].name == 'app'",
    f"{CONTAINERS}[dyn(0u)].name == 'app'",
    "object.spec[1] == 1",
    "object.spec[true] == 1",
    "object.metadata.labels[1] == 'web'",
    "1 in object.metadata.labels",
    "dyn(1) in object.spec",
    "null in object.spec",
    "object.spec[?1].hasValue()",
    "object.spec[object.spec] == 1",
    f"{CONTAINERS} == 'a'",
    "object.spec == 1",
    "object.metadata.labels == 1",
    "dyn(request)[1] == 1",
    "1 in dyn(request)",
    "dyn(request) == 1",
    "1 in dyn(namespaceObject)",
    "object.spec == oldObject.spec",
    f"{CONTAINERS} == oldObject.spec.template.spec.containers",
    f"{CONTAINERS}[0] == oldObject.spec.template.spec.containers[0]",
    f"{CONTAINERS}[0].resources == oldObject.spec.template.spec.containers[0].resources",
    f"{CONTAINERS}[0] in oldObject.spec.template.spec.containers",
    "{'a': object.spec} == {'a': oldObject.spec}",
)


def limited(namespace: str, memory: str) -> JSONObject:
    made = deployment(container(resources={"limits": {"memory": memory}}), namespace=namespace)
    made["metadata"]["labels"] = {"app": "web"}
    return made


def decision(answer: Answer) -> str:
    return "admitted" if answer.status == 200 else answer.message.rpartition("denied request: ")[2]


def test_values_of_built_in_kinds_are_those_of_the_version(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    updates = {"resourceRules": [rule("deployments", group="apps", operations=["UPDATE"])]}
    documents = [
        each
        for number, expression in enumerate(EXPRESSIONS)
        for each in validating(
            f"typed-{number:02}", [demand(expression, "no")], "Deny", matchConstraints=updates
        )
    ]
    differ: dict[str, tuple[str, str]] = {}
    with both(api, client, documents, tmp_path, "typed-") as namespace:
        for number, expression in enumerate(EXPRESSIONS):
            answers = []
            for side in (TREE, HOOK):
                place = namespace(side, f"typed-{number:02}")
                client.made(limited(place, "1Gi"))
                answers.append(client.replace(limited(place, "1073741824"), dryRun="All"))
            tree, hook = map(decision, answers)
            if tree != hook:
                differ[expression] = tree, hook
    assert not differ
