"""Exceptions as CEL apply to the requests to which they apply in policyd."""

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.match.selectors import Selector
from policyd._core.pattern.strings import Wildcard
from policyd.cel.env import Environment
from policyd.export.exceptions import exported_exceptions
from policyd.export.expressions.selectors import selector_expression, wildcard_expression
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.exemptions import ExemptionInput
from policyd.policy.kinds.generated_names import unfinished
from policyd.policy.model.base import LabelSelector
from policyd.policy.model.exceptions import Exception_
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST
from tests.builders.policies import demand, policy
from tests.export.comparing import part_of, reasons_of
from tests.export.random_policies import exceptions
from tests.export.random_requests import requests

_ENVIRONMENT = Environment.kubernetes()
_CHARACTERS = "ab*?.^$[](){}|\\-\n+'\""
NOW = datetime(2027, 3, 31, 12, tzinfo=UTC)


def holds(text: str, **names: object) -> object:
    return _ENVIRONMENT.compile(text).evaluate(names)


@given(
    st.lists(st.text(_CHARACTERS, max_size=6), min_size=1, max_size=3),
    st.text(_CHARACTERS, max_size=6),
)
def test_wildcards_match_the_same_names(patterns: list[str], name: str) -> None:
    expected = any(Wildcard(pattern).matches(name) for pattern in patterns)
    assert holds(wildcard_expression(patterns, "object.name"), object={"name": name}) is expected


_requirements = st.builds(
    lambda key, operator, values: {
        "key": key,
        "operator": operator,
        **({"values": values} if operator in ("In", "NotIn") else {}),
    },
    st.sampled_from(("a", "x.io/b")),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.lists(st.sampled_from(("v", "w", "")), min_size=1, max_size=2),
)
_labels = st.dictionaries(st.sampled_from(("a", "x.io/b")), st.sampled_from(("v", "")))


@given(
    st.fixed_dictionaries(
        {}, optional={"matchLabels": _labels, "matchExpressions": st.lists(_requirements)}
    ),
    st.none() | _labels,
)
def test_selectors_match_the_same_labels(
    selector: dict[str, object], labels: dict[str, str] | None
) -> None:
    metadata = {} if labels is None else {"labels": labels}
    text = selector_expression(LabelSelector.validated(selector), "object.?metadata.?labels")
    assert holds(text, object={"metadata": metadata}) is Selector(selector).matches(labels or {})


def test_an_expired_exception_is_dropped_and_one_that_will_expire_refused() -> None:
    over = Exception_.validated({"name": "a", "until": "2027-03-30"})
    today = Exception_.validated({"name": "b", "until": "2027-03-31"})
    found = exported_exceptions([over, today], NOW)
    assert [name for name, _ in found.whole] == ["b"]
    assert [(each.path, each.message) for each in found.reasons] == [
        (
            "spec.exceptions[1].until",
            "the exception b ends on 2027-03-31, and CEL has no clock",
        )
    ]


def test_conditions_have_names_that_are_valid_and_free() -> None:
    given_ = [Exception_.validated({"name": name}) for name in ("a", "b c", "a")]
    conditions = exported_exceptions(given_, NOW).conditions({"exception-a"})
    assert [each["name"] for each in conditions] == [
        "exception-a2",
        "exception-1",
        "exception-a3",
    ]
    assert conditions[0]["expression"] == "!(true)"


def test_an_exception_from_a_validation_hides_its_errors() -> None:
    lifting = exported_exceptions(
        [Exception_.validated({"name": "a", "names": ["web"], "validations": ["v"]})], NOW
    )
    text = lifting.lifted("v", "object.gone // gone")
    assert holds(text, request={"name": "web"}, object={}) is True
    assert lifting.lifted("w", "object.gone") == "object.gone"


@given(
    st.lists(st.text("ab-*?", max_size=8), min_size=1, max_size=3),
    st.sampled_from(({"name": "ab-aa"}, {})),
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(("ab-", "b")),
            "generateName": st.sampled_from(
                (
                    "",
                    "a",
                    "ab-",
                    "a" * 57,
                    "a" * 58,
                    "a" * 57 + "b-",
                    "é",
                    "a" * 57 + "é",
                    "aé" * 30,
                )
            ),
        },
    ),
)
def test_a_name_that_is_not_made_yet_matches_as_in_policyd(
    patterns: list[str], request_: JSONObject, metadata: JSONObject
) -> None:
    """Of an object that is deleted, ``metadata`` is that of the old one."""
    exception = Exception_.validated({"name": "a", "names": patterns})
    ((_, text),) = exported_exceptions([exception], NOW).whole
    name = request_.get("name") or metadata.get("name")
    name = name or unfinished(metadata.get("generateName", ""))
    expected = any(Wildcard(pattern).matches(name) for pattern in patterns)
    seen: JSONObject = {"metadata": metadata}
    assert holds(text, request=request_, object=seen, oldObject=None) is expected
    assert holds(text, request=request_, object=None, oldObject=seen) is expected


def test_params_that_are_looked_up_before_exceptions_are_refused() -> None:
    exempting: JSONObject = {"exceptions": [{"name": "a", "names": ["web"]}]}
    kind: JSONObject = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    ref = {"name": "x", "namespace": "shop", "parameterNotFoundAction": "Allow"}
    assert reasons_of(policy(**exempting, **kind, paramRef=ref)) == []
    for wrong in ({"parameterNotFoundAction": "Deny"}, {"namespace": None}):
        (reason,) = reasons_of(policy(**exempting, **kind, paramRef={**ref, **wrong}))
        assert reason.startswith("spec.exceptions: the API server denies a request without params")


@pytest.mark.parametrize("message", ["no", None])
def test_the_message_is_that_of_the_source(message: str | None) -> None:
    item = demand(" object.a // b", "no", name="v")
    item = {key: value for key, value in {**item, "message": message}.items() if value}
    part = part_of(policy(validations=[item], exceptions=[{"name": "e", "validations": ["v"]}]))
    (validation,) = part.documents[0]["spec"]["validations"]
    assert validation["expression"] == "(true) || ( object.a // b\n)"
    assert validation["message"] == (message or "failed expression: object.a // b")


def test_a_message_that_would_quote_several_lines_is_refused() -> None:
    several = policy(validations=[{"expression": "params.a ==\n 1"}], params={"a": 1})
    (reason,) = reasons_of(several)
    assert reason.startswith("spec.validations[0].message: without a message, a denial quotes")


@pytest.mark.parametrize("seed", range(40))
def test_exceptions_apply_to_the_same_requests(seed: int) -> None:
    random = Random(seed)
    given_ = exceptions(random, [{"name": "v"}])
    source = policy(validations=[demand("true", "no", name="v")], exceptions=given_)
    exemptions = compile_strict(load_built([source], version=NEWEST)).policies[0].exemptions
    asked = requests(random, 10)
    for request in (*asked, *({**each, "userInfo": {}} for each in asked)):
        labels = (request["object"] or request["oldObject"])["metadata"].get("labels") or {}
        seen = ExemptionInput(
            request["operation"], request["namespace"], request["name"], request["userInfo"], labels
        )
        names = {key: request[key] for key in ("object", "oldObject")}
        for exemption, exception in zip(exemptions, given_, strict=True):
            found = exported_exceptions([Exception_.validated(exception)], NOW)
            ((_, text),) = found.whole or found.lifting
            assert holds(text, **names, request=request) is exemption.applies(seen)
