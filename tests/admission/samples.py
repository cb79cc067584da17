"""What several tests of this folder start from: a policy about everything, a compiled one, reviews. No tests here."""

import json
from pathlib import Path

import orjson

from policyd import PolicySet
from policyd._core.counting.counters import PolicyCounters
from policyd._core.match.matcher import MatchRules
from policyd.admission.review import decode
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiled import CompiledPolicy, PolicyKind
from tests.builders.policies import EVERYTHING, policy
from tests.builders.reviews import admission_review

MARK = b'{"mark":1}'
REQUEST = decode(
    admission_review(
        {
            "uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "object": {"metadata": {"name": "p"}},
        }
    )
)


def about_everything(name: str = "p", **spec: JSON) -> JSONObject:
    """A Policy about every request; it denies none, unless it is given validations."""
    return policy(name, EVERYTHING, **{"validations": [{"expression": "true"}], **spec})


def written(folder: Path, *documents: JSONObject) -> PolicySet:
    """The documents in a file of a folder, and the folder loaded."""
    text = "\n---\n".join(json.dumps(document) for document in documents)
    (folder / "policies.yaml").write_text(text, encoding="utf-8")
    return PolicySet.load([folder])


def compiled_policy(kind: PolicyKind = "Policy", name: str = "p") -> CompiledPolicy:
    """A policy without anything to evaluate, for findings to be about."""
    rules = MatchRules([], [], None, None, "Equivalent")
    return CompiledPolicy(kind, name, "file", True, rules, PolicyCounters(name))


def widget_review(value: bytes, obj: JSONObject | None = None, **request: JSON) -> bytes:
    """A review of a custom resource with ``value`` in its spec, as bytes of any kind."""
    obj = obj or {"metadata": {"name": "x", "labels": {"team": "a"}}, "spec": {"mark": 1}}
    fields: JSONObject = {
        "uid": "u-1",
        "kind": {"group": "example.com", "version": "v1", "kind": "Widget"},
        "resource": {"group": "example.com", "version": "v1", "resource": "widgets"},
        "name": "x",
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "ann", "groups": ["devs"]},
        "object": {"apiVersion": "example.com/v1", "kind": "Widget", **obj},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **request,
    }
    return orjson.dumps(admission_review(fields)).replace(MARK, value) + b"\n"
