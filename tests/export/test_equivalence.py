"""The export of a Policy answers every request as the Policy does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.source.loader import load_built
from policyd.policy.suite.reviews import build_review
from policyd.versions import NEWEST
from tests.builders.objects import pod
from tests.builders.policies import demand, policy
from tests.builders.reviews import admission_review
from tests.export import compared_policies
from tests.export.comparing import answer, compare
from tests.export.template_requests import in_controllers
from tests.sampling import examples


@settings(max_examples=examples(50, 10))
@given(compared_policies.policies(), st.lists(compared_policies.requests(), min_size=3, max_size=8))
def test_an_export_answers_as_its_source(source: JSONObject, requests: list[JSONObject]) -> None:
    compare([source], map(admission_review, requests))


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
    compare([source], map(admission_review, every))
    policies_ = compile_strict(load_built([source], version=NEWEST))
    denied = [not answer(policies_, admission_review(each)).allowed for each in every]
    assert denied == ["v" in (*labels[0].values(), *labels[1].values())] * 5
