"""The mutations of ``tests/builders/gadgets``, and fields new in 1.37, in the API server and in
policyd: what is stored, or why not.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.gadgets import CASES, DEFINITION, gadget
from tests.builders.objects import container, pod
from tests.builders.policies import apply_configuration, json_patch, map_, map_binding, rule
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.e2e.in_tree import HOOK, TREE, both
from tests.server.process import until

VOLUME = "Object.spec.volumes{name: 'v', emptyDir: Object.spec.volumes.emptyDir{mode: 511}}"
PROBE = "{'httpGet': dyn({'port': dyn(80), 'protocol': dyn('HTTP2')})}"
PODS = {
    "mode": apply_configuration(f"Object{{spec: Object.spec{{volumes: [{VOLUME}]}}}}"),
    "probe": json_patch(
        "[JSONPatch{op: 'add', path: '/spec/containers/0/livenessProbe', value: " + PROBE + "}]"
    ),
    "copied": json_patch(
        "[JSONPatch{op: 'copy', from: '/spec/containers/0', path: '/spec/containers/-'}, "
        "JSONPatch{op: 'replace', path: '/spec/containers/1/name', value: 'b'}]"
    ),
}


# What names the policy or the webhook.
_WHO = re.compile(r"^.*denied (the )?request: | \(mutation of policy .*\)$")


def outcome(answer: Answer) -> Any:
    if answer.status != 201:
        return _WHO.sub("", answer.message)
    metadata = answer.body["metadata"]
    kept = {key: metadata.get(key) for key in ("labels", "annotations")}
    return kept, answer.body.get("spec")


def sent(
    client: Client,
    make: Callable[[str], JSONObject],
    namespace: Callable[[str, str], str],
    name: str,
    side: str,
) -> Any:
    return outcome(client.create(make(namespace(side, name)), dryRun="All"))


def test_gadgets(api: Cluster, client: Client, tmp_path: Path) -> None:
    client.made(DEFINITION)
    until(lambda: client.create(gadget(), dryRun="All").status == 201, "gadgets are served")
    documents = [each for case in CASES for each in case.documents()]
    with both(api, client, documents, tmp_path, "gadgets-", others=[DEFINITION]) as namespace:
        for case in CASES:
            send = partial(sent, client, gadget, namespace, case.name)
            if case.refused(api.version):
                until(lambda: case.error in send(TREE), f"{case.name} in force")  # noqa: B023
                assert isinstance(send(HOOK), str), case.name
            else:
                until(lambda: send(TREE)[1] == case.spec, f"{case.name} in force")  # noqa: B023
                assert send(TREE) == send(HOOK), case.name


def made(namespace: str) -> JSONObject:
    probe = {"httpGet": {"port": 80, "path": "/", "protocol": "HTTP2"}}
    return pod(container("a", livenessProbe=probe), namespace=namespace)


def test_fields_of_the_version(api: Cluster, client: Client, tmp_path: Path) -> None:
    documents = [
        each
        for name, mutation in PODS.items()
        for each in (
            map_(name, rule("pods"), mutations=[mutation]),
            map_binding(f"{name}-b", policyName=name),
        )
    ]
    with both(
        api, client, documents, tmp_path, "fields-", kubernetes_version=api.version
    ) as namespace:
        for name in PODS:
            send = partial(sent, client, made, namespace, name)
            until(lambda: send(TREE) == send(HOOK), f"{name} alike")  # noqa: B023
