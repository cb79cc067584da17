"""Reviews that an API server can send and policyd cannot evaluate: failurePolicy answers them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd import PolicySet
from policyd.admission.partial import MAX_DECODED_BYTES
from policyd.admission.review import decode
from tests.admission.samples import about_everything, widget_review, written
from tests.builders.policies import EVERYTHING
from tests.sampling import examples

CANNOT = "the review cannot be evaluated: "


HALF, DEEP, HUGE = b'{"a":"\\ud800"}', b"[" * 1200 + b"]" * 1200, b'{"a":1e400}'
MANY = b"[" + b"[]," * (MAX_DECODED_BYTES // 100) + b"1]"
UNREADABLE: list[tuple[str, bytes, str]] = [
    ("high half of a pair", HALF, r"half of a surrogate pair, \ud800, at byte "),
    ("low half of a pair", b'{"a":"\\uDC00x"}', r"half of a surrogate pair, \uDC00, at byte "),
    ("two high halves", b'{"\\ud83d\\ud83d":1}', "half of a surrogate pair"),
    ("not UTF-8", b'{"a":"\xff"}', "a string is not UTF-8 at byte "),
    ("half of a pair as octets", b'{"a":"\xed\xa0\x80"}', "a string is not UTF-8 at byte "),
    ("1,200 levels", DEEP, "it is nested deeper than 1000 levels"),
    ("1,010 levels", b"[" * 1010 + b"]" * 1010, "it is nested deeper than 1000 levels"),
    ("100,000 levels", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "deeper than 1000 levels"),
    ("1e400", HUGE, "it holds a number that is too large for a double"),
    ("400 digits", b'{"a":' + b"9" * 400 + b"}", "a number that is too large for a double"),
    ("5,000 digits", b'{"a":-' + b"9" * 5000 + b"}", "a number that is too large for a double"),
    ("many values", MANY, "its values would take more than 128 MiB of memory"),
]
ROWS = pytest.mark.parametrize(
    ("value", "reason"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)


@ROWS
@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_a_policy_with_fail_that_matches_denies(
    tmp_path: Path, value: bytes, reason: str, webhook: Any
) -> None:
    change = {"patchType": "Overlay", "overlay": {"metadata": {"annotations": {"a": "b"}}}}
    both = written(tmp_path, about_everything(mutations=[change]))
    found = both.review(widget_review(value), webhook)["response"]
    assert isinstance(found, dict) and isinstance(found["status"], dict)
    assert (found["uid"], found["allowed"], "patch" in found) == ("u-1", False, False)
    message = found["status"]["message"]
    assert isinstance(message, str)
    assert message.startswith(f"policy 'p' denied request: {CANNOT}") and reason in message


def allowed(set_of: PolicySet, sent: bytes | dict[str, Any], webhook: Any = "validate") -> bool:
    found = set_of.review(sent, webhook)["response"]
    assert isinstance(found, dict)
    return bool(found["allowed"])


@ROWS
def test_ignore_skips_the_policy(tmp_path: Path, value: bytes, reason: str) -> None:
    ignored = about_everything(failurePolicy="Ignore", validations=[{"expression": "false"}])
    assert allowed(written(tmp_path, ignored), widget_review(value)), reason


@ROWS
def test_a_review_that_no_policy_matches_is_allowed(
    tmp_path: Path, value: bytes, reason: str
) -> None:
    pods = {"resourceRules": [{**EVERYTHING, "resources": ["pods"]}]}
    assert allowed(written(tmp_path, about_everything(match=pods)), widget_review(value)), reason


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("request.name == 'x'", True),
        ("request.name == 'y'", False),
        ("request.userInfo.username == 'ann' && request.options.kind == 'CreateOptions'", True),
        ("has(object.spec)", True),  # an error
        ("object.metadata.name == 'y'", True),
        ("object == null", True),
        ("oldObject == null", True),
        ("oldObject != null", False),
        ("object.spec.a == 1 && request.name == 'y'", False),
    ],
)
@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_match_conditions_that_need_the_object_are_errors(
    tmp_path: Path, condition: str, held: bool, webhook: Any
) -> None:
    change = {"patchType": "Overlay", "overlay": {"metadata": {"annotations": {"a": "b"}}}}
    conditions = [{"name": "c", "expression": condition}]
    both = written(tmp_path, about_everything(matchConditions=conditions, mutations=[change]))
    assert allowed(both, widget_review(HALF), webhook) is not held


LABELS: list[tuple[str, bytes, bool]] = [
    ("that are readable and fit", b'{"metadata":{"labels":{"team":"a"}},"spec":"\\ud800"}', True),
    ("that are readable and differ", b'{"spec":"\\ud800","metadata":{"labels":{"x":"y"}}}', False),
    ("of which there are none", b'{"spec":"\\ud800","metadata":{}}', False),
    ("the last of two", b'{"metadata":{},"s":"\\ud800","metadata":{"labels":{"team":"a"}}}', True),
    ("with an escaped key", b'{"m\\u0065tadata":{"labels":{"team":"a"}},"s":"\\udfff"}', True),
    ("with half a pair", b'{"metadata":{"labels":{"team":"a","b":"\\ud800"}}}', True),
    ("with half a pair, that differ", b'{"metadata":{"labels":{"b":"\\ud800"}}}', False),
    ("not to be read", b'{"metadata":{"labels":{"a":' + DEEP + b"}}}", True),
]


@pytest.mark.parametrize(
    ("obj", "matched"), [row[1:] for row in LABELS], ids=[row[0] for row in LABELS]
)
def test_object_selector_sees_labels(tmp_path: Path, obj: bytes, matched: bool) -> None:
    selecting = about_everything(match={"objectSelector": {"matchLabels": {"team": "a"}}})
    sent = widget_review(b"", {"mark": 2}).replace(
        b'{"apiVersion":"example.com/v1","kind":"Widget","mark":2}', obj
    )
    assert allowed(written(tmp_path, selecting), sent) is not matched


def test_labels_of_a_namespace_are_read(tmp_path: Path) -> None:
    group = {"group": "", "version": "v1"}
    made = {"kind": {**group, "kind": "Namespace"}, "resource": {**group, "resource": "namespaces"}}
    select = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    one = written(tmp_path, about_everything(match=select))
    named = {"name": "shop", "labels": {"team": "a"}}
    other = {"name": "shop", "labels": {"mark": 1}}
    assert not allowed(one, widget_review(HALF, {"metadata": named, "spec": {"mark": 1}}, **made))
    assert allowed(
        one, widget_review(HALF, {"metadata": {"labels": {}}, "spec": {"mark": 1}}, **made)
    )
    assert not allowed(one, widget_review(DEEP, {"metadata": other}, **made))  # they cannot be read


def test_a_policy_for_pods_matches_the_template_of_a_controller(tmp_path: Path) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
    match = {"resourceRules": rules, "objectSelector": {"matchLabels": {"team": "a"}}}
    one = written(tmp_path, about_everything(match=match, podControllers=True))
    sent = {
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    }
    for team, matched in (("a", True), ("b", False)):
        template = {"metadata": {"labels": {"team": team}}, "spec": {"mark": 1}}
        obj = {"kind": "Deployment", "spec": {"template": template}}
        assert allowed(one, widget_review(HALF, obj, **sent)) is not matched


def test_actions_and_exceptions_are_those_of_evaluation_errors(tmp_path: Path) -> None:
    warns = about_everything("warns", validationActions=["Warn"])
    except_team_a = {"matchLabels": {"team": "a"}}
    exempt = about_everything("exempt", exceptions=[{"name": "e", "objectSelector": except_team_a}])
    found = written(tmp_path, warns, exempt).review(widget_review(HALF))["response"]
    assert isinstance(found, dict) and found["allowed"] is True
    (warning,) = found["warnings"]
    assert str(warning).startswith(f"Validation failed for policy 'warns': {CANNOT}")
    unknown = widget_review(DEEP, {"metadata": {"labels": {"mark": 1}}})
    assert not allowed(written(tmp_path, exempt), unknown)


def test_a_kubernetes_policy_denies_in_its_words(tmp_path: Path) -> None:
    name = "ValidatingAdmissionPolicy"
    api = {"apiVersion": "admissionregistration.k8s.io/v1"}
    own = {**about_everything(), **api, "kind": name}
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    binding = {**api, "kind": f"{name}Binding", "metadata": {"name": "b"}, "spec": bound}
    found = written(tmp_path, own, binding).review(widget_review(HALF))["response"]
    assert isinstance(found, dict) and isinstance(found["status"], dict)
    start = f"{name} 'p' with binding 'b' denied request: {CANNOT}"
    assert str(found["status"]["message"]).startswith(start)
    assert (found["status"]["code"], found["status"]["reason"]) == (422, "Invalid")


@pytest.mark.parametrize("value", ["\ud800", 10**400, float("1e308"), {"\udc00": 1}], ids=repr)
def test_a_decoded_review_has_the_same_answer(tmp_path: Path, value: Any) -> None:
    sent = json.loads(widget_review(b'{"mark":2}'))
    sent["request"]["object"]["spec"] = {"a": [value]}
    readable = isinstance(value, float)
    assert allowed(written(tmp_path, about_everything()), sent) is readable
    assert bool(decode(sent).unreadable) is not readable


def test_two_objects_of_three_mebibytes_are_read(tmp_path: Path) -> None:
    """Of the shape of managedFields, the densest that occurs."""
    fields: dict[str, Any] = {f"f:{number:07}": {} for number in range(3 * 2**20 // 16)}
    obj = {"metadata": {"managedFields": fields}}
    sent = widget_review(
        b"1", obj, oldObject={"apiVersion": "example.com/v1", "kind": "Widget", **obj}
    )
    assert len(sent) > 5.5 * 2**20
    assert not decode(sent).unreadable


TEXTS = st.text(st.characters(codec="utf-8"), max_size=4)
# What Go's encoder passes on from raw JSON of users.
SCALARS = (
    st.sampled_from(["null", "true", "1", "-0", "1.5e3", "1e400", "9" * 30, "9" * 500, '"\\ud800"'])
    | TEXTS.map(json.dumps)
    | st.text(max_size=3).map(lambda text: json.dumps(text, ensure_ascii=True))
    | st.sampled_from([1, 5, 500, 1500, 3000]).map(lambda levels: "[" * levels + "]" * levels)
)


def joined(values: list[str], ends: str) -> str:
    return ends[0] + ",".join(values) + ends[1]


JSON_TEXT = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: joined(items, "[]"))
        | st.lists(st.tuples(TEXTS | st.just("a") | st.text(max_size=2), inner), max_size=4).map(
            lambda rows: joined([f"{json.dumps(key)}:{value}" for key, value in rows], "{}")
        )
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def failing_and_ignoring(tmp_path_factory: pytest.TempPathFactory) -> tuple[PolicySet, PolicySet]:
    """A policy that allows and has failurePolicy Fail, and one that denies and has Ignore."""
    ignoring = about_everything(failurePolicy="Ignore", validations=[{"expression": "false"}])
    fail, ignore = tmp_path_factory.mktemp("fail"), tmp_path_factory.mktemp("ignore")
    return written(fail, about_everything()), written(ignore, ignoring)


@settings(max_examples=examples(300), deadline=None)
@given(value=JSON_TEXT)
def test_whatever_a_user_writes_is_answered(
    failing_and_ignoring: tuple[PolicySet, PolicySet], value: str
) -> None:
    """Never a ReviewError; unreadable exactly if Python's reader and UTF-8 say so."""
    sent = widget_review(f'{{"a":{value}}}'.encode())
    request = decode(sent)
    readable = not request.unreadable
    if abs(levels(sent) - 1000) > 10:
        assert readable is is_readable(sent)
    failing, ignoring = failing_and_ignoring
    assert (allowed(failing, sent), allowed(ignoring, sent)) == (readable, not readable)
    assert (request.uid, request.name, request.namespace) == ("u-1", "x", "shop")
    assert request.object is not None and request.object["metadata"]["labels"] == {"team": "a"}


def is_readable(text: bytes) -> bool:
    def finite(number: str) -> float:
        found = float(number)
        if found in (float("inf"), float("-inf")):
            raise OverflowError
        return found

    if levels(text) > 1002:
        return False
    try:
        # As pairs, so that nothing hides behind a key that comes twice.
        tree = json.loads(text, parse_int=finite, parse_float=finite, object_pairs_hook=list)
        json.dumps(tree, ensure_ascii=False).encode()
    except (OverflowError, UnicodeEncodeError):
        return False
    return True


def levels(text: bytes) -> int:
    deepest = depth = 0
    in_string = escaped = False
    for byte in text:
        if in_string:
            in_string = escaped or byte != ord('"')
            escaped = byte == ord("\\") and not escaped
        else:
            in_string = byte == ord('"')
            depth += (byte in b"[{") - (byte in b"]}")
            deepest = max(deepest, depth)
    return deepest
