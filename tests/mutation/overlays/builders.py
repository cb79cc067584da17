"""Overlays for tests: policies that hold one, and what becomes of an object by it."""

import copy
import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import jsonpatch
import yaml

from policyd import PolicySet
from policyd._core.eval.program import Program
from policyd.cel.env import Environment
from policyd.errors import PolicyError, Problem
from policyd.mutation import overlay
from policyd.mutation.decoding import converted
from policyd.mutation.overlay import Overlay
from policyd.pattern import Pattern, PatternError, compile_pattern
from policyd.policy.compile import compiler
from policyd.policy.compile.overlays import guard_of
from policyd.policy.source import loader
from policyd.policy.suite.reviews import build_review
from tests.mutation.builders import CRD, SCHEMAS

Json = dict[str, Any]
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
WIDGETS = {**PODS, "apiGroups": ["example.com"], "resources": ["widgets"]}


def policy(written: Any, *, name: str = "p", rules: list[Json] | None = None, **spec: Any) -> Json:
    """A Policy with one overlay; a text is YAML."""
    tree = yaml.safe_load(written) if isinstance(written, str) else written
    mutations = [{"patchType": "Overlay", "overlay": tree}]
    body = {"matchConstraints": {"resourceRules": rules or [PODS]}, "mutations": mutations}
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {**body, **spec},
    }


def load(*policies: Json, crds: str = CRD) -> PolicySet:
    text = "\n---\n".join([*map(json.dumps, policies), crds])
    return PolicySet(compiler.compile_strict(loader.load_text(text)))


def ask(policies: PolicySet, obj: Json, **request: Any) -> Json:
    """The response of the mutating webhook; the object is checked to be left alone."""
    before = copy.deepcopy(obj)
    review = build_review(obj, overrides=request)
    response: Json = policies.review(review, "mutate")["response"]
    assert obj == before
    return response


def mutated(policies: PolicySet, obj: Json, **request: Any) -> Json:
    """The object after the patch of an allowed request."""
    response = ask(policies, obj, **request)
    assert response["allowed"], response
    if "patch" not in response:
        return obj
    after: Json = jsonpatch.apply_patch(obj, json.loads(b64decode(response["patch"])))
    return after


def problems(text: str) -> list[Problem]:
    """What is wrong with a document, in file order."""
    try:
        compiler.compile_strict(loader.load_text(text, "p.yaml"))
    except PolicyError as error:
        return list(error.problems)
    return []


class Patterns:
    """Compiles conditions without a policy around them; a bad one counts as none."""

    def __init__(self) -> None:
        self.refused: list[PatternError] = []

    def expression(self, text: str, start: int, end: int, path: Any) -> Program:
        return Environment.admission().compile(text[start:end])

    def pattern(self, tree: Mapping[str, Any], path: Any) -> Pattern | None:
        try:
            return compile_pattern(tree)
        except PatternError as error:
            self.refused.append(error)
            return None

    def guard(self, tree: Mapping[str, Any], path: Any) -> Pattern | None:
        pattern = self.pattern(tree, path)
        return None if pattern is None else guard_of(pattern)


def read(tree: Json) -> Overlay:
    """An overlay without faults."""
    found, faults = overlay.read(tree, (), Patterns())
    assert faults == []
    return found


def merged(tree: Json | str, obj: Json, target: tuple[str, str, str]) -> Json:
    """What an overlay without expressions makes of an object; a text is YAML."""
    plain = yaml.safe_load(tree) if isinstance(tree, str) else tree
    kind = SCHEMAS.target(target)
    after = read(plain).bound(kind).apply(obj)
    return after if after is obj else converted(after, obj, kind)
