"""What expressions read of built-in kinds: Go's structs, maps and lists since 1.37, JSON before.

``tests/e2e/test_typed.py`` checks a part of these with real API servers, ``tests/fuzz/go_values.py``
random ones with Kubernetes' own CEL.
"""

import json
from typing import Any

import pytest

from policyd.api.policy_set import PolicySet
from policyd.policy.compile import compiler
from policyd.policy.model.suite import Webhook
from policyd.policy.source import loader
from policyd.versions import KubernetesVersion
from tests.builders.objects import container, deployment
from tests.builders.policies import (
    demand,
    json_patch,
    map_,
    map_binding,
    rule,
    vap,
    vap_binding,
)
from tests.builders.reviews import admission_review, request

CONTAINERS = "object.spec.template.spec.containers"
OLD = "oldObject.spec.template.spec.containers"
KEY, INDEX, EQUAL = (
    "unsupported map key type: types.Int",
    "unsupported index type: types.Uint",
    "no such overload",
)
FIELDS = "object.metadata.managedFields[0].fieldsV1"
RULE = rule("deployments", group="apps", operations=["CREATE", "UPDATE"])
ERROR = "expression '{}' resulted in error: {}"
# An expression, what 1.36 makes of it and what 1.37 does. A string is an error.
ROWS: tuple[tuple[str, bool | str, bool | str], ...] = (
    ("object.spec[1] == 1", "no such key: 1", KEY),
    ("1 in object.metadata.labels", False, KEY),
    ("1 in dyn(request)", False, KEY),
    ("1 in dyn(namespaceObject)", False, KEY),
    ("object.spec[?1].hasValue()", False, KEY),
    ("dyn(1) in {'a': 1}", False, False),
    (f"{CONTAINERS}[0u].name == 'app'", True, INDEX),
    (f"{CONTAINERS}[7u].name == 'app'", "index out of bounds: 7", "index out of bounds: 7"),
    (f"{CONTAINERS}[?0u].hasValue()", True, True),
    (f"[{CONTAINERS}[0]][dyn(0u)].name == 'app'", True, True),
    (f"({CONTAINERS} + [])[dyn(0u)].name == 'app'", True, True),
    (f"([] + {CONTAINERS})[dyn(0u)].name == 'app'", True, INDEX),
    (f"({CONTAINERS}.filter(c, false) + {CONTAINERS})[dyn(0u)].name == 'app'", True, INDEX),
    # The sum of a list of Go, also an empty one, is none.
    (f"({CONTAINERS}[0].command + {CONTAINERS})[dyn(0u)].name == 'app'", True, True),
    (f"(([] + {CONTAINERS}[0].command) + {CONTAINERS})[dyn(0u)].name == 'app'", True, True),
    (f"dyn([] + {CONTAINERS}[0].command) == 1", False, EQUAL),
    (f"dyn({CONTAINERS}[0].command.distinct()) == 1", False, EQUAL),
    (f"dyn({CONTAINERS}[0].command.sort()) == 1", False, EQUAL),
    (f"dyn({CONTAINERS}.distinct()) == 1", False, False),
    (f"object.spec in {CONTAINERS}[0].command", False, False),
    (f"{CONTAINERS}.filter(c, true)[dyn(0u)].name == 'app'", True, True),
    (f"{CONTAINERS}.exists(c, 1 in c)", False, KEY),
    ("object.spec == 1", False, EQUAL),
    ("object.spec == 'a'", False, EQUAL),
    ("object.spec != 1", True, True),
    ("1 == object.spec", False, False),
    ("object.spec == null", False, False),
    ("[object.spec] == [1]", False, True),  # cel-go takes the error inside for equal
    (f"{CONTAINERS} == [1]", False, False),
    ("object.spec == oldObject.spec", False, True),
    (f"{CONTAINERS}[0] in {OLD}", False, True),
    (f"{CONTAINERS}[0].resources.limits == {OLD}[0].resources.limits", False, False),
    (f"{CONTAINERS}[0].resources == {{'limits': {{'memory': '1Gi'}}}}", True, True),
    (f"{CONTAINERS}[0].resources == object.metadata", False, False),
    ("object.status == object.spec.strategy", True, False),  # both are {}, of two types
    ("optional.ofNonZeroValue(object.status).hasValue()", False, True),
    # Go compares the bytes of fieldsV1, and policyd the order of its keys.
    ("object.metadata == oldObject.metadata", True, False),
    (f"{FIELDS} == oldObject.metadata.managedFields[0].fieldsV1", True, True),
)  # fmt: skip


def made(memory: str) -> dict[str, Any]:
    found: dict[str, Any] = deployment(
        container(command=[], resources={"limits": {"memory": memory}})
    )
    found["metadata"]["labels"] = {"app": "web"}
    found["spec"]["strategy"] = {}
    fields: list[tuple[str, Any]] = [("f:a", {}), ("f:b", [{".": {}}])]
    found["metadata"]["managedFields"] = [
        {"fieldsV1": dict(fields if memory == "1Gi" else reversed(fields))}
    ]
    return found | {"status": {}}


def answered(version: str, webhook: Webhook, *documents: Any, **fields: Any) -> dict[str, Any]:
    text = "\n---\n".join(map(json.dumps, documents))
    sources = loader.load_text(text, version=KubernetesVersion.parse(version))
    user = {"username": "ann"}
    asked = request("apps/v1/deployments", "Deployment", uid="u", userInfo=user, **fields)
    review = PolicySet(compiler.compile_strict(sources)).review(
        admission_review(asked), webhook=webhook
    )
    found: dict[str, Any] = review["response"]
    return found


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(("expression", "before", "since"), ROWS, ids=[row[0] for row in ROWS])
def test_values_of_built_in_kinds(
    expression: str, before: bool | str, since: bool | str, version: str
) -> None:
    want = before if version == "1.36" else since
    documents = vap("p", RULE, validations=[demand(expression, "no")]), vap_binding(policyName="p")
    objects = {"object": made("1Gi"), "oldObject": made("1073741824"), "operation": "UPDATE"}
    response = answered(version, "validate", *documents, **objects)
    got = response["allowed"] or response["status"]["message"].partition("denied request: ")[2]
    assert got == (
        want
        if isinstance(want, bool) and want
        else ERROR.format(expression, want)
        if want
        else "no"
    )


LABELS = "[JSONPatch{op: 'add', path: '/metadata/annotations', value: object.metadata.labels}]"
OWN = "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': object.metadata.name}}]"
STRUCT = "[JSONPatch{op: 'replace', path: '/spec', value: object.spec}]"
NONE = "[JSONPatch{op: 'replace', path: '/spec/template/spec/containers', value: []}]"
SUM = (
    f"[JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{'a': ({CONTAINERS}"
    " + object.metadata.managedFields)[dyn(0u)].?none.orValue('')}}]"
)
ALWAYS = [{"name": "t", "expression": "true"}]
REFUSED = "could not marshal to JSON: type conversion error from "
# Mutations of policies in their order, each with or without a matchCondition; the error of the last.
MUTATIONS: tuple[tuple[tuple[tuple[str, bool], ...], str], ...] = (
    (((LABELS, False),), ""),
    (((LABELS, True),), f"{REFUSED}'map(dyn, dyn)' to '*structpb.Value'"),
    (((STRUCT, True),), f"{REFUSED}struct type v1.DeploymentSpec to *structpb.Value"),
    (((OWN, True),), ""),
    # An empty list that a mutation wrote is a list of the object.
    (((NONE, True), (SUM, True)), ""),
    # The first matchCondition of a round decides for all that follow.
    (((OWN, True), (LABELS, False)), f"{REFUSED}'map(dyn, dyn)' to '*structpb.Value'"),
    (((OWN, False), (LABELS, True)), f"{REFUSED}'map(dyn, dyn)' to '*structpb.Value'"),
    # An object that was read as JSON stays JSON until it is changed.
    ((("[JSONPatch{op: object.nothing, path: '/x'}]", False), (LABELS, True)), ""),
)  # fmt: skip


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(("mutations", "error"), MUTATIONS)
def test_mutations_read_json_until_a_condition_reads_go_values(
    mutations: tuple[tuple[str, bool], ...], error: str, version: str
) -> None:
    documents = []
    for number, (expression, conditional) in enumerate(mutations):
        conditions = {"matchConditions": ALWAYS} if conditional else {}
        last = number + 1 == len(mutations)
        documents += [
            map_(
                f"m{number}",
                RULE,
                mutations=[json_patch(expression)],
                failurePolicy="Fail" if last else "Ignore",
                **conditions,
            ),
            map_binding(f"b{number}", policyName=f"m{number}"),
        ]
    response = answered(version, "mutate", *documents, object=made("1Gi"), operation="CREATE")
    message = "" if response["allowed"] else response["status"]["message"]
    assert message.endswith(error if version == "1.37" else "")
    assert response["allowed"] == (version == "1.36" or not error)
