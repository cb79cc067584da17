"""Random policies that unlabel, relabel and ask again: the API server's own policies against policyd.

The order of policies is chance there. Every result of the API server must be one that policyd gives
in some order of them, and what policyd serves is that of the order by name.
"""

import itertools
import json
import random
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION, json_patch, rule
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.in_tree import HOOK, TREE, in_force
from tests.e2e.webhook import registered, serving, write

CASES, SEED = 40, 7
KEYS, VALUES = ("k1", "k2"), ("x", "y")
SPACE = "reinvocation"
# The log and the labels, or what was said against it.
Result = tuple[str, str] | frozenset[str]


class Case:
    """Some policies with their bindings, and an object that they are about."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.chance = chance
        self.name = f"r{number:02d}"
        self.of_namespaces = chance.random() < 0.3
        self.place = "metadata.annotations" if self.of_namespaces else "data"
        self.labels = {key: chance.choice(VALUES) for key in KEYS if chance.random() < 0.7}
        self.policies = [self.policy(letter) for letter in "abc"[: chance.randint(1, 3)]]

    def object(self, side: str) -> JSONObject:
        """What is sent: its name tells the side, which bindings ask for."""
        log = {"log": ""}
        made = config_map(f"{self.name}-{side}", SPACE, log)
        if self.of_namespaces:
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"annotations": log}}
            made["metadata"]["name"] = f"{self.name}-{side}"
        made["metadata"]["labels"] = {"keep": "it", **self.labels}
        return made

    def documents(self, side: str, orders: dict[str, str] | None = None) -> Iterator[JSONObject]:
        """The policies and bindings; ``orders`` are names that put them in another order."""
        names = orders or {}
        resources = rule("namespaces" if self.of_namespaces else "configmaps")
        only = {**resources, "resourceNames": [f"{self.name}-{side}"]}
        for name, spec, bindings in self.policies:
            shown = names.get(name, name)
            yield document("", shown, {**spec, "matchConstraints": self.ruled(spec, resources)})
            for each, bound in bindings.items():
                rules = {"matchResources": self.ruled(bound, only), "policyName": shown}
                yield document("Binding", names.get(each, each), {**bound, **rules})

    @staticmethod
    def ruled(spec: JSONObject, resources: JSONObject) -> JSONObject:
        return {**spec.get("matchResources", {}), "resourceRules": [resources]}

    def selectors(self, often: float) -> JSONObject:
        found: JSONObject = {}
        for name in ("objectSelector", "namespaceSelector"):
            wanted = self.chance.random() < often
            if wanted and (name == "objectSelector" or self.of_namespaces):
                found[name] = self.selector()
        return found

    def selector(self) -> JSONObject:
        key, value = self.chance.choice(KEYS), self.chance.choice(VALUES)
        operator = self.chance.choice(["=", "Exists", "DoesNotExist", "NotIn"])
        if operator == "=":
            return {"matchLabels": {key: value}}
        values = {"values": [value]} if operator == "NotIn" else {}
        return {"matchExpressions": [{"key": key, "operator": operator, **values}]}

    def policy(self, letter: str) -> tuple[str, JSONObject, JSONObject]:
        chance, name = self.chance, f"{self.name}-{letter}"
        spec: JSONObject = {
            "reinvocationPolicy": "IfNeeded" if chance.random() < 0.7 else "Never",
            "failurePolicy": "Fail" if chance.random() < 0.7 else "Ignore",
            "mutations": [json_patch(self.mutation(letter))],
            "matchResources": self.selectors(0.4),
        }
        if chance.random() < 0.3:
            spec["matchConditions"] = [{"name": "c", "expression": self.condition()}]
        with_params = chance.random() < 0.25
        if with_params:
            spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        bindings: JSONObject = {}
        for number in range(chance.choice([1, 1, 2])):
            bound: JSONObject = {"matchResources": self.selectors(0.5)}
            if with_params:
                missing = chance.choice(["Allow", "Deny"])
                param = chance.choice(["param", "param", "none"])
                ref = {"name": param, "namespace": SPACE, "parameterNotFoundAction": missing}
                bound["paramRef"] = ref
            bindings[f"{name}-{number}"] = bound
        return name, spec, bindings

    def mutation(self, letter: str) -> str:
        log = f"object.{self.place}.log"
        path = f"/{self.place.replace('.', '/')}/log"
        write = f"[JSONPatch{{op: 'replace', path: '{path}', value: {log} + '{letter}'}}]"
        key, value = self.chance.choice(KEYS), self.chance.choice(VALUES)
        remove = f"[JSONPatch{{op: 'remove', path: '/metadata/labels/{key}'}}]"
        change = self.chance.choice(
            [
                "",
                f" + [JSONPatch{{op: 'add', path: '/metadata/labels/{key}', value: '{value}'}}]",
                f" + ('{key}' in object.metadata.labels ? {remove} : [])",
                f" + {remove}",
            ]
        )
        return write + change

    def condition(self) -> str:
        key, value = self.chance.choice(KEYS), self.chance.choice(VALUES)
        return self.chance.choice(
            [
                f"size(object.{self.place}.log) < {self.chance.randint(1, 3)}",
                f"'{key}' in object.metadata.labels",
                f"object.metadata.labels.{key} == '{value}'",
            ]
        )

    def orders(self) -> Iterator[dict[str, str]]:
        """Names for every order of the policies, and of the bindings of each."""
        names = [name for name, _, _ in self.policies]
        each = [list(itertools.permutations(bindings)) for _, _, bindings in self.policies]
        for policies in itertools.permutations(names):
            for bindings in itertools.product(*each):
                ranked = [*policies, *(name for some in bindings for name in some)]
                yield {name: f"{rank:03d}-{name}" for rank, name in enumerate(ranked)}

    def result(self, after: JSONObject) -> Result:
        log = after["metadata"]["annotations"] if self.of_namespaces else after["data"]
        labels = {key: after["metadata"]["labels"].get(key) for key in KEYS}
        return log["log"], json.dumps(labels)

    def offline(self, orders: dict[str, str]) -> Result:
        """What policyd makes of it in one order."""
        obj = self.object(HOOK)
        if self.of_namespaces:
            obj["metadata"]["labels"]["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
        documents = [*self.documents(HOOK, orders), param()]
        text = "\n---\n".join(map(json.dumps, documents))
        policies = PolicySet(compiler.compile_strict(loader.load_text(text)))
        answer = policies.review(build_review(obj), "mutate")["response"]
        if answer["allowed"]:
            operations = b64decode(answer.get("patch", b64encoded_nothing()))
            return self.result(jsonpatch.apply_patch(obj, operations.decode()))
        causes = [each["message"] for each in answer["status"]["details"]["causes"]]
        for name, shown in orders.items():
            causes = [each.replace(shown, name) for each in causes]
        return frozenset(causes)

    def answered(self, answer: Answer) -> Result:
        return self.result(answer.body) if answer.status == 201 else frozenset(answer.causes)


def b64encoded_nothing() -> str:
    return "W10="


def document(end: str, name: str, spec: JSONObject) -> JSONObject:
    spec = {key: value for key, value in spec.items() if end or key != "matchResources"}
    kind = f"MutatingAdmissionPolicy{end}"
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def param() -> JSONObject:
    return config_map("param", SPACE)


@pytest.mark.usefixtures("watching")
def test_random_policies_are_invoked_again_as_in_the_api_server(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    cases = [Case(number, chance) for number in range(CASES)]
    space = make_namespace(client, SPACE)
    client.made(param())
    ours: list[JSONObject] = [each for case in cases for each in case.documents(HOOK)]
    theirs: list[JSONObject] = [each for case in cases for each in case.documents(TREE)]
    asked: dict[str, Any] = {
        "namespaceSelector": {},
        "rules": [rule("configmaps", "namespaces", operations=["CREATE"])],
    }
    with ExitStack() as stack:
        sources = write(tmp_path / "sources", [space, param(), *ours])
        server = stack.enter_context(serving(api, [sources], tmp_path / "policyd.log"))
        stack.enter_context(in_force(client, theirs))
        stack.enter_context(registered(api, server, SPACE, **asked))
        again = denied = 0
        for case in cases:
            tree, hook = (
                case.answered(client.create(case.object(side), dryRun="All"))
                for side in (TREE, HOOK)
            )
            possible = {case.offline(orders) for orders in case.orders()}
            assert tree in possible, (case.name, tree, possible)
            assert hook == case.offline({}), case.name
            denied += isinstance(tree, frozenset)
            again += isinstance(tree, tuple) and len(set(tree[0])) < len(tree[0])
    print(f"{len(cases)} cases alike, {again} with a policy invoked twice, {denied} denied")
    assert again >= CASES // 8 and denied >= CASES // 20
