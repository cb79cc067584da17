"""Expressions mean the same after they are rewritten: those about a Pod for the template that it comes
from, and those with inline params.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.errors import CelCompileError, EvaluationError
from policyd.export.controllers import TEMPLATES, PodTemplate, with_pod
from policyd.export.expressions.rewriting import InlineParams
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.kinds.controllers import pod_of
from policyd.policy.source.loader import load_built
from policyd.policy.suite.reviews import build_review
from policyd.versions import NEWEST
from tests.builders.objects import pod
from tests.builders.policies import demand, policy
from tests.export import expressions
from tests.export.comparing import answer, compare
from tests.export.template_requests import controller, in_controllers
from tests.sampling import examples

_ENVIRONMENT = Environment.kubernetes()


def value(text: str, obj: JSON, old: JSON, params: JSON) -> object:
    """The value of an expression, or the words of its error without the name of a key."""
    names = {"object": obj, "oldObject": old, "params": params, "variables": {"whole": params}}
    return evaluated(text, names)


def evaluated(text: str, names: JSONObject) -> object:
    try:
        return _ENVIRONMENT.compile(text).evaluate({**names, "request": {"namespace": "shop"}})
    except EvaluationError as error:
        return f"error: {str(error).partition('no such key')[1]}"


def owner(template: JSONObject | None, place: PodTemplate) -> JSON:
    return controller(
        template, "CronJob" if place.suffix == "-cronjobs" else "Job", "batch", place.path
    )


def checks(text: str) -> bool:
    try:
        _ENVIRONMENT.check(text)
    except CelCompileError:
        return False
    return True


@settings(max_examples=examples(200))
@given(
    expressions.conditions(*expressions.ROOTS, "variables.whole"),
    expressions.templates,
    st.none() | expressions.templates,
    expressions.params,
    st.sampled_from(TEMPLATES),
)
def test_an_expression_means_for_a_controller_what_it_means_for_its_pod(
    text: str, new: JSONObject, old: JSONObject | None, params: JSONObject, place: PodTemplate
) -> None:
    assume(checks(text))
    obj, before = owner(new, place), owner(old, place)
    rewritten = with_pod(text, place, NEWEST)
    expected = value(text, pod_of(obj, "shop"), pod_of(before, "shop"), params)
    assert value(rewritten, obj, before, params) == expected, rewritten


@settings(max_examples=examples(200))
@given(
    expressions.conditions("params", *expressions.ROOTS), expressions.templates, expressions.params
)
def test_an_expression_means_the_same_without_params(
    text: str, obj: JSONObject, params: JSONObject
) -> None:
    assume(checks(text))
    inline = InlineParams.of(params, [], NEWEST)
    expected = value(text, obj, None, params)
    assert value(inline.without_variables(text), obj, None, "gone") == expected
    rewritten = inline.with_variable(text)
    names = {"object": obj, "oldObject": None, "params": "gone", "variables": {"params": params}}
    assert evaluated(rewritten, names) == expected


@pytest.mark.parametrize("labels", [({"a": "v"}, {}), ({}, {"a": "v"}), ({}, {}), ({"a": ""}, {})])
def test_a_selector_looks_at_the_new_and_the_old_pod(
    labels: tuple[dict[str, str], dict[str, str]],
) -> None:
    source = policy(
        match={"objectSelector": {"matchLabels": {"a": "v"}}},
        validations=[demand("false", "no")],
        podControllers=True,
    )
    new, old = (pod(labels=each) for each in labels)
    request = build_review(new, old_object=old)["request"]
    every = [request, *in_controllers(request)]
    assert len(every) == 5
    compare([source], every)
    policies = compile_strict(load_built([source], version=NEWEST))
    denied = [not answer(policies, each)["allowed"] for each in every]
    assert denied == ["v" in (*labels[0].values(), *labels[1].values())] * 5
