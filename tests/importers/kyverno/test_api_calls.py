"""Calls of the API server, and entries of the global context, as reads."""

from typing import Any

import pytest

import policyd
from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.context import bound
from policyd.importers.reads import PolicyReads
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import document
from tests.importers import converting
from tests.importers.converting import on_one_line
from tests.importers.kyverno.classic import (
    cluster_policy,
    condition,
    equals,
    imported,
    pod_of,
    reason,
    rule_of,
    spec_of,
    thing,
)

PODS = "/api/v1/namespaces/{{ request.namespace }}/pods"
MAPS = "/api/v1/namespaces/{{request.namespace}}/configmaps"
ENTRY: JSONObject = {
    "group": "apps",
    "version": "v1",
    "resource": "deployments",
    "namespace": "shop",
}
PROJECTIONS = [{"name": "count", "jmesPath": "length(@)"}]


def call(url: str, query: str = "", **more: JSON) -> JSONObject:
    return {"apiCall": {"urlPath": url, **({"jmesPath": query} if query else {}), **more}}


def reading(*entries: JSONObject, key: JSON = "{{ x }}", **more: Any) -> JSONObject:
    """A policy for Pods that denies if the first variable of its context is `bad`."""
    context = [{"name": "xyz"[index], **each} for index, each in enumerate(entries)]
    deny = {"message": "no", "deny": {"conditions": equals(key, "bad")}}
    return cluster_policy(rule_of(deny, *more.pop("kinds", ()), context=context), **more)


def first(policy: JSONObject, *others: JSONObject) -> tuple[JSONObject, str]:
    """The read of a policy, without what every read has, and the expression of its variable."""
    spec = spec_of(policy, *others)
    [found], [variable] = spec["reads"], spec["variables"]
    return found, variable["expression"]


@pytest.mark.parametrize(
    ("url", "query", "wanted", "expression"),
    [
        (PODS, "items[].metadata.name | [0]", {"name": "pods", "self": True}, "reads.pods.map(pod, pod.metadata.name)[?0].orValue(null)"),
        (PODS, "items | length(@)", {"name": "pods", "self": True}, "size(reads.pods)"),
        ("/api/v1/namespaces/{{request.object.metadata.namespace}}/services", "length(items)",
         {"name": "services"}, "size(reads.services)"),
        ("/api/v1/services", "items[0].spec.type",
         {"name": "services", "namespace": "any"}, "reads.services[?0].hasValue() ? dyn(reads.services[0].spec.type) : null"),
        ("api/v1//namespaces/shop/services/", "length(items)",
         {"name": "services", "namespace": "shop"}, "size(reads.services)"),
        ("/api/v1/namespaces/{{request.object.spec.hostname}}/services", "length(items)",
         {"name": "servicesByNamespace", "namespace": "any", "key": "item.metadata.namespace"},
         "size(reads.servicesByNamespace[?object.spec.hostname].orValue([]))"),
        ("/api/v1/nodes?labelSelector=a%3Db", "length(items)",
         {"name": "nodes", "labelSelector": {"matchLabels": {"a": "b"}}}, "size(reads.nodes)"),
        ("/api/v1/nodes?labelSelector=a!=b,c", "length(items)",
         {"name": "nodes", "labelSelector": {"matchExpressions": [
             {"key": "a", "operator": "NotIn", "values": ["b"]}, {"key": "c", "operator": "Exists"}]}},
         "size(reads.nodes)"),
        ("/api/v1/nodes?labelSelector=a=b,c={{request.object.spec.hostname}}", "length(items)",
         {"name": "nodes", "labelSelector": {"matchLabels": {"a": "b"}}},
         "size(reads.nodes.filter(node, node.metadata.?labels[?'c'] == optional.of(object.spec.hostname)))"),
        ("/api/v1/nodes?fieldSelector=metadata.name!={{request.object.spec.nodeName}}", "length(items)",
         {"name": "nodes"}, "size(reads.nodes.filter(node, node.metadata.name != object.spec.nodeName))"),
        (f"{PODS}?fieldSelector=spec.nodeName=a", "length(items)", {"name": "pods", "self": True},
         "size(reads.pods.filter(pod, pod.?spec.?nodeName.orValue('') == 'a'))"),
        (f"{MAPS}/{{{{request.object.spec.hostname}}}}-env", "data.env",
         {"name": "configMapsByName", "key": "item.metadata.name"},
         "reads.configMapsByName[object.spec.hostname + '-env'][0].data.env"),
        ("/api/v1/namespaces/shop/configmaps/settings", "data.env || 'none'",
         {"name": "configMapsByName", "namespace": "shop", "key": "item.metadata.name"},
         "reads.configMapsByName['settings'][0].?data.?env"
         ".optFlatMap(it, optional.ofNonZeroValue(it)).orValue('none')"),
        ("/api/v1/namespaces/{{request.object.spec.hostname}}/configmaps/{{request.object.spec.nodeName}}", "data.env",
         {"name": "configMapsByName", "namespace": "any",
          "key": "item.metadata.namespace + '/' + item.metadata.name"},
         "reads.configMapsByName[object.spec.hostname + '/' + object.spec.nodeName][0].data.env"),
        ("/apis/storage.k8s.io/v1/storageclasses/{{request.object.spec.hostname}}", "provisioner",
         {"name": "storageClassesByName", "key": "item.metadata.name"},
         "reads.storageClassesByName[object.spec.hostname][0].provisioner"),
        ("/api/v1/namespaces/{{request.object.spec.hostname}}", "metadata.labels.a",
         {"name": "namespacesByName", "key": "item.metadata.name"},
         "reads.namespacesByName[object.spec.hostname][0].metadata.labels.a"),
        ("/apis/route.openshift.io/v1/routes", "length(items)",
         {"name": "routes", "namespace": "any"}, "size(reads.routes)"),
        ("/apis/config.openshift.io/v1/infrastructures/cluster", "status.x",
         {"name": "infrastructuresByName", "namespace": "any", "key": "item.metadata.name"},
         "reads.infrastructuresByName['cluster'][0].status.x"),
    ],
)  # fmt: skip
def test_a_path_is_a_read(url: str, query: str, wanted: JSONObject, expression: str) -> None:
    found, said = first(reading(call(url, query)))
    assert {field: found[field] for field in found if field not in ("apiVersion", "kind")} == wanted
    assert on_one_line(said) == expression


def test_the_namespace_of_the_request_is_the_one_that_every_expression_has() -> None:
    own = call("/api/v1/namespaces/{{ request.namespace }}", "metadata.labels.team")
    spec = spec_of(reading(own))
    assert "reads" not in spec
    assert spec["variables"][0]["expression"] == "namespaceObject.metadata.labels.team"


def test_a_precondition_reads_the_namespace_of_the_request() -> None:
    own = {"name": "x", **call("/api/v1/namespaces/{{request.namespace}}", "metadata.labels.team")}
    policy = cluster_policy(
        rule_of({"deny": {}}, context=[own], preconditions=equals("{{ x }}", "a"))
    )
    spec = spec_of(policy)
    assert spec["matchConditions"][0]["expression"] == (
        "reads.namespacesByName[request.namespace][0].metadata.labels.team == 'a'"
    )
    assert spec["reads"] == [
        {
            "name": "namespacesByName",
            "apiVersion": "v1",
            "kind": "Namespace",
            "key": "item.metadata.name",
        }
    ]


def test_a_request_for_a_namespace_has_none_to_see() -> None:
    own = call("/api/v1/namespaces/{{ request.namespace }}", "metadata.labels.team")
    found, said = first(reading(own, kinds=("Namespace",)))
    assert found["self"] is True
    assert said == "reads.namespacesByName[request.namespace][0].metadata.labels.team"


def test_reads_that_are_equal_are_one_and_unused_ones_none() -> None:
    entries = [call(PODS, "items[0].metadata.name"), call(PODS, "items[1].metadata.name")]
    spec = spec_of(reading(*entries, call("/api/v1/nodes", "items[0]"), key="{{ x }}{{ y }}"))
    assert [each["name"] for each in spec["reads"]] == ["pods"]
    others = [call(f"/api/v1/namespaces/{each}/pods", "items[0].metadata.name") for each in "ab"]
    spec = spec_of(reading(*others, key="{{ x }}{{ y }}"))
    assert [each["name"] for each in spec["reads"]] == ["pods", "pods2"]


def test_a_loop_reads_for_each_item() -> None:
    claim = call("/api/v1/namespaces/{{request.namespace}}/configmaps/{{element.name}}", "data.env")
    loop = {
        "list": "request.object.spec.containers",
        "context": [{"name": "x", **claim}],
        "deny": {"conditions": equals("{{ x }}", "bad")},
    }
    spec = spec_of(cluster_policy(rule_of({"message": "no", "foreach": [loop]})))
    assert [each["name"] for each in spec["reads"]] == ["configMapsByName"]
    assert on_one_line(spec["validations"][0]["expression"]) == (
        "object.spec.containers.all(container, "
        "reads.configMapsByName[container.name][0].data.env != 'bad')"
    )


def test_a_list_without_a_query_has_items() -> None:
    policy = reading(call(PODS), key="{{ x.items[?metadata.name=='a'].spec.nodeName | [0] }}")
    found = on_one_line(spec_of(policy)["validations"][0]["expression"])
    assert found.startswith("reads.pods.map(pod, pod.")


def test_an_object_without_a_query_is_a_variable() -> None:
    found, said = first(reading(call(f"{MAPS}/a"), key="{{ x.metadata.name }}"))
    assert (found["kind"], said) == ("ConfigMap", "reads.configMapsByName['a'][0]")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"apiCall": {"service": {"url": "https://x"}}}, "it asks another service than the API server"),
        (call("/apis/authorization.k8s.io/v1/subjectaccessreviews", method="POST"), "a POST asks"),
        (call(PODS, data=[]), "`data` has no counterpart"),
        (call("/version"), "`/version` is no path of a resource"),
        (call(f"{PODS}/a/log"), "policyd reads no subresources"),
        (call("/api/v1/pods/a"), "`/api/v1/pods/a` is no path of pods"),
        (call("/api/v1/namespaces/a/nodes"), "is no path of nodes"),
        (call("/api/v1/namespaces/a/secrets"), "policyd reads no secrets, which hold credentials"),
        (call("/apis/authorization.k8s.io/v1/selfsubjectreviews"), "has selfsubjectreviews"),
        (call("/apis/example.com/v1/things"), "has things of example.com/v1"),
        (call("/apis/policy/v1beta1/poddisruptionbudgets"), "has poddisruptionbudgets of policy/v1beta1"),
        (call("/api/v1/{{ request.object.spec.x }}s"), "the kind of a read cannot depend"),
        (call(f"{PODS}?limit=1"), "`limit` of its path has no counterpart"),
        (call(f"{PODS}?fieldSelector=spec.x=a"), "no read selects pods by `spec.x`"),
        (call(f"{PODS}?labelSelector=a b"), "is not a label selector"),
        (call(f"{PODS}/a?x=y"), "a query after the name of an object"),
        (call("/apis/route.openshift.io/v1/routes", default=[]), "its `default` is for clusters without"),
        (call(f"{MAPS}/a", default="{{ y }}"), "Kyverno leaves `{{ }}` in its `default`"),
        ({"globalReference": {"name": "other"}}, "the sources have no GlobalContextEntry other"),
    ],
)  # fmt: skip
def test_what_no_read_replaces_is_refused_with_the_reason(entry: JSONObject, why: str) -> None:
    found = reason(reading(entry))
    assert "`x` is the result of an API call" in found or "in Kyverno's global context" in found
    assert why in found


def test_other_fields_of_a_list_have_no_counterpart() -> None:
    assert "only its `items` have" in reason(reading(call(PODS, "metadata.resourceVersion")))


def test_policies_of_a_namespace_read_this_namespace_only() -> None:
    for url, ours in ((PODS, True), ("/api/v1/namespaces/a/pods", True), ("/api/v1/pods", False)):
        policy = reading(call(url, "items[0].metadata.name"))
        policy["kind"], policy["metadata"]["namespace"] = "Policy", "a"
        found = imported(policy)
        assert bool(found.documents) is ours
        assert ours or "this namespace only" in found.reasons[0].message


def test_the_kind_is_that_of_a_definition_a_rule_or_an_object_of_the_sources() -> None:
    policy = reading(call("/apis/example.com/v1/bigthings", "items[0].a"))
    with_object = spec_of(policy, thing("BigThing", "example.com/v1"))
    assert with_object["reads"][0]["kind"] == "BigThing"
    matching = reading(
        call("/apis/example.com/v1/bigthings", "items[0].a"), kinds=("example.com/v1/BigThing",)
    )
    assert spec_of(matching)["reads"][0] == {
        "name": "bigThings", "apiVersion": "example.com/v1", "kind": "BigThing", "namespace": "any",
        "self": True,
    }  # fmt: skip


def decided(policy: JSONObject, *objects: JSONObject, others: tuple[JSONObject, ...] = ()) -> str:
    """What a policy says about a Pod of the namespace default: admit, deny or error."""
    documents = [each.raw for each in imported(policy, *others).documents]
    policies = policyd.PolicySet.from_documents(*documents).reading(objects)
    result = policies.evaluate(policyd.build_review(pod_of(), defaults=False), "validate")
    if result.allowed:
        return "admit"
    return "error" if result.violations[0].error else "deny"


OURS, THEIRS = (config_map("web", each, {"env": "bad"}) for each in ("default", "other"))


@pytest.mark.parametrize(
    ("entry", "there", "missing"),
    [
        (call(f"{MAPS}/web", "data.env"), "deny", "error"),
        (call(f"{MAPS}/web", "data.env || ''"), "deny", "error"),
        (call(f"{MAPS}/web", "data.env", default="good"), "deny", "admit"),
        (call(f"{MAPS}/web", "data.env", default="bad"), "deny", "deny"),
        (call(f"{MAPS}/web", "data.other", default="good"), "error", "admit"),
        (call(f"{MAPS}/web", "length(data)", default="bad"), "admit", "deny"),
        (call(MAPS, "items[?data.env=='bad'].data.env | [0] || ''"), "deny", "admit"),
        (call(MAPS, "items[?data.env=='bad'].data.env | [0]"), "deny", "admit"),
        (call(MAPS, "items[0].data.env"), "deny", "admit"),
        (call(MAPS, "items[0].data.other"), "error", "admit"),
        (call(MAPS, "items[0] | data.other"), "admit", "admit"),
        (call(MAPS, "items[0].data.env", default="bad"), "deny", "admit"),
    ],
)
def test_an_object_that_is_not_there_is_what_kyverno_makes_of_it(
    entry: JSONObject, there: str, missing: str
) -> None:
    policy = reading(entry)
    assert (decided(policy, OURS, THEIRS), decided(policy, THEIRS)) == (there, missing)


def test_a_json_literal_in_a_filter_is_the_value_of_its_variable() -> None:
    query = "items[?label_match(spec.selector.matchLabels, `{{request.object.metadata.labels}}`)] | length(@)"
    url = "/apis/policy/v1/namespaces/{{request.namespace}}/poddisruptionbudgets"
    policy = cluster_policy(
        rule_of(
            {"deny": {"conditions": {"any": [condition("{{ x }}", "LessThan", 1)]}}},
            context=[{"name": "x", **call(url, query)}],
        )
    )
    budget = thing(
        "PodDisruptionBudget", "policy/v1",
        metadata={"namespace": "default"}, spec={"selector": {"matchLabels": {"app": "web"}}},
    )  # fmt: skip
    documents = [each.raw for each in imported(policy).documents]
    policies = policyd.PolicySet.from_documents(*documents)
    for labels, allowed in (({"app": "web"}, True), ({"app": "other"}, False)):
        review = policyd.build_review(pod_of(labels=labels), defaults=False)
        assert policies.reading([budget]).evaluate(review, "validate").allowed is allowed


def entry(**spec: JSON) -> JSONObject:
    return document("kyverno.io/v2", "GlobalContextEntry", "shared", spec)


@pytest.mark.parametrize(
    ("reference", "expression"),
    [
        ({"name": "shared", "jmesPath": "[].metadata.name | [0]"},
         "reads.deployments.map(deployment, deployment.metadata.name)[?0].orValue(null)"),
        ({"name": "shared.count"}, "size(reads.deployments)"),
        ({"name": "shared.count", "jmesPath": "to_string(@)"}, "string(size(reads.deployments))"),
    ],
)  # fmt: skip
def test_an_entry_of_the_global_context_is_a_read(reference: JSONObject, expression: str) -> None:
    shared = entry(kubernetesResource=ENTRY, projections=PROJECTIONS)
    found, said = first(reading({"globalReference": reference}), shared)
    assert said == expression
    assert found == {
        "name": "deployments", "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop",
        "self": True,
    }  # fmt: skip


def test_an_entry_that_calls_has_the_answer() -> None:
    shared = entry(apiCall={"urlPath": "/api/v1/nodes", "refreshInterval": "10s"})
    reference = {"name": "shared", "jmesPath": "length(items)"}
    _, said = first(reading({"globalReference": reference}), shared)
    assert said == "size(reads.nodes)"


@pytest.mark.parametrize(
    ("others", "name", "why"),
    [
        ([entry(kubernetesResource=ENTRY)], "shared.other", "has no projection other"),
        ([entry(kubernetesResource=ENTRY), entry(apiCall={})], "shared", "more than one"),
        ([entry(apiCall={"service": {"url": "https://x"}})], "shared", "another service"),
        ([entry()], "shared", "has no `kubernetesResource`"),
    ],
)
def test_an_entry_that_no_read_replaces_is_refused(
    others: list[JSONObject], name: str, why: str
) -> None:
    found = imported(reading({"globalReference": {"name": name}}), *others)
    assert why in converting.reason_of(found)


def test_a_name_has_no_meaning_but_where_it_is_used() -> None:
    scope = Vocabulary.request(reads=PolicyReads())
    scope, parts = bound([{"name": "x", **call("/version")}], scope, "context")
    assert parts == {}
    with pytest.raises(NotTranslatable, match="`/version` is no path"):
        read("x", scope)
