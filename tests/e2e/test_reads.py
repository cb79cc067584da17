"""Policies that read other objects of a real cluster."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest

from policyd.json_types import JSONObject
from policyd.webhooks.rendering.permissions import roles
from tests.builders.policies import policy, rule
from tests.builders.reads import compiled
from tests.e2e.client import Client
from tests.e2e.conftest import Install, make_namespace
from tests.e2e.rights import bound
from tests.server.process import until

HOSTS = {
    "name": "ingresses",
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "namespace": "any",
    "key": "item.spec.?rules.orValue([]).filter(r, has(r.host)).map(r, r.host)",
}
FREE = (
    "object.spec.rules.all(r, !has(r.host) || reads.ingresses[?r.host].orValue([])"
    ".all(i, i.metadata.namespace == object.metadata.namespace))"
)
# A request that is denied as soon as the host is known.
PROBE = "probe"
UNKNOWN = f"object.metadata.name != '{PROBE}' || !(object.spec.rules[0].host in reads.ingresses)"
TAKEN = "'taken in ' + reads.ingresses[object.spec.rules[0].host][0].metadata.namespace"


def ingress(name: str, namespace: str, host: str) -> JSONObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "rules": [{"host": host}],
            "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}},
        },
    }


@pytest.fixture
def reader(client: Client, kubeconfig: Path) -> Iterator[Path]:
    """The kubeconfig of policyd, which has also what ``policyd webhooks rbac`` prints."""
    (allowed, _), doubts = roles(compiled(unique()), "policyd", "policyd")
    assert not doubts
    made = [allowed, bound(allowed, "User", "policyd")]
    for each in made:
        client.made(each)
    yield kubeconfig
    for each in made:
        client.deleted(each)


@pytest.fixture
def other(client: Client, namespace: str) -> str:
    """A namespace whose requests policyd does not see."""
    name = f"{namespace[:50]}-other"
    make_namespace(client, name)
    return name


def unique() -> JSONObject:
    return policy(
        "unique-hosts",
        rule("ingresses", group="networking.k8s.io"),
        reads=[HOSTS],
        validations=[{"expression": FREE, "messageExpression": TAKEN}, {"expression": UNKNOWN}],
    )


def test_a_host_is_taken_as_soon_as_another_ingress_has_it(
    client: Client, reader: Path, namespace: str, other: str, install: Install
) -> None:
    server = install(unique(), kubeconfig=str(reader))
    until(lambda: server.get("/readyz")[1] == "ok", "the first list")
    host = "shop.example.com"

    def denied() -> bool:
        return client.create(ingress("b", namespace, host), dryRun="All").status == 422

    assert not denied()
    client.made(ingress("a", other, host))
    began = perf_counter()
    until(denied, "the event")
    print(f"created to first denial by it: {1000 * (perf_counter() - began):.1f} ms")
    refused = client.create(ingress("b", namespace, host), dryRun="All")
    assert f"taken in {other}" in refused.message
    client.deleted(ingress("a", other, host))
    until(lambda: not denied(), "the deletion")
    # Its own stored version does not count, and neither does one of the same namespace.
    client.made(ingress("a", namespace, host))
    labels = {"metadata": {"labels": {"touched": "yes"}}}
    probe = ingress(PROBE, namespace, host)
    until(lambda: client.create(probe, dryRun="All").status == 422, "the event")
    assert client.patch(ingress("a", namespace, host), labels).status == 200
    assert not denied()


def test_without_permission_the_failure_policy_decides(
    client: Client, kubeconfig: Path, namespace: str, install: Install
) -> None:
    server = install(unique(), kubeconfig=str(kubeconfig))
    until(lambda: server.get("/readyz")[1] == "ok", "the refusal")
    refused = client.create(ingress("a", namespace, "shop.example.com"), dryRun="All")
    assert refused.status == 422
    assert "reads.ingresses (Ingress): " in refused.message
    assert 'cannot list resource "ingresses" in API group' in refused.message

    def logged() -> list[str]:
        lines = (str(each["message"]) for each in server.lines("cluster"))
        return [each for each in lines if "cannot follow reads" in each]

    until(logged, "the line in the log")
    assert "cannot be evaluated; grant the permissions list and watch" in logged()[0]
