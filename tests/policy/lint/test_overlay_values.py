"""Lint's advice on overlays whose values and conditions do not fit the schema of their kinds."""

import json

import pytest

from policyd.errors import Fix, Problem
from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.overlay_values import RULE, misfitting
from policyd.policy.lint.run import LintRun
from policyd.policy.source.loader import load_text
from tests.builders.policies import DEPLOYMENTS, PODS, rule

HEAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: own}
spec:
  matchConstraints: {resourceRules: %s}
  mutations:
  - patchType: Overlay
    overlay:
"""


def found_in(overlay: str, *rules: JSONObject) -> list[Problem]:
    """The advice on an overlay in YAML."""
    indented = "".join(f"      {line}\n" for line in overlay.splitlines())
    sources = load_text(HEAD % json.dumps(rules or [PODS]) + indented)
    assert sources.problems == ()
    found = list(in_policies(LintRun(sources), misfitting))
    assert {(each.rule, each.severity) for each in found} <= {(RULE, "advice")}
    assert all(each.line > 8 for each in found)
    return found


def said(overlay: str, *rules: JSONObject) -> list[str]:
    return [
        f"{each.path.removeprefix('spec.mutations[0].overlay.')}: {each.message} | {each.hint}"
        for each in found_in(overlay, *rules)
    ]


UNKNOWN = "is not a known value of this field"


@pytest.mark.parametrize(
    ("overlay", "advice"),
    [
        ("spec: {dnsPolicy: clusterFirst}", f'spec.dnsPolicy: "clusterFirst" {UNKNOWN} | did you mean ClusterFirst?'),
        ("spec: {+(dnsPolicy): x}",
         f'spec[+(dnsPolicy)]: "x" {UNKNOWN} | write ClusterFirst or ClusterFirstWithHostNet or Default or None'),
        ("spec: {containers: [{name: 'web-*', stdin: true}]}",
         'spec.containers[0].name: name "web-*" has no wildcard here: an item of this name is added | '
         'write (name): "web-*" for all items that match'),
        ("metadata: {labels: {+(user): request.userInfo.username}}",
         'metadata.labels[+(user)]: "request.userInfo.username" is a text here, not an expression | '
         'write "${request.userInfo.username}" for the value of the expression'),
        ("spec: {containers: [{name: a, args: [object.metadata.name]}]}",
         'spec.containers[0].args[0]: "object.metadata.name" is a text here, not an expression | '
         'write "${object.metadata.name}" for the value of the expression'),
        ("spec: {containers: [{(name): '*', imagePullPolicy: Alway}]}",
         f'spec.containers[0].imagePullPolicy: "Alway" {UNKNOWN} | did you mean Always?'),
        ("spec: {tolerations: [{$patch: append}, {key: a, operator: exists}]}",
         f'spec.tolerations[1].operator: "exists" {UNKNOWN} | did you mean Exists?'),
        ("spec: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnc]}}}}]}",
         f"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes[0]: \"ReadWriteOnc\" {UNKNOWN} | "
         "did you mean ReadWriteOnce?"),
        ("spec: {containers: [{(imge): '*:latest', imagePullPolicy: Always}]}",
         'spec.containers[0][(imge)]: Container has no field "imge" | did you mean image?'),
        ("spec: {X(dnsPolice): null, dnsPolicy: Default}",
         'spec[X(dnsPolice)]: PodSpec has no field "dnsPolice" | did you mean dnsPolicy?'),
        ("spec: {containers: [{(imagePullPolicy): Alway, tty: true}]}",
         'spec.containers[0][(imagePullPolicy)]: no value of the field fits "Alway" | did you mean Always?'),
        ("spec:\n  volumes:\n  - name: cache\n    emptyDir:",
         "spec.volumes[0].emptyDir: emptyDir has no value: null removes the field | "
         "write emptyDir: {} for an empty one, or emptyDir: null to remove it"),
        ("metadata:\n  annotations:",
         "metadata.annotations: annotations has no value: null removes the field | "
         "write annotations: {} for an empty one, or annotations: null to remove it"),
        ("spec:\n  containers:\n  - name: a\n    +(args):",
         "spec.containers[0][+(args)]: args has no value: null removes the field | "
         "write args: [] for an empty one, or args: null to remove it"),
    ],
)  # fmt: skip
def test_what_does_not_fit(overlay: str, advice: str) -> None:
    assert said(overlay) == [advice]


@pytest.mark.parametrize(
    "overlay",
    [
        "spec: {dnsPolicy: Default, restartPolicy: '${variables.x}', hostname: x}",
        "spec: {dnsPolicy: '', containers: [{name: a, imagePullPolicy: null}]}",
        "spec: {securityContext: null, volumes: [{name: a, emptyDir: {}}]}",
        "spec:\n  securityContext: ~\n  hostname:\n  volumes: [{name: a, emptyDir: null}]",
        "spec: {containers: [{(image): 'x*', =(imagePullPolicy): '!Never', tty: true}]}",
        "metadata: {labels: {(a): b, c: d}}\nspec: {<(hostNetwork): true, nodeSelector: {a: Alway}}",
        "metadata: {labels: {a: 'request.${object.kind}', b: objects, c: object. x}}",
        "spec: {containers: [{(name): '*', ^(ports): [{containerPort: '>1024'}], stdin: true}]}",
    ],
)
def test_what_fits(overlay: str) -> None:
    assert said(overlay.replace("${variables.x}", "${object.spec.restartPolicy}")) == []


def test_kinds_are_named_if_there_are_several() -> None:
    tree = "spec: {type: clusterIP}"
    assert said(tree, rule("services")) == [
        f'spec.type: "clusterIP" {UNKNOWN} | did you mean ClusterIP?'
    ]
    both = "spec: {strategy: {type: Recreat}}\nmetadata: {labels: {a: b}}"
    assert said(both, DEPLOYMENTS) == [
        f'spec.strategy.type: "Recreat" {UNKNOWN} | did you mean Recreate?'
    ]
    several = "spec: {template: {spec: {dnsPolicy: default}}}"
    workloads = rule("deployments", "daemonsets", group="apps")
    assert said(several, workloads) == [
        "spec.template.spec.dnsPolicy: apps/v1 DaemonSet, apps/v1 Deployment: "
        f'"default" {UNKNOWN} | did you mean Default?'
    ]


def test_a_value_that_differs_by_its_case_alone_can_be_corrected() -> None:
    (found,) = found_in("spec: {dnsPolicy: clusterFirst}")
    assert found.fix == Fix("clusterFirst", "ClusterFirst")
    (found,) = found_in("spec: {dnsPolicy: ClusterFirs}")
    assert found.fix is None
