"""Expressions mean the same after they are rewritten: those about a Pod for the template that it comes
from, and those with inline params. The author's source stays as far as it can.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.errors import CelCompileError, EvaluationError
from policyd.export.controllers import TEMPLATES, PodTemplate, with_pod
from policyd.export.expressions.occurrences import Untranslatable
from policyd.export.expressions.rewriting import InlineParams, free_name
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
    inline = InlineParams(params, "params", NEWEST)
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


TEMPLATE, CRON_JOB = TEMPLATES
OLD = "(oldObject == null ? oldObject : oldObject.spec.template)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.spec.hostNetwork", "object.spec.template.spec.hostNetwork"),
        ("object.?spec.?a", "object.spec.template.?spec.?a"),
        ("has(object.spec)", "has(object.spec.template.spec)"),
        ("has(oldObject.spec)", f"has({OLD}.spec)"),
        ("oldObject.?spec", "oldObject.?spec.?template.?spec"),
        ("oldObject[?'spec']", f"{OLD}[?'spec']"),
        ("oldObject.spec", "oldObject.spec.template.spec"),
        ("object == null || null != oldObject", "object == null || null != oldObject"),
        ("object.metadata.labels.a", "object.spec.template.?metadata.orValue({}).labels.a"),
        ("object.?metadata.?labels", "object.spec.template.?metadata.?labels"),
        ("object.kind", "dyn({'kind': 'Pod'}).kind"),
        (
            "object.metadata.namespace",
            "dyn({'metadata': {'namespace': dyn(request.namespace)}}).metadata.namespace",
        ),
        (
            "(object != null ? object : oldObject).spec",
            "(object != null ? object.spec.template : oldObject.spec.template).spec",
        ),
        ("[1].exists(object, object > 0)", "[1].exists(object, object > 0)"),
        ("request.object", "request.object"),
    ],
)
def test_the_pod_is_read_in_its_template(text: str, expected: str) -> None:
    assert with_pod(text, TEMPLATE, NEWEST) == expected


def test_a_cron_job_has_it_in_its_job() -> None:
    expected = "object.spec.jobTemplate.spec.template.spec.a"
    assert with_pod("object.spec.a", CRON_JOB, NEWEST) == expected


def test_a_macro_that_hides_request_is_refused() -> None:
    with pytest.raises(Untranslatable, match="the name request"):
        with_pod("[1].exists(request, object.metadata.namespace == 'a')", TEMPLATE, NEWEST)
    assert with_pod("[1].exists(request, object.spec.a == 1)", TEMPLATE, NEWEST)


PARAMS = InlineParams({"a": {"b": [1]}, "x": "y"}, "params", NEWEST)
WHOLE = "dyn({'a': dyn({'b': [1]}), 'x': dyn('y')})"


@pytest.mark.parametrize(
    ("text", "with_variable", "without"),
    [
        ("params.x == 'y'", "variables.params.x == 'y'", "dyn('y') == 'y'"),
        (
            "params.a.b.exists(c, c == params.x)",
            "variables.params.a.b.exists(c, c == variables.params.x)",
            "dyn([1]).exists(c, c == dyn('y'))",
        ),
        ("has(params.a.b)", "has(variables.params.a.b)", "has(dyn({'b': [1]}).b)"),
        ("params.gone", "variables.params.gone", f"{WHOLE}.gone"),
        ("params.?a.?b", "variables.params.?a.?b", f"{WHOLE}.?a.?b"),
        ("'a' in params", "'a' in variables.params", f"'a' in {WHOLE}"),
        ("params  .a // params\n.b", "variables.params  .a // params\n.b", "dyn({'b': [1]}) // params\n.b"),
        ("(true ? params : object).a", "(true ? variables.params : object).a", f"(true ? {WHOLE} : object).a"),
        ("'params' == \"params\"", "'params' == \"params\"", "'params' == \"params\""),
        ("object.params", "object.params", "object.params"),
        ("[1].map(params, params + 1)", "[1].map(params, params + 1)", "[1].map(params, params + 1)"),
        ("params.a.map(params, params)", "variables.params.a.map(params, params)", "dyn({'b': [1]}).map(params, params)"),
        ("[1].map(variables, params.x)", "[1].map(variables, dyn('y'))", "[1].map(variables, dyn('y'))"),
        ("params.?x.optMap(v, v)", "variables.params.?x.optMap(v, v)", f"{WHOLE}.?x.optMap(v, v)"),
    ],
)  # fmt: skip
def test_params_are_replaced(text: str, with_variable: str, without: str) -> None:
    assert PARAMS.with_variable(text) == with_variable
    assert PARAMS.without_variables(text) == without


def test_the_variable_gets_a_free_name() -> None:
    params = InlineParams({"a": 1}, free_name("params", ["params", "params2"]), NEWEST)
    assert params.definition == {"name": "params3", "expression": "dyn({'a': 1})"}
    assert params.with_variable("params.a + variables.params") == (
        "variables.params3.a + variables.params"
    )
    assert free_name("a", ["b"]) == "a"


def test_a_leading_dot_is_refused() -> None:
    with pytest.raises(Untranslatable, match=r"\.params has a leading dot"):
        PARAMS.with_variable(".params.a")
