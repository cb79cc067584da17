"""MutatingAdmissionPolicies as a real kube-apiserver applied them: the object that came of each
request, or the refusal, word for word. Fields that only the API server's defaulting adds are
compared no further than the rows say (``defaulted``).
"""

import base64
import copy
from typing import Any

import jsonpatch
import pytest

from policyd.api.policy_set import PolicySet
from policyd.errors import PolicyError
from tests.conformance.apiserver_rows import (
    VERSIONS,
    answered,
    checked,
    difference,
    expected,
    policy_set,
    review_of,
)

Row = dict[str, Any]

DEFAULTS = "the API server fills in defaults of what changed; a webhook leaves that to it"
BETWEEN = "the API server fills in defaults between mutations, a webhook cannot"
POINTER = "the message quotes a memory address"
WRAPPED = "the API server wraps the number to 32 bits; policyd refuses it"
QUANTITY = "the message quotes a quantity as it was written, which CEL's value has forgotten"
CONVERSION = "native kinds in another version need the API server; policyd's error says so"
MANAGED = "policies see managedFields, which the rows' reviews were recorded without"
PANIC = "1.36 panics at Object{} in lists and maps; 1.37 takes it, and so do we"
# Rows that cannot be asked of a webhook, or that policyd answers otherwise on purpose.
NOT_APPLICABLE: dict[str, str] = {
    "map-jp-118": DEFAULTS,
    "map-jp-152": DEFAULTS,
    "map-jp-176": DEFAULTS,
    "map-ac-050": DEFAULTS,
    "map-ac-094": DEFAULTS,
    "map-multi-012": BETWEEN,
    "map-ac-042": WRAPPED,
    "map-ac-064": QUANTITY,
    "map-ac-146": POINTER,
    "map-equiv-003": CONVERSION,
    "map-misc-006": MANAGED,
}

# Rows of one version only.
OF_VERSION = {"1.36": {"map-jp-246": PANIC, "map-jp-247": PANIC}}


def judge(row: Row) -> list[str]:
    """In what the answer differs from the row; [] where it is right."""
    refused = row["expect"].get("policyError")
    try:
        policies = policy_set(row)
    except PolicyError as error:
        return [] if refused else [f"does not load: {error}"]
    if refused:
        return ["was not refused"]
    if row["review"] is None:
        return []  # the row is only about the policy being accepted
    problems = [differences(policies, row["review"], each) for each in outcomes(row)]
    return [] if "" in problems else problems[:1]


def outcomes(row: Row) -> list[Row]:
    return row.get("expectAny") or [row["expect"]]


def differences(policies: PolicySet, request: Row, expect: Row) -> str:
    before = copy.deepcopy(request)
    response = policies.review(review_of(request), webhook="mutate")["response"]
    if request != before:
        return "the request was changed"
    if not expect["allowed"] and not expect["passedMutation"]:
        return difference(answered(response), expected(expect))
    if not response["allowed"]:
        return f"denied: {response['status']['message']}"
    operations = base64.b64decode(response["patch"]) if "patch" in response else b"[]"
    got = jsonpatch.apply_patch(request["object"], operations.decode())
    want = expect["patchedObject"] if expect["changed"] else request["object"]
    pointers = expect.get("defaulted") or []
    got, want = without(got, pointers), without(want, pointers)
    return "" if got == want else f"got {first_difference(got, want)}"


def without(obj: Row, pointers: list[str]) -> Row:
    """A copy without what the pointers name; later items of a list first."""
    result = copy.deepcopy(obj)
    for pointer in sorted(pointers, reverse=True):
        *path, last = (
            part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]
        )
        node: Any = result
        for step in path:
            if isinstance(node, list):
                node = node[int(step)] if int(step) < len(node) else {}
            else:
                node = node.get(step, {})
        if isinstance(node, dict):
            node.pop(last, None)
    return result


def first_difference(got: Any, want: Any, path: str = "") -> str:
    if isinstance(got, dict) and isinstance(want, dict):
        for key in {**got, **want}:
            if key not in got or key not in want or got[key] != want[key]:
                return first_difference(
                    got.get(key, "nothing"), want.get(key, "nothing"), f"{path}/{key}"
                )
    if isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        for index, (one, other) in enumerate(zip(got, want, strict=True)):
            if one != other:
                return first_difference(one, other, f"{path}/{index}")
    return f"{got!r} at {path}, want {want!r}"


@pytest.mark.parametrize("version", VERSIONS)
def test_rows(version: str) -> None:
    rows = checked("map", version)
    inapplicable = {**NOT_APPLICABLE, **OF_VERSION.get(version, {})}
    failures: dict[str, list[str]] = {}
    left_out = 0
    for row in rows:
        if row["id"] in inapplicable:
            left_out += 1
        elif found := judge(row):
            failures[row["id"]] = found
    tried = len(rows) - left_out
    print(f"map {version}: {tried - len(failures)} passed of {tried}, {left_out} do not apply")
    assert failures == {}
