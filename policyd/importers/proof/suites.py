"""Write what the tests of a source expect as a PolicyTest, for the rows that agree. Runs no
rows.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.admission.lookups.authorizer import StaticAuthorizer
from policyd.importers.checking import CheckedImport
from policyd.importers.proof.rows import Proof, ProofRequest
from policyd.json_types import JSONObject
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.suite.observed import observed
from policyd.policy.suite.reviews import DEFAULT_USER, build_review

_FIELDS = ("kind", "resource", "name", "namespace", "subResource", "dryRun", "options")
_VERBS = {"pass": "passes", "fail": "fails", "skip": "is skipped", "warn": "warns"}


def suite_of(one: CheckedImport, proofs: Sequence[Proof], files: Sequence[str]) -> JSONObject:
    """Return the suite of an imported policy; empty if no row agrees. ``files`` are the names of
    the policies' files beside it.

    Each case expects what policyd answers, which the rows of the source confirm: whether the
    request is admitted, the messages, and the object after mutation.
    """
    if one.policies is None:
        return {}
    cases: list[JSONObject] = []
    policies = SuitePolicies(one.policies, StaticAuthorizer(()))
    read = frozenset(
        (one["apiVersion"], one["kind"])
        for each in one.imported.documents
        for one in each.raw["spec"].get("reads", ())
    )
    for group in _grouped([each for each in proofs if each.state == "agrees"]):
        case = _case(policies, group, read)
        while any(case["name"] == each["name"] for each in cases):
            case["name"] += " again"
        cases.append(case)
    if not cases:
        return {}
    authorizes = any("authorizer." in json.dumps(each.raw) for each in one.imported.documents)
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "PolicyTest",
        "metadata": {"name": one.imported.source.name},
        "policies": [*files],
        # The tests of the source were written for objects without the API server's defaults.
        "defaults": False,
        # Nor does a test give its users permissions.
        **({"authorizer": []} if authorizes else {}),
        "cases": cases,
    }


def _grouped(proofs: Sequence[Proof]) -> Iterator[list[Proof]]:
    """Yield the rows about the same request together."""
    groups: dict[str, list[Proof]] = {}
    for each in proofs:
        assert each.request is not None
        if each.request.given:
            continue  # which objects have such values is not known
        groups.setdefault(json.dumps(astuple(each.request), sort_keys=True), []).append(each)
    yield from groups.values()


def _case(
    policies: SuitePolicies, group: Sequence[Proof], read: frozenset[tuple[str, str]]
) -> JSONObject:
    trial = group[0].request
    assert trial is not None
    request = trial.review["request"]
    admit = policies.knowing(trial.state).admit
    answer = admit(trial.review, ("mutate", "validate"))
    case: JSONObject = {"name": _name(group), "request": _request(request)}
    case |= _namespaces(trial, request.get("namespace", ""))
    if answer.patch:
        sent = {**trial.review, "request": {**request, "object": answer.object}}
        if admit(sent, ("mutate",)).object != answer.object:
            case["idempotent"] = False
    held = (*trial.params, *trial.namespaces)
    reads = [each for each in held if (each.get("apiVersion"), each.get("kind")) in read]
    params = [each for each in trial.params if each not in reads]
    case |= {name: each for name, each in (("params", params), ("reads", reads)) if each}
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
    if "namespace" in built and "namespace" not in request:
        found["namespace"] = ""  # of a kind that only a definition says to be cluster-scoped
    if obj is not None:
        found["object"] = obj
    if old is not None and old != obj:
        found["oldObject"] = old
    return found


def _namespaces(trial: ProofRequest, name: str) -> JSONObject:
    """Return what only the test knows about the request's namespace."""
    for each in trial.namespaces:
        metadata = each.get("metadata") or {}
        if metadata.get("name") == name:
            labels = dict(metadata.get("labels") or {})
            labels.pop(NAMESPACE_NAME, None)
            known = {"labels": labels, "annotations": metadata.get("annotations") or {}}
            given = {key: value for key, value in known.items() if value}
            return {"namespaces": [{"name": name, **given}]} if given else {}
    return {}
