"""An edit that adds reads is refused unless its author may list their objects."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.admission.lookups.params import KindOf
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from policyd.server.edits.lending import MOST, NotLent, may_add_reads, refusal
from tests.builders.config_maps import forbidding, policy_map
from tests.builders.policies import CONFIG_MAPS, policy
from tests.cluster.fake import Call, Reply
from tests.cluster.fake import refusal as refused_by_cluster
from tests.server.config_maps import PolicyCluster, policy_cluster, reading
from tests.server.edits.editing import edit, message
from tests.server.process import Process

INGRESS = ("networking.k8s.io/v1", "Ingress")
KINDS = {
    INGRESS: (Served("networking.k8s.io", "v1", "ingresses", "Ingress", True),),
    ("v1", "Node"): (Served("", "v1", "nodes", "Node", False),),
    ("example.com/v1", "Late"): (),
}
EVE: JSONObject = {
    "username": "eve",
    "uid": "7",
    "groups": ["devs"],
    "extra": {"scopes": ["a", "b"]},
}
IN_ALL = Attributes(
    "eve",
    "list",
    ("devs",),
    "7",
    (("scopes", ("a", "b")),),
    group="networking.k8s.io",
    resource="ingresses",
)


class Access:
    """Allows what is listed, and notes what it was asked."""

    def __init__(self, *allowed: Attributes, failure: str = "", unknown: str = "") -> None:
        self.allowed, self.failure, self.unknown = allowed, failure, unknown
        self.asked: list[Attributes] = []

    async def may(self, attributes: Attributes) -> AccessDecision | Failure:
        self.asked.append(attributes)
        return Failure(self.failure) if self.failure else AccessDecision(attributes in self.allowed)

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        if self.unknown:
            return Failure(self.unknown)
        return KINDS[question.api_version, question.kind]


def asked(access: Access, *reads: tuple[str, str, str, str]) -> NotLent | None:
    return asyncio.run(refusal(access, EVE, reads))


def test_the_author_is_asked_about_as_kubernetes_does_for_params() -> None:
    access = Access(IN_ALL)
    assert asked(access, ("p", *INGRESS, ""), ("q", *INGRESS, "")) is None
    assert access.asked == [IN_ALL]


REFUSED: dict[str, tuple[tuple[str, str, str], Attributes, str]] = {
    "all namespaces": (
        (*INGRESS, ""),
        IN_ALL,
        'user eve must have "list" permission on ingresses.networking.k8s.io in all namespaces: '
        "policy p reads Ingress (networking.k8s.io/v1)",
    ),
    "one namespace": (
        (*INGRESS, "shop"),
        IN_ALL._replace(namespace="shop"),
        'user eve must have "list" permission on ingresses.networking.k8s.io in namespace shop: '
        "policy p reads Ingress (networking.k8s.io/v1)",
    ),
    "no namespace": (
        ("v1", "Node", "shop"),
        IN_ALL._replace(group="", resource="nodes"),
        'user eve must have "list" permission on nodes: policy p reads Node (v1)',
    ),
    "a kind that is not served": (
        ("example.com/v1", "Late", "shop"),
        IN_ALL._replace(group="example.com", resource="*"),
        'user eve must have "list" permission on *.example.com: '
        "policy p reads Late (example.com/v1)",
    ),
}


@pytest.mark.parametrize(("read", "attributes", "want"), REFUSED.values(), ids=REFUSED.keys())
def test_a_read_that_the_author_may_not_list_is_refused(
    read: tuple[str, str, str], attributes: Attributes, want: str
) -> None:
    access = Access()
    assert asked(access, ("p", *read)) == NotLent(want)
    assert access.asked == [attributes]
    assert asked(Access(attributes), ("p", *read)) is None


def test_what_cannot_be_known_is_refused() -> None:
    unknown = asked(Access(failure="etcd is away"), ("p", *INGRESS, ""))
    assert unknown is not None and not unknown.certain
    assert "it is not known whether 'eve' may list ingresses.networking.k8s.io" in unknown.message
    assert "etcd is away; try again" in unknown.message
    unknown = asked(Access(unknown="etcd is away"), ("p", *INGRESS, ""))
    assert unknown is not None and not unknown.certain
    # What is certain is said first.
    places = [("p", *INGRESS, f"n{at}") for at in range(MOST)]
    assert (
        asked(Access(*(IN_ALL._replace(namespace=f"n{at}") for at in range(MOST))), *places) is None
    )
    many = asked(Access(), *places, ("p", *INGRESS, ""))
    assert many == NotLent("an edit may add reads of at most 32 kinds; this one adds 33")


MAPS = policy_map("c", p="kind: Policy\nspec: {}")
MAY_ADD: dict[str, tuple[JSONObject | None, JSONObject | None, bool]] = {
    "no word": (None, MAPS, False),
    "removed": (MAPS, None, False),
    "the word": (None, policy_map("c", p="spec: {reads: []}"), True),
    "an escape": (None, policy_map("c", p='spec: {"\\x72eads": []}'), True),
    "packed": (None, policy_map("c", {"p.yaml.gz": b"x"}), True),
    "as before": (policy_map("c", p="reads:"), policy_map("c", p="reads:", q="x"), False),
    "packed as before": (
        policy_map("c", {"p.yaml.gz": b"x"}),
        policy_map("c", {"p.yaml.gz": b"x"}, q="y"),
        False,
    ),
    "changed": (policy_map("c", p="reads:"), policy_map("c", p="reads: 1"), True),
}


@pytest.mark.parametrize(("old", "new", "want"), MAY_ADD.values(), ids=MAY_ADD.keys())
def test_what_may_add_reads(old: JSONObject | None, new: JSONObject | None, want: bool) -> None:
    assert may_add_reads(old, new) is want


def reads(name: str, namespace: str = "any", **more: Any) -> JSONObject:
    read = {"name": "i", "apiVersion": INGRESS[0], "kind": "Ingress", "namespace": namespace}
    return policy(name, CONFIG_MAPS, reads=[{**read, **more}])


class Reviews:
    """A cluster whose users may list Ingresses in these namespaces; ``""`` is all."""

    def __init__(self, cluster: PolicyCluster) -> None:
        self.cluster = cluster
        self.allowed: set[str] = set()
        self.away = False
        self.asked: list[JSONObject] = []

    def answer(self, call: Call) -> Reply:
        if not call.path.endswith("/subjectaccessreviews"):
            return self.cluster.answer(call)
        if self.away:
            return refused_by_cluster(403, "policyd may not create them")
        spec = call.body["spec"]
        self.asked.append(spec)
        may = spec["resourceAttributes"].get("namespace", "") in self.allowed
        return Reply({**call.body, "status": {"allowed": may}})


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reviews]:
    with policy_cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.put("a", p=reads("one"), q=forbidding("two"))
        found = Reviews(made)
        made.server.answer = found.answer
        yield found


@pytest.fixture(scope="module")
def server(reviews: Reviews) -> Iterator[Process]:
    with reading(reviews.cluster, "--timeout", "120s") as running:
        yield running


def keys(config_map: JSONObject, **new: JSONObject) -> JSONObject:
    return {**config_map, "data": {f"{key}.yaml": json.dumps(each) for key, each in new.items()}}


def test_only_reads_that_an_edit_adds_are_asked_for(server: Process, reviews: Reviews) -> None:
    a, two = reviews.cluster.stored("a"), forbidding("two")
    user: JSONObject = {"userInfo": EVE}
    reviews.asked, reviews.allowed = [], set()
    same = (
        keys(a, p=reads("one", key="'x'"), q=two),  # the same objects
        keys(a, q=two),
        keys(a, p=reads("one"), q=two, r=forbidding("three")),
    )
    for each in same:
        assert edit(server, a, each, **user)["allowed"] is True
    assert reviews.asked == []
    added = (
        keys(a, p=reads("one"), q=two, r=reads("three")),
        keys(a, p=reads("other"), q=two),  # in a policy that did not read them
    )
    for each in added:
        said = edit(server, a, each, **user)
        assert said["allowed"] is False and said["status"]["code"] == 403
        assert message(said).startswith(
            'the edit of ConfigMap a is refused: user eve must have "list" permission on '
            "ingresses.networking.k8s.io in all namespaces: policy "
        )
    assert {json.dumps(each, sort_keys=True) for each in reviews.asked} == {
        json.dumps(
            {
                "user": "eve",
                "uid": "7",
                "groups": ["devs"],
                "extra": {"scopes": ["a", "b"]},
                "resourceAttributes": {
                    "verb": "list",
                    "group": "networking.k8s.io",
                    "version": "*",
                    "resource": "ingresses",
                },
            },
            sort_keys=True,
        )
    }
    reviews.allowed = {""}
    for each in added:
        assert edit(server, a, each, **user)["allowed"] is True
    (line, *_) = [each for each in server.lines("policy-edit") if each.get("user") == "eve"]
    assert "must have" in str(line["message"])


def test_a_namespace_is_asked_for_where_the_read_names_one(
    server: Process, reviews: Reviews
) -> None:
    reviews.allowed = {"shop"}
    new = policy_map("c", p=reads("three", "shop"))
    assert edit(server, None, new, userInfo=EVE)["allowed"] is True
    for place in ("store", "same", "any"):
        refused = policy_map("c", p=reads("three", place))
        assert edit(server, None, refused, userInfo=EVE)["allowed"] is False


def test_what_cannot_be_checked_may_not_add_reads(server: Process, reviews: Reviews) -> None:
    reviews.allowed, reviews.away = {""}, True
    try:
        said = edit(server, None, policy_map("c", p=reads("three")), userInfo=EVE)
    finally:
        reviews.away = False
    assert said["status"]["code"] == 503
    assert "policyd may not create them" in message(said)
    refused = reviews.cluster.labelled.refused
    refused["list"] = refused_by_cluster(500, "etcd is away")
    try:
        said = edit(server, None, policy_map("c", p=reads("three")), userInfo=EVE)
        allowed = edit(server, None, policy_map("c", p=forbidding("three")), userInfo=EVE)
    finally:
        del refused["list"]
    assert said["status"]["code"] == 503
    assert "it may add reads, whose objects its author must be allowed to list" in message(said)
    assert allowed["allowed"] is True
