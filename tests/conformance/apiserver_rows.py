"""Rows of a real API server, run through ``PolicySet``: the sources, and answers as the rows word
them.
"""

import json
import re
from functools import cache
from typing import Any

import yaml

from policyd.admission.lookups.authorizer import AuthorizerRule, StaticAuthorizer
from policyd.api.policy_set import PolicySet
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Sources
from policyd.versions import RECORDED, KubernetesVersion
from tests.kubernetes import NEWEST
from tests.sampling import sampled
from tests.shared import CONFORMANCE, conformance, find

Row = dict[str, Any]
VERSIONS = tuple(map(str, RECORDED))
CHANGED = ("vap-cel", "map")  # the files of which later versions answered rows otherwise
_MUTATION_OF = re.compile(r" \(mutation of policy '[^']+'( with binding '[^']+')?\)$")
_FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"


def recorded(name: str, version: str) -> list[Row]:
    """The rows of a file as a version answered them. 1.36 answered all; those that a later version
    answered otherwise are in a folder of its own, under the same ids, and hold for what follows it.
    """
    rows = conformance(f"apiserver/{name}.jsonl")
    asked = KubernetesVersion.parse(version)
    for later in VERSIONS[1:] if name in CHANGED else ():
        if KubernetesVersion.parse(later) <= asked:
            changed = {row["id"]: row for row in conformance(f"apiserver-{later}/{name}.jsonl")}
            assert changed.keys() <= {row["id"] for row in rows}
            rows = [changed.get(row["id"], row) for row in rows]
    return [row | {"version": version} for row in rows]


def checked(name: str, version: str) -> list[Row]:
    """The rows that are checked: all as the newest release answered them, a sample of the others."""
    rows = recorded(name, version)
    return rows if version == NEWEST else sampled(rows)


def definitions(names: list[str]) -> list[Row]:
    """The CustomResourceDefinitions that a row names."""
    return [each for each in _all_definitions() if each["metadata"]["name"] in names]


@cache
def _all_definitions() -> list[Row]:
    file = find(CONFORMANCE, "apiserver/crds.yaml")
    files = [each for each in (file, file.with_name("crds-real.yaml")) if each.exists()]
    return [
        doc for each in files for doc in yaml.load_all(each.read_bytes(), yaml.CSafeLoader) if doc
    ]


@cache
def authorizer() -> StaticAuthorizer:
    """The SubjectAccessReviews of all rows, and what rbac.yaml says where none was recorded."""
    answers = [
        answer
        for name in ("vap-cel", "map")
        for row in conformance(f"apiserver/{name}.jsonl")
        for answer in row.get("authorizer", ())
    ]
    admins = AuthorizerRule(groups=("devs",))
    writers = [
        AuthorizerRule(groups=("writers",), group="", resource=resource, verb="get")
        for resource in ("configmaps", "pods")
    ]
    return StaticAuthorizer([*map(rule_of, answers), admins, *writers])


def rule_of(answer: Row) -> AuthorizerRule:
    """A SubjectAccessReview as a rule for exactly its question."""
    spec, status = answer["spec"], answer["status"]
    asked = spec.get("nonResourceAttributes") or spec["resourceAttributes"]
    empty = () if "path" in asked else ("group", "resource", "subresource", "namespace", "name")
    # RBAC looks at neither of these.
    unseen = ("version", "fieldSelector", "labelSelector")
    said = {key: value for key, value in asked.items() if key not in unseen}
    return AuthorizerRule(
        user=spec["user"],
        allowed=status["allowed"],
        reason=status.get("reason", ""),
        **{**dict.fromkeys(empty, ""), **said},
    )


def sources(row: Row) -> Sources:
    """The policies of a row with their params, namespaces and definitions."""
    documents = [
        *row["policies"],
        *row.get("params", ()),
        *row.get("namespaces", ()),
        *definitions(row.get("crds", [])),
    ]
    text = "\n---\n".join(json.dumps(document) for document in documents)
    version = KubernetesVersion.parse(row.get("version", VERSIONS[0]))
    return loader.load_text(text, row["id"], version=version)


def policy_set(row: Row) -> PolicySet:
    """The compiled sources of a row, and the authorizer of all rows; raises PolicyError."""
    return PolicySet(compiler.compile_strict(sources(row)), authorizer())


def review_of(request: Row) -> Row:
    """The AdmissionReview around a request of a row."""
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def answered(response: Row, version: str = VERSIONS[0]) -> Row:
    """An answer in the words of the rows. 1.36 keeps the first failure of a request only."""
    status = response.get("status", {})
    message, cause = as_kubernetes(status) if status else (None, None)
    annotations = dict(response.get("auditAnnotations", {}))
    annotations.pop("generation", None)
    if "validation_failure" in annotations:
        failures = json.loads(annotations["validation_failure"])
        annotations["validation_failure"] = failures[:1] if version == VERSIONS[0] else failures
    return {
        "allowed": response["allowed"],
        "code": status.get("code"),
        "reason": status.get("reason"),
        "message": message,
        "cause": cause,
        "warnings": response.get("warnings", []),
        "auditAnnotations": annotations,
    }


def as_kubernetes(status: Row) -> tuple[str, str | None]:
    """The message and the first cause of a Status without what policyd adds to those of Kubernetes:
    further denials after the first, each on a line, and the policy whose mutation fails the request.
    """
    causes = [each["message"] for each in status.get("details", {}).get("causes", [])]
    if status["code"] >= 500:
        named = [_MUTATION_OF.subn("", text) for text in (status["message"], *causes)]
        assert all(count == 1 for _, count in named), status
        (message, _), *others = named
        return message, others[0][0] if others else None
    first = str(causes[0])
    assert (status["message"] + "\n").startswith(first + "\n"), status
    return first, first


def expected(expect: Row) -> Row:
    """What a webhook is to answer where the API server said this."""
    annotations = {}
    for key, value in expect.get("auditAnnotations", {}).items():
        if key == _FAILURE_KEY:
            annotations["validation_failure"] = json.loads(value)
        else:
            annotations[key.replace("/", ".", 1)] = value
    allowed = expect["allowed"]
    causes = expect.get("causes") or []
    return {
        "allowed": allowed,
        "code": None if allowed else expect["code"],
        "reason": None if allowed else expect["reason"],
        "message": None if allowed else unprefixed(expect["message"]),
        "cause": causes[0]["message"] if causes and not allowed else None,
        "warnings": expect.get("warnings", []),
        "auditAnnotations": annotations,
    }


def unprefixed(message: str) -> str:
    """A denial without the API server's ``RESOURCE "NAME" is forbidden: `` in front."""
    head, found, rest = message.partition('" is forbidden: ')
    return rest if found and " " in head and head.split(" ", 1)[1].startswith('"') else message


def difference(got: Row, want: Row) -> str:
    """The keys in which two answers differ, readable; empty if they are the same."""
    return "; ".join(f"{k}: got {got[k]!r}, want {want[k]!r}" for k in want if got[k] != want[k])


def outcomes(row: Row) -> list[Row]:
    """All outcomes that are right for a row."""
    return [expected(each) for each in row.get("expectAny") or [row["expect"]]]
