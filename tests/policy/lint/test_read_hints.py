"""Fields that the objects of reads do not have: of which kind they are, and what is meant."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import check
from policyd.policy.lint.all import all_advice
from policyd.policy.lint.run import LintRun
from tests.builders.policies import PODS, policy
from tests.policy_sets import loaded

INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
READS: list[JSONObject] = [
    {"name": "list", **INGRESS},
    {"name": "keyed", **INGRESS, "key": "item.metadata.name"},
    {"name": "pods", "apiVersion": "v1", "kind": "Pod"},
    {"name": "services", "apiVersion": "v1", "kind": "Service"},
    {"name": "apps", "apiVersion": "apps/v1", "kind": "Deployment"},
]
HOSTS = "write i.spec.tls.all(x, x.hosts …), or i.spec.rules.all(x, x.host …)"
FIELDS = [
    ("reads.list.exists(i, i.hosts == [])", "networking.k8s.io/v1 Ingress", HOSTS),
    ("reads.list.filter(i, true).exists(i, i.hosts == [])", "networking.k8s.io/v1 Ingress", HOSTS),
    (
        "reads.keyed[?'a'].orValue([]).exists(i, i.spec.hosts == [])",
        "networking.k8s.io/v1 Ingress",
        HOSTS,
    ),
    (
        "reads.list[0].spec.?host == optional.none()",
        "networking.k8s.io/v1 Ingress",
        "write reads.list[0].spec.rules.all(x, x.host …), or "
        "reads.list[0].spec.tls.all(x, x.hosts …)",
    ),
    (
        "reads.pods.exists(p, p.spec.hostPort == 1)",
        "v1 Pod",
        "write p.spec.containers.all(x, x.ports.all(y, y.hostPort …))",
    ),
    (
        "reads.pods.exists(p, p.spec.ports == [])",
        "v1 Pod",
        "write p.spec.containers.all(x, x.ports …)",
    ),
    ("reads.pods.exists(p, p.label == {})", "v1 Pod", "did you mean p.metadata.labels?"),
    ("reads.services.exists(s, s.selectors == {})", "v1 Service", "did you mean s.spec.selector?"),
    ("reads.services.exists(s, s.spec.port == 1)", "v1 Service", "did you mean ports?"),
    ("reads.apps.exists(d, d.replica == 1)", "apps/v1 Deployment", "did you mean d.spec.replicas?"),
    (
        "reads.apps.exists(d, d.spec.container == 1)",
        "apps/v1 Deployment",
        "did you mean d.spec.template.spec.containers?",
    ),
]


@pytest.mark.parametrize(("expression", "kind", "hint"), FIELDS)
def test_a_field_of_an_object_of_a_read(expression: str, kind: str, hint: str) -> None:
    services = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    rules = [PODS, {**services, "resources": ["services"]}]
    written = [{"expression": expression, "message": "no"}]
    sources = loaded(
        policy(matchConstraints={"resourceRules": rules}, reads=READS, validations=written)
    )
    (found,) = (each for each in all_advice(LintRun(sources)) if each.rule == "type-check")
    assert found.message.startswith(f"{kind}: undefined field ")
    assert found.hint == hint


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("item.hosts", "write item.spec.tls.map(x, x.hosts), or item.spec.rules.map(x, x.host)"),
        (
            "item.spec.host",
            "write item.spec.rules.map(x, x.host), or item.spec.tls.map(x, x.hosts)",
        ),
        ("item.name", "did you mean item.metadata.name?"),
    ],
)
def test_a_field_in_a_key_is_a_string_or_a_list(key: str, hint: str) -> None:
    read = {"name": "keyed", **INGRESS, "key": key}
    written = [{"expression": "'a' in reads.keyed", "message": "no"}]
    (found,) = (
        each
        for each in all_advice(LintRun(loaded(policy(reads=[read], validations=written))))
        if each.rule == "type-check"
    )
    assert found.hint == hint


def test_items_as_of_a_list_of_kubectl() -> None:
    written = [{"expression": "reads.list.items.size() > 0", "message": "no"}]
    (error,) = check(loaded(policy(reads=READS, validations=written)))
    assert error.hint == "reads.list is the list itself: leave out .items"
    written = [{"expression": "reads.keyed.items.size() > 0", "message": "no"}]
    (found,) = (
        each
        for each in all_advice(LintRun(loaded(policy(reads=READS, validations=written))))
        if each.rule == "unguarded-field"
    )
    assert found.hint == "write reads.keyed[?KEY].orValue([]) for the objects with a key"
