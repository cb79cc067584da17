"""Patterns under podControllers check the Pod that a template will become."""

from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL, STRING
from policyd.export.patterns import PatternTranslation, translate
from policyd.json_types import JSON
from policyd.pattern import compile_pattern
from policyd.policy.kinds.controllers import pod_of
from policyd.versions import NEWEST, KubernetesVersion

TEMPLATES: list[JSON] = [
    None,
    {},
    {"metadata": None},
    {"metadata": "x", "spec": None},
    {"metadata": {"labels": {"a": "b"}, "namespace": "other"}, "spec": {"x": 1}, "other": 1},
    {"kind": "Secret", "spec": {"x": 2}},
]
PATTERNS: list[Any] = [
    {"spec": {"x": 1}},
    {"=(spec)": {"x": 1}},
    {"(spec)": {"x": 1}},
    {"kind": "Pod", "apiVersion": "v1"},
    {"metadata": {"namespace": "shop"}},
    {"metadata": {"namespace": "other"}},
    {"metadata": {"(namespace)": "shop", "labels": {"a": "b"}}},
    {"X(metadata)": None},
    {"X(*e*)": None},
    {"X(spec)": None, "X(other)": None},
    {"spec": {"x": "y"}, "*": "?*"},
]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_pod_of_the_template_is_checked(pattern: Any, template: JSON) -> None:
    obj: dict[str, JSON] = {"kind": "Deployment", "spec": {"template": template}}
    text = translate(
        {"pattern": pattern},
        "object.spec.template",
        "spec.template",
        secret=False,
        version=NEWEST,
        pod="made",
    )
    assert isinstance(text, PatternTranslation)
    env = Environment.admission()
    for name, variable in text.variables:
        env = env.with_variables({name: env.compile(variable)})
    facts = {"object": obj, "request": {"namespace": "shop"}}
    expression = env.compile(text.expression, expect=(BOOL,))
    message = env.compile(text.message_expression, expect=(STRING,))
    checked = compile_pattern(pattern)
    want = checked.check(pod_of(obj, "shop"), within="spec.template")
    assert expression.evaluate(facts) is (want is None)
    assert want is None or message.evaluate(facts) == want


def test_a_version_without_the_macros_is_a_reason() -> None:
    for pattern, translates in (({"spec": {"x": 1}}, True), ({"kind": "Pod"}, False)):
        version = KubernetesVersion(1, 32)
        item = {"pattern": pattern}
        text = translate(item, "t", "", secret=False, version=version, pod="made")
        assert isinstance(text, PatternTranslation) is translates


def test_a_pattern_of_the_spec_needs_no_variable() -> None:
    for pattern, needed in (({"spec": {"x": 1}}, False), ({"spec": {}, "kind": "Pod"}, True)):
        text = translate({"pattern": pattern}, "t", "", secret=False, version=NEWEST, pod="made")
        assert isinstance(text, PatternTranslation)
        assert [name for name, _ in text.variables] == (["made"] if needed else [])
