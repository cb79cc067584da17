"""Which name a request has for rollouts, exceptions, logs and Events: never one that the client
chooses for an object that exists.
"""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.admission.metadata import generated_from, name_so_far, object_name
from policyd.admission.review import AdmissionRequest
from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.policy.compile.rollouts import number_of
from tests.builders.objects import config_map
from tests.builders.policies import (
    demand,
    labelling,
    policy,
    policy_exception,
    rule,
)
from tests.builders.reviews import request
from tests.policy_sets import ask, load

PREFIX = "legacy-"
MADE = "legacy-x7k2p"


class Row(NamedTuple):
    """A request, and its names: known, of a generateName, for exceptions."""

    about: str
    fields: dict[str, Any]
    metadata: JSONObject
    known: str = ""
    prefix: str = ""
    so_far: str | None = None  # as known


ROWS = [
    Row("named", {"name": "a"}, {"name": "a"}, "a"),
    Row("at mutating webhooks", {}, {"generateName": PREFIX}, "", PREFIX, "legacy-/////"),
    Row("at validating webhooks", {"name": MADE}, {"name": MADE, "generateName": PREFIX}, MADE,
        PREFIX),
    Row("named by another webhook", {}, {"name": "a", "generateName": PREFIX}, "a"),
    Row("both given", {"name": "a"}, {"name": "a", "generateName": PREFIX}, "a"),
    Row("cut", {}, {"generateName": "a" * 60}, "", "a" * 60, "a" * 58 + "/////"),
    Row("neither", {}, {}),
    Row("no strings", {}, {"name": 1, "generateName": ["a"]}),
    Row("update", {"operation": "UPDATE", "name": MADE}, {"name": MADE, "generateName": PREFIX},
        MADE),
    Row("update without a name", {"operation": "UPDATE"}, {"generateName": PREFIX}),
    Row("eviction", {"subResource": "eviction", "name": MADE}, {"name": "a", "generateName": PREFIX},
        MADE),
    Row("subresource without a name", {"subResource": "eviction"}, {"generateName": PREFIX}),
    Row("connect", {"operation": "CONNECT", "subResource": "exec", "name": MADE}, {}, MADE),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.about)
def test_the_name_of_a_request(row: Row) -> None:
    asked = AdmissionRequest(
        {"uid": "u", **request(object={"metadata": row.metadata}), "name": "", **row.fields}
    )
    want = (row.known, row.prefix, row.known if row.so_far is None else row.so_far)
    assert (object_name(asked), generated_from(asked), name_so_far(asked)) == want


def test_a_deletecollection_names_the_object_only_by_the_old_object() -> None:
    old = {"metadata": {"name": MADE, "generateName": "other-"}}
    deleted = {**request(object=None), "operation": "DELETE", "oldObject": old, "name": ""}
    asked = AdmissionRequest({"uid": "u", **deleted})
    assert (object_name(asked), generated_from(asked), name_so_far(asked)) == (MADE, "", MADE)


# Rollouts

EVERYTHING = rule("*", group="*", version="*", operations=["*"])
HALF = load(
    policy(
        "p", EVERYTHING, validations=[demand("false", "no")], rollout={"enforce": {"percent": 50}}
    )
)
_written = st.text("abx0-", max_size=3)


def _role(**metadata: Any) -> JSONObject:
    made: JSONObject = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**made, "metadata": {"name": "edit", **metadata}}


def _number(name: str) -> int:
    return number_of("p", "", "ClusterRole", name)


def _denied(policies: PolicySet, obj: JSONObject, **fields: Any) -> bool:
    return not ask(policies, obj, **fields)["allowed"]


@given(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("generateName", "namespace", "uid", "selfLink"), _written),
            "labels": st.dictionaries(_written, _written, max_size=1),
            "ownerReferences": st.just([{"kind": "A", "name": "b", "controller": True}]),
        },
    ),
    st.sampled_from(("CREATE", "UPDATE", "DELETE")),
)
def test_nothing_else_in_an_object_with_a_name_chooses_its_stage(
    metadata: JSONObject, operation: str
) -> None:
    for name in ("edit", "a", "view"):
        role = _role(**{**metadata, "name": name})
        fields: dict[str, Any] = {"operation": operation, "name": name, "namespace": ""}
        if operation != "CREATE":
            fields["oldObject"] = _role(name=name) if operation == "UPDATE" else role
        if operation == "DELETE":
            fields["object"] = None
        want = _number(name) < 50
        assert _denied(HALF, role, **fields) is want


def test_a_generate_name_outside_of_the_percentage_changes_nothing() -> None:
    strict = load(
        policy(
            "p",
            EVERYTHING,
            validations=[demand("false", "no")],
            rollout={"enforce": {"percent": 99}},
        )
    )
    outside = (f"x{i}-" for i in range(9999) if _number(f"x{i}-") == 99)
    named = _role(generateName=next(outside))
    assert _number("edit") < 99
    assert _denied(strict, named, operation="UPDATE", oldObject=_role())
    assert _denied(strict, named)


# Exceptions

NO = demand("false", "no")
MAPS = rule("configmaps", operations=["*"])
_EXEMPT = {"legacy": False, "legacy-": False, "legacy-*": True, "legacy-?????": True, "legacy-??????": False,
           "legacy-x*": False, "*": True}  # fmt: skip


@pytest.mark.parametrize(("pattern", "exempt"), _EXEMPT.items())
def test_a_name_to_be_made_is_exempt_if_every_one_would_be(pattern: str, exempt: bool) -> None:
    both = policy("p", MAPS, validations=[NO], mutations=[labelling("a", "'b'")])
    made = config_map("x")
    made["metadata"] = {"namespace": "shop", "generateName": PREFIX}
    own = {**both, "spec": {**both["spec"], "exceptions": [{"name": "e", "names": [pattern]}]}}
    for policies in (
        load(own),
        load(both, policy_exception("e", "p", resources=[{"names": [pattern]}])),
    ):
        assert ("patch" in ask(policies, made, webhook="mutate")) is not exempt


def test_a_deletecollection_is_exempt_by_the_name_of_the_object() -> None:
    exempting = load(
        policy("p", MAPS, validations=[NO], exceptions=[{"name": "e", "names": ["a"]}])
    )
    fields: dict[str, Any] = {"operation": "DELETE", "name": "", "object": None}
    for name, generate_name, denied in (("a", "b", False), ("b", "a", True)):
        old = config_map(name)
        old["metadata"]["generateName"] = generate_name
        assert _denied(exempting, old, **fields, oldObject=old) is denied
