"""Lint's advice on patterns that do not fit the schema of their kinds."""

from typing import Any

import pytest
import yaml

from policyd.policy.lint.all import in_policies
from policyd.policy.lint.patterns import RULE, misfitting
from policyd.policy.lint.run import LintRun
from policyd.policy.source import loader
from tests.builders.policies import policy, rule

POD = "v1 Pod: "


def advised(
    *validations: Any,
    rules: list[Any] | None = None,
    crds: tuple[Any, ...] = (),
    controllers: bool = False,
) -> list[str]:
    constraints: dict[str, Any] = (
        {} if rules is None else {"matchConstraints": {"resourceRules": rules}}
    )
    made = policy(validations=list(validations), podControllers=controllers, **constraints)
    sources = loader.load_text(yaml.safe_dump_all([made, *crds]))
    assert sources.problems == ()
    found = list(in_policies(LintRun(sources), misfitting))
    assert {(each.rule, each.severity) for each in found} <= {(RULE, "advice")}
    assert all(each.line > 1 for each in found)
    return [
        f"{each.path.removeprefix('spec.validations[0].')}: {each.message.removeprefix(POD)}"
        + (f" | {each.hint}" if each.hint else "")
        for each in found
    ]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ({"spec": {"hostPid": False}},
         'pattern.spec.hostPid: PodSpec has no field "hostPid" | did you mean hostPID?'),
        ({"spec": {"=(hostpid)": False}},
         'pattern.spec[=(hostpid)]: PodSpec has no field "hostpid"'),
        ({"spec": {"X(hostPath)": None}}, 'pattern.spec[X(hostPath)]: PodSpec has no field "hostPath" | '
         "did you mean hostPID?"),
        ({"spec": {"containers": {"image": "a"}}},
         "pattern.spec.containers: the field is a list, but the pattern is a map | write [{...}]"),
        ({"spec": {"containers": [{"imagePullPolicy": True}]}},
         "pattern.spec.containers[0].imagePullPolicy: the field is a string, but the pattern is a boolean | "
         'write "true", in quotes'),
        ({"metadata": {"labels": {"a": True}}},
         'pattern.metadata.labels.a: the field is a string, but the pattern is a boolean | write "true", in quotes'),
        ({"spec": {"priority": "1..3"}},
         'pattern.spec.priority: the field is a number, and "1..3" fits none | write 1-3'),
        ({"spec": {"priority": "low | <5 & high"}},
         'pattern.spec.priority: the field is a number, and "low | <5 & high" fits none | '
         "write >=1, <=5, 1-5 or 1 | 5, with units for quantities"),
        ({"spec": {"containers": [{"resources": {"limits": {"memory": "1Gi..4Gi"}}}]}},
         "pattern.spec.containers[0].resources.limits.memory: the field is a quantity, and "
         '"1Gi..4Gi" fits none | write 1Gi-4Gi'),
        ({"spec": {"containers": [{"image": "^registry\\.io/.*$"}]}},
         'pattern.spec.containers[0].image: "^registry\\.io/.*$" is no regular expression in a pattern | '
         'write "registry.io/*", or expression with matches()'),
        ({"spec": {"hostPID": 0}},
         "pattern.spec.hostPID: the field is a boolean, but the pattern is a number | write true or false"),
        ({"spec": {"=(hostPID)": ">= 5"}},
         'pattern.spec[=(hostPID)]: no value of the field fits ">= 5" | write true or false'),
        ({"spec": {"containers": [{"imagePullPolicy": "Alway"}]}},
         'pattern.spec.containers[0].imagePullPolicy: no value of the field fits "Alway" | did you mean Always?'),
        ({"spec": {"dnsPolicy": "a | b*"}},
         'pattern.spec.dnsPolicy: no value of the field fits "a | b*" | '
         "write ClusterFirst or ClusterFirstWithHostNet or Default or None"),
        ({"spec": {"restartPolicy": "!always"}},
         'pattern.spec.restartPolicy: every value of the field fits "!always" | the values are Always or Never or OnFailure'),
        ({"spec": {"securityContext": "x"}},
         'pattern.spec.securityContext: the field is a map, but the pattern is a scalar | only "*" and "?*" match maps'),
        ({"spec": {"nodeName": [1]}}, "pattern.spec.nodeName: the field is a string, but the pattern is a list"),
        ({"spec": {"nodeName": {}}}, "pattern.spec.nodeName: the field is a string, but the pattern is a map"),
        ({"spec": {"z*": "x"}}, 'pattern.spec[z*]: PodSpec has no field "z*"'),
    ],
)  # fmt: skip
def test_what_a_kind_does_not_have_is_named(pattern: Any, said: str) -> None:
    assert advised({"pattern": pattern}) == [said]
    assert advised({"anyPattern": [pattern]}) == [said.replace("pattern", "anyPattern[0]", 1)]


@pytest.mark.parametrize(
    "pattern",
    [
        {"spec": {"host*": False, "securityContext": "?*", "^(containers)": [{"name": "x"}]}},
        {"spec": {"containers": [{"resources": {"limits": {"cpu": 1, "x/y": "?*"}}}]}},
        {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": 80}}}]}},
        {"spec": {"containers": [{"args": "!--debug", "ports": [{"containerPort": "<1024"}]}]}},
        {"spec": {"hostPID": "false", "hostIPC": None, "=(volumes)": [{"X(hostPath)": None}]}},
        {"metadata": {"labels": {"app.*/x": "?*"}, "annotations": None, "creationTimestamp": "?*"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 5}},
        {"spec": {"restartPolicy": "!Never", "dnsPolicy": "Default | None", "hostPID": "!true"}},
        {"spec": {"containers": [{"imagePullPolicy": "*Always"}]}},
    ],
)
def test_what_fits_is_not_advised_about(pattern: Any) -> None:
    assert advised({"pattern": pattern}) == []


def test_a_condition_may_tell_kinds_apart() -> None:
    rules = [rule(), rule(resources=["services"])]
    pattern = {"spec": {"containers": [{"image": "a"}]}}
    (said,) = advised({"pattern": pattern}, rules=rules)
    assert said.endswith('v1 Service: ServiceSpec has no field "containers"')
    assert advised({"pattern": {"(kind)": "Pod", **pattern}}, rules=rules) == []
    assert advised({"anyPattern": [pattern, {"spec": {"ports": "?*"}}]}, rules=rules) == []
    assert len(advised({"pattern": {"(kind)": "Pod", "spek": {}}}, rules=rules)) == 1


def test_a_controller_has_the_fields_of_its_pod() -> None:
    rules = [rule(), rule(apiGroups=["apps"], resources=["deployments"])]
    pattern = {"spec": {"containers": [{"image": "*:*"}]}}
    assert len(advised({"pattern": pattern}, rules=rules)) == 1
    assert advised({"pattern": pattern}, rules=rules, controllers=True) == []


def test_custom_resources_and_kinds_that_nobody_knows() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "shape": {"type": "string", "enum": ["round", "square"]},
                },
            },
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {
            "group": "x.io",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    things = [rule(apiGroups=["x.io"], resources=["things"])]
    pattern = {"spec": {"size": 1, "colour": "red"}, "any": {"thing": 1}}
    (said,) = advised({"pattern": pattern}, rules=things, crds=(crd,))
    assert said == 'pattern.spec.colour: x.io/v1 Thing: the object has no field "colour"'
    (said,) = advised({"pattern": {"spec": {"shape": "rund"}}}, rules=things, crds=(crd,))
    assert said.endswith('no value of the field fits "rund" | did you mean round?')
    assert advised({"pattern": pattern}, rules=things) == []
    everything = [rule(resources=["*"])]
    assert advised({"pattern": pattern}, rules=everything) == []


SUBRESOURCES: list[tuple[Any, Any, list[str]]] = [
    ({"spec": {"replcas": ">1"}}, rule("deployments/scale", group="apps"), [
        'pattern.spec.replcas: autoscaling/v1 Scale: ScaleSpec has no field "replcas" | did you mean replicas?']),
    ({"spec": {"=(ephemeralContainers)": [{"imag": "*"}]}}, rule("pods/ephemeralcontainers"), [
        'pattern.spec[=(ephemeralContainers)][0].imag: EphemeralContainer has no field "imag" | did you mean image?']),
    # Every kind has the same metadata.
    ({"metadata": {"lables": {"a": "?*"}}, "spec": {"x": 1}}, rule("*", group="*"), [
        'pattern.metadata.lables: any kind: ObjectMeta has no field "lables" | did you mean labels?']),
    ({"metadata": {"labels": {"a": True}}}, rule("things", group="a.b"), [
        "pattern.metadata.labels.a: any kind: the field is a string, but the pattern is a boolean | "
        'write "true", in quotes']),
    ({"metadata": {"labels": {"a": "?*"}}, "spec": {"x": True}}, rule("*", group="*"), []),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "match", "expected"), SUBRESOURCES)
def test_subresources_and_the_metadata_of_any_kind(
    pattern: Any, match: Any, expected: list[str]
) -> None:
    assert advised({"pattern": pattern, "message": "no"}, rules=[match]) == expected
