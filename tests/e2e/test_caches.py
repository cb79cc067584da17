"""What a real API server's changes of namespaces and definitions take until they count."""

import json
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from tests.builders.objects import config_map, widget_definition
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.server.process import until

GROUP = "cached.policyd.dev"
TIMES = 10


def test_a_label_of_a_namespace_counts_at_once(
    client: Client, kubeconfig: Path, namespace: str, install: Install
) -> None:
    closed = {"namespaceSelector": {"matchLabels": {"closed": "yes"}}}
    server = install(
        policy("closed", CONFIG_MAPS, match=closed, validations=[demand("false", "closed")]),
        kubeconfig=str(kubeconfig),
    )
    until(lambda: server.get("/readyz")[1] == "ok", "the first list")
    lookups = 'policyd_cluster_lookups_total{question="namespace",result="success"}'
    before = server.metric(lookups)
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    sent = config_map("any", namespace)

    def decided(status: int) -> bool:
        return client.create(sent, dryRun="All").status == status

    took = []
    for number in range(TIMES):
        value, status = ("yes", 422) if number % 2 == 0 else ("no", 201)
        assert client.patch(place, {"metadata": {"labels": {"closed": value}}}).status == 200
        began = perf_counter()
        until(partial(decided, status), value)
        took.append(perf_counter() - began)
    print(
        f"label changed to first decision by it: median {1000 * median(took):.1f} ms, "
        f"longest {1000 * max(took):.1f} ms"
    )
    assert server.metric(lookups) == before
    assert server.metric('policyd_cluster_cache_objects{cache="namespaces"}') > 1


def test_a_definition_counts_at_once(
    client: Client, kubeconfig: Path, namespace: str, install: Install
) -> None:
    defining = widget_definition()
    defining["metadata"]["name"] = f"widgets.{GROUP}"
    defining["spec"]["group"] = GROUP
    overlay = {"spec": {"parts": [{"name": "b", "size": 7}]}}
    server = install(
        policy(
            "sized",
            rule("widgets", group=GROUP),
            mutations=[{"patchType": "Overlay", "overlay": overlay}],
        ),
        kubeconfig=str(kubeconfig),
    )

    def state() -> str:
        (found,) = json.loads(server.get("/policies")[1])["policies"]
        return str(found["state"])

    assert state() == "quarantined"
    watch = 'policyd_watch_healthy{watch="definitions"}'
    until(lambda: server.metric(watch) == 1, "the watch")
    took = []
    try:
        client.made(defining)
        began = perf_counter()
        until(lambda: state() == "active", "the definition")
        took.append(perf_counter() - began)
    finally:
        client.deleted(defining)
    print(f"definition created to policies loaded again: {1000 * max(took):.0f} ms")
