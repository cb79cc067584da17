"""What only the cluster knows of policies: definitions of custom resources, and params."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import config_map, widget_definition
from tests.builders.policies import policy, rule
from tests.e2e.builders import limiting
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import Install
from tests.e2e.definitions import Define
from tests.e2e.in_tree import ALL, HOOK, TREE, both
from tests.e2e.rights import bound, role
from tests.server.process import until

GROUP = "live.policyd.dev"
DENIED = "denied request: "


def definition() -> JSONObject:
    made = widget_definition()
    made["metadata"]["name"] = f"widgets.{GROUP}"
    made["spec"]["group"] = GROUP
    return made


def test_a_definition_made_after_the_start_is_merged_by_its_keys(
    client: Client,
    kubeconfig: Path,
    namespace: str,
    install: Install,
    define: Define,
) -> None:
    overlay = {"spec": {"parts": [{"name": "b", "size": 7}]}}
    install(
        policy(
            "sized",
            rule("widgets", group=GROUP),
            mutations=[{"patchType": "Overlay", "overlay": overlay}],
        ),
        kubeconfig=str(kubeconfig),
    )
    widget = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace},
        "spec": {"parts": [{"name": "a"}, {"name": "b"}]},
    }
    define(definition())
    until(lambda: client.create(widget, dryRun="All").status == 201, "the definition")
    parts = client.made(widget)["spec"]["parts"]
    assert parts == [{"name": "a"}, {"name": "b", "size": 7}]


def secret(namespace: str) -> JSONObject:
    """What the policy is about."""
    return {**config_map("asked", namespace), "kind": "Secret", "data": {}}


REFS: dict[str, JSONObject] = {
    "named": {"name": "one"},
    "selected": {"selector": {"matchLabels": {"limits": "yes"}}},
    "lax": {"name": "one", "parameterNotFoundAction": "Allow"},
}


@pytest.mark.usefixtures("watching")
@pytest.mark.parametrize("name", REFS)
def test_params_of_the_cluster_decide_alike(
    api: Cluster,
    client: Client,
    tmp_path: Path,
    kubeconfig: Path,
    name: str,
) -> None:
    reading = role("params", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]})
    documents = limiting({"apiVersion": "v1", "kind": "ConfigMap"}, **REFS[name])
    with ExitStack() as stack:
        for each in (reading, bound(reading, "User", "policyd")):
            client.made(each)
            stack.callback(client.deleted, each)
        namespace = stack.enter_context(
            both(api, client, documents, tmp_path, f"{name}-", kubeconfig=str(kubeconfig))
        )

        def alike() -> list[Any]:
            """What both sides answer, once they agree: each looks at params when it pleases."""
            answers = [
                client.create(secret(namespace(side, ALL)), dryRun="All") for side in (TREE, HOOK)
            ]
            tree, hook = (
                [each.status, "" if each.status == 201 else each.message.partition(DENIED)[2]]
                for each in answers
            )
            return tree if tree == hook else []

        def stored(made: JSONObject) -> bool:
            return client.create(made).status == 201 or client.replace(made).status == 200

        def make(which: str, **data: str) -> None:
            for side in (TREE, HOOK):
                made = config_map(which, namespace(side, ALL), data)
                made["metadata"]["labels"] = {"limits": "yes"}
                until(partial(stored, made), f"the param {which}")

        missing = "failed to configure binding: no params found for policy binding"
        if name == "lax":
            until(lambda: alike() == [201, ""], "nobody denies")
        else:
            until(lambda: missing in (alike() or [0, ""])[1], "no params")
        make("one", denied="yes")
        until(lambda: alike() == [422, "denied by one"], "a param")
        make("one", denied="no")
        until(lambda: alike() == [201, ""], "its change")
        make("two", denied="yes")
        both_see = [422, "denied by two"] if name == "selected" else [201, ""]
        until(lambda: alike() == both_see, "another param")


def test_params_that_policyd_may_not_read_are_a_configuration_error(
    client: Client,
    kubeconfig: Path,
    namespace: str,
    install: Install,
    define: Define,
) -> None:
    define(definition())
    kind = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    install(*limiting(kind, name="one"), kubeconfig=str(kubeconfig))
    answer = client.create(secret(namespace), dryRun="All")
    assert answer.status == 422
    assert (
        f"failed to configure binding: paramKind kind `&ParamKind{{APIVersion:{GROUP}/v1,"
        "Kind:Widget,}` not yet synced to use for admission: the API server answered 403"
    ) in answer.message
