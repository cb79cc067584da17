"""Values of built-in kinds in expressions: JSON in 1.36, Go's structs, maps and lists since 1.37.

What such values do not take, such as a key that is no string, is an error there, and structs are
compared as Go compares them. Custom resources are JSON in both.
"""

import json
import re
from pathlib import Path

from policyd.json_types import JSONObject
from tests.builders.objects import container, deployment
from tests.builders.policies import (
    apply_configuration,
    demand,
    json_patch,
    map_,
    map_binding,
    rule,
)
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


# Values of mutations. With a matchCondition Kubernetes 1.37 reads the object from Go's values.
POD = "Object.spec.template.spec"
MUTATIONS = tuple(
    json_patch(f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]")
    for path, value in (
        ("/metadata/annotations", "object.metadata.labels"),
        ("/metadata/annotations", "{'a': object.metadata.name}"),
        ("/metadata/annotations", "object.metadata.labels.transformMap(k, v, v)"),
        ("/metadata/annotations", "{'a': object.metadata.labels['app']}"),
        ("/spec", "object.spec"),
        ("/spec", "Object.spec{template: object.spec.template, selector: object.spec.selector}"),
        ("/spec/template/spec/containers", CONTAINERS),
        ("/spec/template/spec/containers", f"[{CONTAINERS}[0]]"),
        ("/spec/template/spec/initContainers", f"{CONTAINERS} + []"),
        ("/spec/template/metadata", "dyn(request).userInfo"),
    )
) + tuple(
    apply_configuration(f"Object{{{fields}}}")
    for fields in (
        "metadata: Object.metadata{annotations: object.metadata.labels}",
        "metadata: Object.metadata{annotations: {'a': object.metadata.labels}}",
        "metadata: Object.metadata{finalizers: object.metadata.?finalizers.orValue([])}",
        "metadata: Object.metadata{finalizers: dyn(request).userInfo.groups}",
        "spec: Object.spec{template: object.spec.template}",
        "spec: Object.spec{replicas: object.spec.replicas + 1}",
        *(
            f"spec: Object.spec{{template: Object.spec.template{{spec: {POD}{{{each}}}}}}}"
            for each in (
                f"containers: {CONTAINERS}",
                f"containers: {CONTAINERS}.filter(c, c.name == 'app')",
                f"containers: [{CONTAINERS}[0]]",
                f"containers: {CONTAINERS} + {CONTAINERS}",
                f"containers: {CONTAINERS}.map(c, {POD}.containers{{name: c.name, tty: true}})",
                f"containers: [{POD}.containers{{name: 'app', env: [{CONTAINERS}[0].env[0]]}}]",
                f"containers: [{POD}.containers{{name: 'app', env: {CONTAINERS}[0].env}}]",
            )
        ),
    )
)
CONDITIONS: tuple[JSONObject, JSONObject] = (
    {},
    {"matchConditions": [{"name": "t", "expression": "true"}]},
)


def test_mutations_write_values_of_built_in_kinds_as_the_version_does(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    created = rule("deployments", group="apps", operations=["CREATE"])
    documents: list[JSONObject] = []
    for number, mutation in enumerate(MUTATIONS * 2):
        name = f"typed-{number:02}"
        conditions = CONDITIONS[number // len(MUTATIONS)]
        documents += [
            map_(name, created, mutations=[mutation], failurePolicy="Fail", **conditions),
            map_binding(name, policyName=name),
        ]
    differ: dict[str, tuple[str, str]] = {}
    with both(api, client, documents, tmp_path, "typed-") as namespace:
        for number, mutation in enumerate(MUTATIONS * 2):
            answers = []
            for side in (TREE, HOOK):
                made = limited(namespace(side, f"typed-{number:02}"), "1Gi")
                made["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A"}]
                answers.append(client.create(made, dryRun="All"))
            tree, hook = map(result, answers)
            if tree != hook:
                differ[f"{number} {mutation}"] = tree, hook
    assert not differ, "\n".join(
        f"{key}\n  {one}\n  {other}" for key, (one, other) in differ.items()
    )


_SAID = re.compile(r"admission webhook .* denied the request: | \(mutation of policy .*\)$")


def result(answer: Answer) -> str:
    """What became of a request, without what differs from one to the next."""
    if answer.status != 201:
        said = decision(answer)
        if answer.status >= 500:  # which of both says it, and of which mutation
            said = _SAID.sub("", said)
        return f"{answer.status} {said}"
    body = answer.body
    annotations = body["metadata"].get("annotations")
    return json.dumps(
        [annotations, body["metadata"].get("finalizers"), body["spec"]], sort_keys=True
    )
