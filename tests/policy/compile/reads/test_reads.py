"""What expressions see of other objects, without a cluster."""

from typing import Any

import orjson
import pytest

from policyd.admission import engine
from policyd.admission.review import decode
from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.builders.policies import add_label, apply_configuration, policy, rule
from tests.builders.reviews import admission_review, request, review
from tests.policy_sets import compiled, wrongs

INGRESSES = rule("ingresses", group="networking.k8s.io")
KEY = "item.spec.?rules.orValue([]).filter(r, has(r.host)).map(r, r.host)"


def read(**fields: Any) -> JSONObject:
    """A read of Ingresses."""
    return {"name": "it", "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", **fields}


def ingress(name: str, namespace: str, *hosts: str, **labels: str) -> JSONObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"rules": [{"host": host} for host in hosts]},
    }


CLUSTER = [
    ingress("b", "shop", "b.com"),
    ingress("a", "shop", "a.com", "b.com", tier="gold"),
    ingress("c", "lab", "c.com", tier="gold"),
]


def seen(
    expression: str, *objects: JSONObject, own: JSONObject | None = None, **fields: Any
) -> Any:
    """Return the message of a denial: the text of an expression, for a request in shop."""
    message = {"expression": "false", "messageExpression": expression}
    policies = compiled(policy("p", INGRESSES, reads=[read(**fields)], validations=[message]))
    return denied(policies.reading(objects or CLUSTER), own or ingress("new", "shop", "new.com"))


def denied(policies: Any, sent: JSONObject, **request: Any) -> str:
    resource = {"group": "networking.k8s.io", "version": "v1", "resource": "ingresses"}
    kind = {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}
    metadata = sent["metadata"]
    body = review(
        object=sent,
        kind=kind,
        resource=resource,
        requestKind=kind,
        requestResource=resource,
        name=metadata["name"],
        namespace=metadata["namespace"],
        **request,
    )
    response = engine.review(policies, decode(body), webhook="validate")
    return response.message.removeprefix("policy 'p' denied request: ")


NAMES = "reads.it.map(i, i.metadata.namespace + '/' + i.metadata.name).join(' ')"
KEYS = "reads.it.map(k, k + ':' + string(size(reads.it[k]))).join(' ')"
SEEN: list[tuple[str, str, dict[str, Any], str]] = [
    ("the namespace of the request by default", NAMES, {}, "shop/a shop/b"),
    ("any", NAMES, {"namespace": "any"}, "lab/c shop/a shop/b"),
    ("a name", NAMES, {"namespace": "lab"}, "lab/c"),
    (
        "a selector",
        NAMES,
        {"namespace": "any", "labelSelector": {"matchLabels": {"tier": "gold"}}},
        "lab/c shop/a",
    ),
    ("an index", KEYS, {"key": KEY}, "a.com:1 b.com:2"),
    ("an index of all", KEYS, {"namespace": "any", "key": KEY}, "a.com:1 b.com:2 c.com:1"),
    ("one key", KEYS, {"key": "item.metadata.name"}, "a:1 b:1"),
    ("a key that is an error", KEYS, {"key": "item.metadata.labels.tier"}, "gold:1"),
    (
        "a key that is no string",
        KEYS,
        {"key": "item.spec.rules.size() > 1 ? 'x' : item.spec"},
        "x:1",
    ),
]


@pytest.mark.parametrize(
    ("expression", "fields", "want"), [case[1:] for case in SEEN], ids=[case[0] for case in SEEN]
)
def test_what_a_read_shows(expression: str, fields: dict[str, Any], want: str) -> None:
    # Maps have no order.
    assert sorted(seen(expression, **fields).split(" ")) == sorted(want.split(" "))


@pytest.mark.parametrize(("keyed", "expression"), [(False, NAMES), (True, KEYS)])
def test_the_object_of_the_request_is_left_out(keyed: bool, expression: str) -> None:
    own = ingress("a", "shop", "other.com")
    fields = {"key": KEY} if keyed else {}
    without, whole = ("b.com:1", "a.com:1 b.com:2") if keyed else ("shop/b", "shop/a shop/b")
    assert seen(expression, own=own, **fields) == without
    assert sorted(seen(expression, own=own, **fields, self=True).split(" ")) == whole.split(" ")
    # One of the same name in another namespace is another object.
    far = ingress("a", "lab", "other.com")
    assert "shop/a" in seen(NAMES, own=far, namespace="any")


def test_reads_are_seen_everywhere() -> None:
    there = "size(reads.it) == 2"
    label = {
        "patchType": "Overlay",
        "overlay": {"metadata": {"labels": {"n": "${string(size(reads.it))}"}}},
    }
    policies = compiled(
        policy(
            "p",
            INGRESSES,
            reads=[read()],
            matchConditions=[{"name": "there", "expression": there}],
            variables=[{"name": "first", "expression": "reads.it[0]"}],
            validations=[
                {"expression": "variables.first.metadata.name == 'x'", "message": "not x"}
            ],
            auditAnnotations=[{"key": "k", "valueExpression": "string(size(reads.it))"}],
            mutations=[label, add_label("string(size(reads.it))")],
        )
    ).reading(CLUSTER)
    assert denied(policies, ingress("new", "shop")) == "not x"
    # Without objects the condition does not hold.
    assert denied(policies.reading(()), ingress("new", "elsewhere")) == ""


# The Pod of the request is among the objects, so that the map of keys is a view without it.
@pytest.mark.parametrize("expression", ["reads.it[0]", "reads.it['other'][0]", "variables.other"])
def test_mutations_may_write_lists_of_maps_that_were_read(expression: str) -> None:
    own, other = pod(container("c", "i")), pod(container("other", "x"), name="other")
    key = {} if expression == "reads.it[0]" else {"key": "item.metadata.name"}
    written = f"Object{{spec: Object.spec{{initContainers: {expression}.spec.containers}}}}"
    policies = compiled(
        policy(
            "p",
            reads=[read(apiVersion="v1", kind="Pod", **key)],
            variables=[{"name": "other", "expression": "reads.it['other'][0]"}] if key else [],
            mutations=[apply_configuration(written)],
        )
    ).reading([own, other])
    sent = request(uid="u", userInfo={"username": "ann"}, object=own)
    response = engine.review(policies, decode(admission_review(sent)), webhook="mutate")
    assert response.allowed, response.message
    assert response.patch is not None
    ((added,),) = (each["value"] for each in orjson.loads(response.patch))
    assert added["name"] == "other"


def test_without_objects_the_failure_policy_decides() -> None:
    policies = compiled(
        policy("p", INGRESSES, reads=[read()], validations=[{"expression": "size(reads.it) == 0"}])
    )
    message = denied(policies, ingress("new", "shop"))
    assert message.endswith("reads.it (Ingress): policyd runs without --cluster")


REFUSED: list[tuple[str, list[JSONObject], str]] = [
    ("no name", [read(name=None)], "spec.reads[0].name: Required value"),
    ("a name with a dash", [read(name="a-b")], 'Invalid value: "a-b": must be a name of CEL'),
    ("twice", [read(), read()], 'spec.reads[1].name: Duplicate value: "it"'),
    ("no kind", [read(kind=None)], "spec.reads[0].kind: Required value"),
    ("a path", [read(apiVersion="../v1")], "must be VERSION, or GROUP/VERSION"),
    ("an escaped path", [read(apiVersion="a%2f..%2fb/v1")], "must be VERSION, or GROUP/VERSION"),
    ("a longer path", [read(apiVersion="a/b/v1")], "must be VERSION, or GROUP/VERSION"),
    ("a namespace that is a path", [read(namespace="../kube-system")], "lowercase RFC 1123"),
    ("Secrets", [read(apiVersion="v1", kind="Secret")], "Forbidden: objects of kind Secret"),
    (
        "tokens",
        [read(apiVersion="authentication.k8s.io/v1", kind="TokenReview")],
        "Forbidden: objects of kind TokenReview",
    ),
    ("staleness", [read(maxStalenessSeconds=0)], "must be more than 0 and at most 86400 seconds"),
    ("too many", [read(name=f"r{n}") for n in range(17)], "must have at most 16 items"),
]


@pytest.mark.parametrize(
    ("reads", "want"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_cannot_be_read(reads: list[JSONObject], want: str) -> None:
    found = wrongs(policy("p", INGRESSES, reads=reads))
    assert any(want in each for each in found), found


def test_a_key_sees_the_item_only() -> None:
    problem = "undeclared reference to 'object'"
    with pytest.raises(PolicyError, match=problem):
        compiled(policy("p", INGRESSES, reads=[read(key="object.metadata.name")]))
    with pytest.raises(PolicyError, match="must evaluate to one of"):
        compiled(policy("p", INGRESSES, reads=[read(key="1")]))


def test_a_kind_without_namespaces_has_none() -> None:
    nodes = read(apiVersion="v1", kind="Node", namespace="any")
    with pytest.raises(PolicyError, match="objects of kind Node are in no namespace"):
        compiled(policy("p", INGRESSES, reads=[nodes]))
