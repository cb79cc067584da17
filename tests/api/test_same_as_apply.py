"""The Python API decides about manifests as ``policyd apply`` does."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jsonpatch
from click.testing import CliRunner

from policyd import PolicySet, ReviewResult, build_review
from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.kinds.subresources import SUBRESOURCE_OF_KIND
from policyd.policy.model.suite import PolicyTest
from policyd.policy.model.suite_cases import cases_of
from policyd.policy.source.loader import load
from tests.builders.objects import container, definition, pod
from tests.builders.policies import json_patch, policy, rule
from tests.shared import ROOT

LIBRARY = ROOT / "policies"
MANIFESTS = 200
OUTCOMES = {"Deny": "deny", "Warn": "warn", "Audit": "audit"}
CUSTOM = definition(
    "Box",
    "example.com",
    {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}},
    names={"plural": "boxen", "kind": "Box"},
    scope="Cluster",
)
# What the library has no policy for: a custom kind, a change that lacks defaults, a warning.
MORE = [
    CUSTOM,
    policy(
        "boxes",
        rule("boxen", group="example.com"),
        validations=[
            {
                "expression": "object.spec.size > 5",
                "messageExpression": "string(object.spec.size) + ' in ' + request.resource.resource"
                " + (has(request.namespace) ? ' of ' + request.namespace : '')",
            }
        ],
    ),
    policy(
        "sidecar",
        rule("pods"),
        mutations=[
            json_patch(
                "[JSONPatch{op: 'add', path: '/spec/containers/-',"
                " value: Object.spec.containers{name: 'side', image: 'side:1'}}]"
            )
        ],
        validations=[
            {"expression": "object.spec.containers.all(c, c.imagePullPolicy == 'IfNotPresent')"}
        ],
    ),
    policy(
        "by-default",
        rule("*", group="*"),
        validationActions=["Warn", "Audit"],
        validations=[
            {
                "expression": "false",
                "messageExpression": "request.userInfo.username + ' of ' +"
                " request.userInfo.groups.join(',')",
            }
        ],
    ),
]


def examples() -> Iterator[JSONObject]:
    """Yield the objects of the library's suites, and some that the library says nothing about."""
    yield {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}, "spec": {}}
    yield {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "c", "namespace": "x"}, "spec": {"size": 9}}  # fmt: skip
    yield {"apiVersion": "example.com/v1", "kind": "Unknown", "metadata": {"name": "u"}}
    yield pod(container(image="a:latest"), namespace=None)
    for document in load([LIBRARY]).of_kind("PolicyTest"):
        assert isinstance(document.model, PolicyTest)
        for case in cases_of(document.model):
            if case.request.object is not None:
                yield case.request.object


@cache
def manifests() -> list[JSONObject]:
    """Return as many different ones. The Namespaces in a file would count for others in it."""
    left_out = {*SUBRESOURCE_OF_KIND, ("v1", "Namespace")}
    found = {
        json.dumps(each, sort_keys=True): each
        for each in examples()
        if (each.get("apiVersion"), each.get("kind")) not in left_out
    }
    spread = list(found.values())
    kept = spread[:4] + spread[4 :: max(1, (len(spread) - 4) // (MANIFESTS - 4))]
    assert len(kept) >= MANIFESTS
    return kept


def found_by_apply(row: JSONObject) -> JSONObject:
    named = ("policy", "kind", "binding", "outcome", "message", "error", "index")
    findings = [{key: each[key] for key in named} for each in row["findings"] if each["policy"]]
    kept = {key: row[key] for key in ("allowed", "message", "code", "warnings")}
    return {**kept, "findings": findings}


def found_by_api(result: ReviewResult) -> JSONObject:
    findings = [
        {
            "policy": each.policy,
            "kind": each.kind,
            "binding": each.binding,
            "outcome": OUTCOMES[action],
            "message": each.message,
            "error": each.error,
            "index": each.index,
        }
        for each in result.violations
        for action in each.actions
    ]
    head = {"allowed": result.allowed, "message": result.message, "code": result.code}
    return {**head, "warnings": list(result.warnings), "findings": findings}


def compared(folder: Path, *library: Path, defaults: bool) -> set[bool]:
    """Compare every manifest; return the decisions that there were."""
    more = folder / "more.yaml"
    more.write_text("\n---\n".join(map(json.dumps, MORE)))
    given = folder / "manifests.yaml"
    given.write_text("\n---\n".join(map(json.dumps, manifests())))
    paths = [more, *library]
    flags = [each for path in paths for each in ("-p", str(path))]
    flags += [] if defaults else ["--no-defaults"]
    done = CliRunner().invoke(policyd, ["apply", *flags, "--format", "json", str(given)])
    rows = json.loads(done.stdout)
    assert len(rows) == len(manifests())
    policies = PolicySet.load(paths).reading(manifests())
    completed = policies._evaluator.policies.defaults.applied
    for obj, row in zip(manifests(), rows, strict=True):
        review = build_review(obj, policies=policies, defaults=defaults)
        result = policies.evaluate(review, defaults=defaults)
        assert found_by_api(result) == found_by_apply(row), obj
        written = build_review(obj, policies=policies, defaults=False)["request"]["object"]
        changed = jsonpatch.apply_patch(written, row["patch"])
        assert (completed(changed) if defaults else changed) == (
            completed(result.object) if defaults else result.object
        )
    return {row["allowed"] for row in rows}


def test_200_manifests(tmp_path: Path) -> None:
    assert compared(tmp_path, LIBRARY, defaults=True) == {True, False}


def test_200_manifests_without_defaults(tmp_path: Path) -> None:
    assert compared(tmp_path, defaults=False) == {True, False}
