"""Policies that hold an overlay, and what becomes of an object by one. No tests here."""

from collections.abc import Mapping
from typing import Any

import yaml

from policyd._core.eval.program import Program
from policyd.api.policy_set import PolicySet
from policyd.cel.env import Environment
from policyd.errors import PolicyError, Problem
from policyd.json_types import JSONObject
from policyd.mutation import overlay
from policyd.mutation.decoding import converted
from policyd.mutation.overlay import Overlay
from policyd.pattern import Pattern, PatternError, compile_pattern
from policyd.policy.compile import compiler
from policyd.policy.compile.overlays import guard_of
from policyd.policy.source import loader
from tests import policy_sets
from tests.builders.policies import overlay as overlay_mutation
from tests.builders.policies import policy, rule
from tests.mutation.builders import CRD, SCHEMAS

WIDGETS = rule("widgets", group="example.com")


def overlaying(written: Any, *rules: JSONObject, name: str = "p", **spec: Any) -> JSONObject:
    """A Policy with one overlay; a string is YAML."""
    tree = yaml.safe_load(written) if isinstance(written, str) else written
    return policy(name, *rules, mutations=[overlay_mutation(tree)], **spec)


def load(*policies: JSONObject, crds: str = CRD) -> PolicySet:
    """The policies beside the definition of Widgets."""
    return policy_sets.load(*policies, *yaml.safe_load_all(crds))


def mutated(policies: PolicySet, obj: JSONObject, **request: Any) -> JSONObject:
    """The object after the patch of an allowed request."""
    response = policy_sets.ask(policies, obj, webhook="mutate", **request)
    assert response["allowed"], response
    return policy_sets.patched(response, obj) if "patch" in response else obj


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


def read(tree: JSONObject) -> Overlay:
    """An overlay without faults."""
    found, faults = overlay.read(tree, (), Patterns())
    assert faults == []
    return found


def merged(tree: JSONObject | str, obj: JSONObject, target: tuple[str, str, str]) -> JSONObject:
    """What an overlay without expressions makes of an object; a text is YAML."""
    plain = yaml.safe_load(tree) if isinstance(tree, str) else tree
    kind = SCHEMAS.target(target)
    after = read(plain).bound(kind).apply(obj)
    return after if after is obj else converted(after, obj, kind)
