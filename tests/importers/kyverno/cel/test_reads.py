"""Kyverno's CEL gets objects of the cluster; here they are reads."""

import pytest

import policyd
from policyd.importers.kyverno.cel.cel_policies import convert
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import config_map, metadata, pod
from tests.builders.policies import PODS, document
from tests.importers.converting import converted, on_one_line, reason_of, spec_of

ENTRY = {"group": "apps", "version": "v1", "resource": "deployments"}
SHARED = document(
    "kyverno.io/v2",
    "GlobalContextEntry",
    "shared",
    {"kubernetesResource": ENTRY, "projections": [{"name": "count", "jmesPath": "length(@)"}]},
)


def source(expression: str, within: str = "", **more: JSON) -> JSONObject:
    """A policy for Pods with one validation."""
    kind = "NamespacedValidatingPolicy" if within else "ValidatingPolicy"
    fields: JSONObject = {"matchConstraints": {"resourceRules": [PODS]}, **more}
    fields["validations"] = [{"expression": expression, "message": "no"}]
    found = document("policies.kyverno.io/v1", kind, "sample", fields)
    found["metadata"] = metadata("sample", within or None)
    return found


@pytest.mark.parametrize(
    ("expression", "wanted", "said"),
    [
        ("resource.List('v1', 'pods', '').items.size() < 9",
         {"name": "pods", "namespace": "any", "self": True}, "reads.pods.size() < 9"),
        ("resource.list('v1', 'services', request.namespace).items.orValue([]).size() < 9",
         {"name": "services"}, "reads.services.size() < 9"),
        ("resource.List('v1', 'services', 'shop').?items.orValue([]).size() < 9",
         {"name": "services", "namespace": "shop"},
         "{'items': reads.services}.?items.orValue([]).size() < 9"),
        ("resource.List('v1', 'services', object.spec.hostname).items.size() < 9",
         {"name": "servicesByNamespace", "namespace": "any", "key": "['', string(item.metadata.namespace)]"},
         "reads.servicesByNamespace[?object.spec.hostname].orValue([]).size() < 9"),
        ("resource.List('v1', 'services', '', {'a': 'b'}).items.size() < 9",
         {"name": "services", "namespace": "any"},
         "reads.services.filter(each, ({'a': 'b'}).all(label, "
         "each.metadata.?labels[?label].orValue(null) == ({'a': 'b'})[label])).size() < 9"),
        ("[object.metadata.name].all(each, resource.List('v1', 'services', '', {'a': each}).items == [])",
         {"name": "services", "namespace": "any"},
         "[object.metadata.name].all(each, reads.services.filter(each2, ({'a': each}).all(label, "
         "each2.metadata.?labels[?label].orValue(null) == ({'a': each})[label])) == [])"),
        ("resource.Get('v1', 'configmaps', object.metadata.namespace, object.spec.nodeName).data.a == 'b'",
         {"name": "configMapsByName", "key": "item.metadata.name"},
         "reads.configMapsByName[?object.spec.nodeName][?0].orValue(null).data.a == 'b'"),
        ("resource.get('v1', 'configmaps', object.spec.hostname, 'x' + object.metadata.name) == null",
         {"name": "configMapsByName", "namespace": "any",
          "key": "item.metadata.namespace + '/' + item.metadata.name"},
         "reads.configMapsByName[?object.spec.hostname + '/' + ('x' + object.metadata.name)][?0]"
         ".orValue(null) == null"),
        ("resource.Get('v1', 'configmaps', 'shop', 'settings') != null",
         {"name": "configMapsByName", "namespace": "shop", "key": "item.metadata.name"},
         "reads.configMapsByName[?'settings'][?0].orValue(null) != null"),
        ("resource.Get('v1', 'nodes', '', object.spec.nodeName) != null",
         {"name": "nodesByName", "key": "item.metadata.name"},
         "reads.nodesByName[?object.spec.nodeName][?0].orValue(null) != null"),
        ("globalContext.Get('shared', '').size() < 9",
         {"name": "deployments", "namespace": "any", "self": True}, "(reads.deployments).size() < 9"),
        ("globalContext.get('shared', 'count') < 9",
         {"name": "deployments", "namespace": "any", "self": True}, "(size(reads.deployments)) < 9"),
    ],
)  # fmt: skip
def test_a_call_is_a_read(expression: str, wanted: JSONObject, said: str) -> None:
    spec = spec_of(converted(convert, source(expression), SHARED))
    [found] = spec["reads"]
    assert {field: found[field] for field in found if field not in ("apiVersion", "kind")} == wanted
    assert on_one_line(spec["validations"][0]["expression"]) == said


def test_the_namespace_may_be_a_variable() -> None:
    namespace = {"name": "ns", "expression": "object.metadata.namespace"}
    raw = source("resource.List('v1', 'pods', variables.ns).items == []", variables=[namespace])
    assert "namespace" not in spec_of(converted(convert, raw))["reads"][0]


def test_policies_of_a_namespace_name_none() -> None:
    raw = source("resource.Get('v1', 'configmaps', object.spec.nodeName) != null", "shop")
    [found] = spec_of(converted(convert, raw))["reads"]
    assert found["namespace"] == "shop"
    raw = source("resource.List('v1', 'pods').items == []", "shop")
    assert spec_of(converted(convert, raw))["reads"][0]["namespace"] == "shop"
    raw = source("resource.List('v1', 'nodes').items == []", "shop")
    assert "this namespace only" in reason_of(converted(convert, raw))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("resource.List('v1', object.spec.x, '').items == []", "the kind of a read cannot depend"),
        ("resource.List('v1', 'pods/log', '').items == []", "policyd reads no subresources"),
        ("resource.List('v1', 'secrets', '').items == []", "policyd reads no secrets"),
        ("resource.List('v1', 'nodes', 'shop').items == []", "nodes are in no namespace"),
        ("resource.List('v1', 'pods').items == []", "its arguments are not"),
        ("resource.Get('v1', 'pods', '', 'a') == null", "pods are in a namespace"),
        ("resource.Get('x.example.com/v1', 'things', '', 'a') == null", "has things of x.example"),
        ("globalContext.Get('other', '') == null", "no GlobalContextEntry other"),
        ("globalContext.Get('shared', object.spec.x) == null", "the name of an entry cannot"),
        ("resource.Post('v1', 'pods', '', {}) == null", "resource.Post() of Kyverno does"),
    ],
)
def test_what_no_read_replaces_is_refused_with_the_reason(expression: str, why: str) -> None:
    assert why in reason_of(converted(convert, source(expression), SHARED))


@pytest.mark.parametrize(
    ("expression", "objects", "allowed"),
    [
        ("resource.Get('v1', 'configmaps', 'shop', object.metadata.name) == null", [], True),
        ("resource.Get('v1', 'configmaps', 'shop', object.metadata.name) == null", ["web"], False),
        ("resource.Get('v1', 'configmaps', 'shop', object.metadata.name).data.a == 'b'", ["web"], True),
        ("resource.Get('v1', 'configmaps', 'shop', object.metadata.name).data.a == 'b'", [], False),
        ("resource.List('v1', 'configmaps', object.metadata.labels.none).items.size() == 2",
         ["web", "other"], True),
    ],
)  # fmt: skip
def test_what_is_not_there_is_null(expression: str, objects: list[str], allowed: bool) -> None:
    raw = source(expression)
    documents = [each.raw for each in converted(convert, raw).documents]
    found = [config_map(name, "shop", {"a": "b"}) for name in objects]
    policies = policyd.PolicySet.from_documents(*documents).reading(found)
    review = policyd.build_review(pod(name="web", labels={"none": ""}), defaults=False)
    assert policies.evaluate(review, "validate").allowed is allowed
