"""Write what the tests of a source expect as a PolicyTest, for the rows that agree. Runs no
rows.
"""

import json
from collections.abc import Iterator, Sequence

from policyd.importers.checking import CheckedImport
from policyd.importers.proof.rows import Proof
from policyd.json_types import JSON, JSONObject
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.suite.observed import observed
from policyd.policy.suite.reviews import DEFAULT_USER, build_review
from policyd.policy.suite.state import CaseState

_FIELDS = ("kind", "resource", "name", "namespace", "subResource", "dryRun", "options")
_NAME_LABEL = "kubernetes.io/metadata.name"
_VERBS = {"pass": "passes", "fail": "fails", "skip": "is skipped", "warn": "warns"}


def suite_of(one: CheckedImport, proofs: Sequence[Proof], policies: Sequence[str]) -> JSONObject:
    """Return the suite of an imported policy; empty if no row agrees. ``policies`` are the names of
    the policies' files beside it.

    Each case expects what policyd answers, which the rows of the source confirm: whether the
    request is admitted, the messages, and the object after mutation.
    """
    if one.policies is None:
        return {}
    cases: list[JSONObject] = []
    for group in _grouped([each for each in proofs if each.state == "agrees" and each.review]):
        case = _case(SuitePolicies(one.policies), group)
        while any(case["name"] == each["name"] for each in cases):
            case["name"] += " again"
        cases.append(case)
    if not cases:
        return {}
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "PolicyTest",
        "metadata": {"name": one.imported.source.name},
        "policies": [*policies],
        # The tests of the source were written for objects without the API server's defaults.
        "defaults": False,
        "cases": cases,
    }


def _grouped(proofs: Sequence[Proof]) -> Iterator[list[Proof]]:
    """Yield the rows about the same request together."""
    groups: dict[str, list[Proof]] = {}
    for each in proofs:
        key = json.dumps([each.review, each.namespaces, each.params], sort_keys=True)
        groups.setdefault(key, []).append(each)
    yield from groups.values()


def _case(policies: SuitePolicies, group: Sequence[Proof]) -> JSONObject:
    proof = group[0]
    assert proof.review is not None
    request = proof.review["request"]
    state = CaseState(params=proof.params, namespaces=proof.namespaces)
    answer = policies.knowing(state).admit(proof.review, ("mutate", "validate"))
    case: JSONObject = {"name": _name(group), "request": _request(request)}
    labels = _labels(proof, request.get("namespace", ""))
    if labels:
        case["request"]["namespaceLabels"] = labels
    if proof.params:
        case["params"] = [*proof.params]
    case["expect"] = observed(answer)
    return case


def _name(group: Sequence[Proof]) -> str:
    subject = group[0].row.subject
    verdicts = dict.fromkeys(each.row.expected for each in group)
    if len(verdicts) == 1 and group[0].row.expected in _VERBS:
        return f"{subject} {_VERBS[group[0].row.expected]}"
    if len(group) == 1:
        return f"{subject}: {group[0].row.expected}"
    rules = dict.fromkeys(f"{each.row.rule} {each.row.expected}".strip() for each in group)
    return f"{subject}: {', '.join(rules)}"


def _request(request: JSONObject) -> JSONObject:
    """Return the request in short: what follows from its object is left out."""
    found: JSONObject = {"operation": request["operation"]}
    obj, old = request.get("object"), request.get("oldObject")
    built = build_review(obj, old_object=old, operation=request["operation"])["request"]
    user = dict(request.get("userInfo") or {})
    if user != built["userInfo"]:
        if user.get("username") == DEFAULT_USER:
            del user["username"]
        found["userInfo"] = user
    for name in _FIELDS:
        if request.get(name) != built.get(name) and request.get(name) is not None:
            found[name] = request[name]
    if obj is not None:
        found["object"] = obj
    if old is not None and not _same(old, obj):
        found["oldObject"] = old
    return found


def _same(one: JSON, other: JSON) -> bool:
    return bool(one == other)


def _labels(proof: Proof, name: str) -> JSONObject:
    """Return the labels of the request's namespace that only the test knows."""
    for each in proof.namespaces:
        metadata = each.get("metadata") or {}
        if metadata.get("name") == name:
            labels = metadata.get("labels") or {}
            return {key: value for key, value in labels.items() if key != _NAME_LABEL}
    return {}
