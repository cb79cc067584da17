"""What a cluster with Kyverno and Gatekeeper serves, and their objects. No tests here."""

from typing import Any

from policyd.json_types import JSONObject
from tests.builders.policies import demand, rule
from tests.cluster.contents import SERVED, Contents
from tests.importers.kyverno.classic import cluster_policy, equals, pattern, rule_of

ENGINES = {
    ("kyverno.io", "v1"): (
        ("clusterpolicies", "ClusterPolicy", False),
        ("policies", "Policy", True),
        ("updaterequests", "UpdateRequest", True),
    ),
    ("kyverno.io", "v2"): (
        ("policyexceptions", "PolicyException", True),
        ("clustercleanuppolicies", "ClusterCleanupPolicy", False),
    ),
    ("kyverno.io", "v2beta1"): (("policyexceptions", "PolicyException", True),),
    ("policies.kyverno.io", "v1"): (("validatingpolicies", "ValidatingPolicy", False),),
    ("policies.kyverno.io", "v1beta1"): (
        ("validatingpolicies", "ValidatingPolicy", False),
        ("policyexceptions", "PolicyException", True),
    ),
    ("templates.gatekeeper.sh", "v1"): (("constrainttemplates", "ConstraintTemplate", False),),
    ("constraints.gatekeeper.sh", "v1beta1"): (("k8snolatest", "K8sNoLatest", False),),
}
SERVED_WITH_ENGINES = {
    **SERVED,
    ("", "v1"): (*SERVED["", "v1"], ("services", "Service", True)),
    ("discovery.k8s.io", "v1"): (("endpointslices", "EndpointSlice", True),),
    **ENGINES,
}
CLUSTER_POLICIES = "/apis/kyverno.io/v1/clusterpolicies"
POLICIES = "/apis/kyverno.io/v1/policies"
EXCEPTIONS = "/apis/kyverno.io/v2/policyexceptions"
CLEANUPS = "/apis/kyverno.io/v2/clustercleanuppolicies"
VPOLS = "/apis/policies.kyverno.io/v1/validatingpolicies"
TEMPLATES = "/apis/templates.gatekeeper.sh/v1/constrainttemplates"
CONSTRAINTS = "/apis/constraints.gatekeeper.sh/v1beta1/k8snolatest"
LABELS = cluster_policy(pattern({"metadata": {"labels": {"team": "?*"}}}))["spec"]


def labels_exempting(policy: str) -> JSONObject:
    """The spec of an exception from a policy with one rule."""
    match = {"any": [{"resources": {"kinds": ["*"], "namespaces": ["legacy"]}}]}
    return {"exceptions": [{"policyName": policy, "ruleNames": ["*"]}], "match": match}


def vpol_spec(**more: Any) -> JSONObject:
    return {
        "matchConstraints": {"resourceRules": [rule("pods", operations=["CREATE"])]},
        "validations": [demand("object.metadata.name != 'bad'", "the name is bad")],
        **more,
    }


def template_spec(expression: str = "true") -> JSONObject:
    """A template of Gatekeeper whose constraints are K8sNoLatest."""
    source = {"validations": [{"expression": expression, "message": "no"}]}
    code = [{"engine": "K8sNativeValidation", "source": source}]
    names = {"kind": "K8sNoLatest"}
    target = {"target": "admission.k8s.gatekeeper.sh", "code": code}
    return {"crd": {"spec": {"names": names}}, "targets": [target]}


def config_map_rule(name: str) -> JSONObject:
    """A rule that compares with a ConfigMap."""
    conditions = equals("{{ request.object.metadata.name }}", "{{ names.data.forbidden }}")
    context = [{"name": "names", "configMap": {"name": name, "namespace": "a"}}]
    return rule_of({"message": "no", "deny": {"conditions": conditions}}, context=context)


def added(contents: Contents, path: str, name: str, namespace: str = "", **fields: Any) -> None:
    """Add an object, or a new version of it."""
    of_list = contents.objects.setdefault(path, [])
    before = [each for each in of_list if each["metadata"]["name"] == name]
    version = 1 + max((int(each["metadata"]["resourceVersion"]) for each in before), default=0)
    of_list[:] = [each for each in of_list if each not in before]
    contents.add(path, name, namespace, **fields, metadata={"resourceVersion": str(version)})
