"""What options say of namespaces, and the remark about what policies read that they do not say."""

import json
import re
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import policy, rule
from tests.cli.within import within

pytestmark = pytest.mark.usefixtures("folder")
READS_LABELS = "namespaceObject.metadata.labels[?'env'].orValue('') == 'prod'"
READS_ANNOTATIONS = "namespaceObject.metadata.?annotations[?'owner'].orValue('') == 'a,b'"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace",
             "metadata": {"name": "shop", "labels": {"env": "prod"},
                          "annotations": {"owner": "a,b"}}}  # fmt: skip
LABELS = ("--namespace-labels", "env=prod")
ANNOTATIONS = ("--namespace-annotations", "team=x,owner=a,b")
OPTIONS = "give --namespace-labels and --namespace-annotations, or "


def write(name: str, *documents: JSONObject) -> None:
    Path(name).write_text("\n---\n".join(map(json.dumps, documents)))


def reads(expression: str, name: str = "p", **spec: object) -> JSONObject:
    made = policy(name, rule("pods", "namespaces"), validations=[{"expression": expression}])
    return {**made, "spec": {**made["spec"], **spec}}


def selecting(key: str, name: str = "p", resource: str = "pods", where: str = "") -> JSONObject:
    made = policy(name, rule(resource), validations=[{"expression": "true"}])
    selector = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    if where == "rollout":
        made["spec"]["rollout"] = {"enforce": {"namespaceSelector": selector}}
    else:
        made["spec"]["matchConstraints"]["namespaceSelector"] = selector
    if where == "template":
        made["spec"]["podControllers"] = True
    return made


def remark(text: str) -> str:
    """What the remark names; empty if there is none."""
    found = re.search(r"^warning: (namespaces? .*) are not known and count as missing$", text, re.M)
    return found[1] if found else ""


READ = {
    "labels in an expression": (reads(READS_LABELS), POD, "labels (read by p)"),
    "annotations": (reads(READS_ANNOTATIONS), POD, "annotations (read by p)"),
    "both": (
        reads(f"{READS_LABELS} && {READS_ANNOTATIONS}"), POD,
        "labels (read by p) and annotations (read by p)"),
    "a guard and labels": (
        reads(f"namespaceObject == null || {READS_LABELS}"), POD, "labels (read by p)"),
    "another field": (
        reads("namespaceObject.status.phase == 'Active'"), POD, "other fields (read by p)"),
    "the whole object, as a variable": (
        reads(f"variables.n.metadata.{READS_LABELS.partition('.metadata.')[2]}",
              variables=[{"name": "n", "expression": "namespaceObject"}]), POD,
        "labels (read by p), annotations (read by p) and other fields (read by p)"),
    "the name": (reads("namespaceObject.metadata.name != 'x'"), POD, ""),
    "the label that is the name": (
        reads("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] != 'x'"), POD, ""),
    "in matchConditions, where it is null": (
        reads("true", matchConditions=[
            {"name": "c", "expression": f"namespaceObject == null || {READS_LABELS}"}]), POD, ""),
    "of another resource": (reads(READS_LABELS), NODE, ""),
    "of a Namespace, for which it is null": (
        reads(f"namespaceObject == null || {READS_LABELS}"), NAMESPACE, ""),
    "a selector": (selecting("env"), POD, "labels (read by p)"),
    "a selector by name": (selecting("kubernetes.io/metadata.name"), POD, ""),
    "a selector of another resource": (selecting("env", resource="secrets"), POD, ""),
    "a selector of a Namespace": (selecting("env", resource="namespaces"), NAMESPACE, ""),
    "the selector of a rollout": (selecting("env", where="rollout"), POD, "labels (read by p)"),
    "a selector, for a template": (
        selecting("env", where="template"),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": POD["metadata"],
         "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}},
        "labels (read by p)"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "obj", "parts"), READ.values(), ids=READ)
@pytest.mark.parametrize("command", ["apply", "review", "explain"])
def test_what_policies_read_of_an_unknown_namespace_is_named(
    command: str, given: JSONObject, obj: JSONObject, parts: str
) -> None:
    write("policy.json", given)
    write("object.json", obj)
    done = within(command, "-p", "policy.json", "object.json")
    assert done.returncode in (0, 1), done.stderr
    assert remark(done.stderr) == (parts and f"namespace shop: {parts}")


KNOWN = {
    "nothing": ((), (), "labels (read by p) and annotations (read by p)", OPTIONS, 1),
    "labels": (LABELS, (), "annotations (read by p)", "give --namespace-annotations, or ", 1),
    "annotations": (ANNOTATIONS, (), "labels (read by p)", "give --namespace-labels, or ", 1),
    "both": ((*LABELS, *ANNOTATIONS), (), "", "", 0),
    "among the policies": ((), ("policy.json",), "", "", 0),
    "among the manifests": ((), ("objects.json",), "", "", 0),
    "changed labels": (("--namespace-labels", "env=a"), ("policy.json",), "", "", 1),
    "changed annotations": (("--namespace-annotations", "a=b"), ("policy.json",), "", "", 1),
    "the same labels again": (LABELS, ("policy.json",), "", "", 0),
    "the same annotations again": (ANNOTATIONS, ("objects.json",), "", "", 0),
}


@pytest.mark.parametrize(
    ("options", "files", "parts", "remedy", "status"), KNOWN.values(), ids=KNOWN
)
def test_what_is_given_decides_and_is_not_in_the_remark(
    options: tuple[str, ...], files: tuple[str, ...], parts: str, remedy: str, status: int
) -> None:
    reader = reads(f"{READS_LABELS} && {READS_ANNOTATIONS}")
    write("policy.json", reader, *([NAMESPACE] if "policy.json" in files else []))
    write("objects.json", POD, *([NAMESPACE] if "objects.json" in files else []))
    done = within("apply", "-p", "policy.json", "objects.json", *options)
    # A Namespace is denied by no policy: namespaceObject is null for it, which is an error.
    denied = re.search(r"^denied +Pod ", done.stdout, re.M)
    assert (bool(denied), remark(done.stderr)) == (
        bool(status),
        parts and f"namespace shop: {parts}",
    )
    assert remedy in done.stderr
    words = ["-p", "policy.json", "objects.json", "--select", "Pod/web", *options]
    assert ('"allowed":false' in within("review", *words).stdout) == bool(status)
    assert ("DENIED" in within("explain", *words).stdout) == bool(status)


def test_one_remark_names_every_namespace_and_policy() -> None:
    write("policy.json", *(selecting("env", f"p{number}") for number in range(7)))
    pods = [{**POD, "metadata": {"name": "web", "namespace": f"n{each}"}} for each in range(9)]
    write("pods.json", *pods)
    said = within("apply", "-p", "policy.json", "pods.json").stderr
    assert remark(said) == (
        "namespaces n0, n1, n2, n3, n4 and 4 more: labels (read by p0, p1, p2, p3, p4 and 2 more)"
    )
    assert said.count("warning") == 1


def test_a_review_of_a_file_gets_the_remark() -> None:
    write("policy.json", selecting("env"))
    write("review.json", build_review(POD))
    done = within("review", "-p", "policy.json", "review.json")
    assert remark(done.stderr) == "namespace shop: labels (read by p)"
    assert json.loads(done.stdout)["response"]["allowed"] is True


ANNOTATION_VALUES = {
    "a=b": {"a": "b"},
    "a=b,c=d": {"a": "b", "c": "d"},
    "a=b,c": {"a": "b,c"},
    'a={"x":1,"y":2},b=': {"a": '{"x":1,"y":2}', "b": ""},
    "a": "expected KEY=VALUE, got 'a'",
    "a=b,=c": "expected KEY=VALUE, got '=c'",
}


@pytest.mark.parametrize(("text", "wanted"), ANNOTATION_VALUES.items(), ids=ANNOTATION_VALUES)
def test_values_of_annotations_may_have_commas(text: str, wanted: dict[str, str] | str) -> None:
    entries = wanted.items() if isinstance(wanted, dict) else ()
    all_of = " && ".join(
        f"namespaceObject.metadata.annotations[?{json.dumps(key)}].orValue('?') == "
        f"{json.dumps(value)}" for key, value in entries
    ) or "true"  # fmt: skip
    size = f"size(namespaceObject.metadata.annotations) == {len(entries)}"
    write("policy.json", reads(f"{size} && {all_of}"))
    write("pod.json", POD)
    done = within("apply", "-p", "policy.json", "pod.json", "--namespace-annotations", text)
    if isinstance(wanted, str):
        assert (done.returncode, f"--namespace-annotations: {wanted}" in done.stderr) == (2, True)
    else:
        assert done.returncode == 0, done.stdout
