"""Expressions about a Pod mean the same about the template that it comes from."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.errors import CelCompileError, EvaluationError
from policyd.export.controllers import TEMPLATES, PodTemplate, with_pod
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.controllers import pod_of
from policyd.versions import NEWEST
from tests.export import expressions
from tests.export.template_requests import controller
from tests.sampling import examples

_ENVIRONMENT = Environment.kubernetes()


def value(text: str, obj: JSON, old: JSON, params: JSON) -> object:
    """The value of an expression, or the words of its error without the name of a key."""
    names = {"object": obj, "oldObject": old, "params": params, "variables": {"whole": params}}
    try:
        return _ENVIRONMENT.compile(text).evaluate({**names, "request": {"namespace": "shop"}})
    except EvaluationError as error:
        return f"error: {str(error).partition('no such key')[1]}"


def owner(template: JSONObject | None, place: PodTemplate) -> JSON:
    return controller(
        template, "CronJob" if place.suffix == "-cronjobs" else "Job", "batch", place.path
    )


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
    try:
        _ENVIRONMENT.check(text)
    except CelCompileError:
        assume(False)
    obj, before = owner(new, place), owner(old, place)
    rewritten = with_pod(text, place, NEWEST)
    expected = value(text, pod_of(obj, "shop"), pod_of(before, "shop"), params)
    assert value(rewritten, obj, before, params) == expected, rewritten
