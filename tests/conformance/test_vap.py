"""ValidatingAdmissionPolicies as a real kube-apiserver judged them: every denial, warning and
annotation.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from policyd.errors import PolicyError
from tests.conformance.apiserver_rows import (
    VERSIONS,
    answered,
    checked,
    difference,
    outcomes,
    policy_set,
    review_of,
)

Row = dict[str, Any]
NOT_SENT = "no webhook is called for such a request, so there is no review"
# Rows that cannot be asked of a webhook, or not yet, and why: id or its beginning -> reason.
NOT_APPLICABLE: dict[str, str] = {
    "match-never-002.policy": NOT_SENT,
    "match-never-002.binding": NOT_SENT,
    "match-never-002.webhook": NOT_SENT,
    "match-never-002.mapbinding": NOT_SENT,
    "match-equiv-023.hpa2": "only the API server can convert autoscaling/v2 to v1",
    "cel-num-": "the webhook's JSON says 1 where a ValidatingAdmissionPolicy has the double 1.0",
    "cel-has-016": "managedFields are taken out of the recorded objects",
}


def reason(row: Row) -> str | None:
    """Why a row does not apply, or None."""
    return next((why for start, why in NOT_APPLICABLE.items() if row["id"].startswith(start)), None)


def wrong(row: Row) -> Iterator[str]:
    """In what the answers to a row differ from all that is right."""
    policies = policy_set(row)
    for request in row.get("reviews") or [row["review"]]:
        got = answered(policies.review(review_of(request))["response"], row["version"])
        differences = [difference(got, want) for want in outcomes(row)]
        if all(differences):
            yield differences[0]


def judge(name: str, version: str) -> list[str]:
    """The failures of a file of rows; says how many passed."""
    rows = checked(name, version)
    failures: list[str] = []
    left_out = 0
    for row in rows:
        refused = (row["expect"] or {}).get("policyError")
        if reason(row):
            left_out += 1
            continue
        try:
            if refused:
                failures += unrefused(row)
            elif row["review"] is None and not row.get("reviews"):
                policy_set(row)  # the API server took it: no more was recorded
            else:
                failures += [f"{row['id']}: {text}" for text in wrong(row)]
        except PolicyError as error:
            failures.append(f"{row['id']}: does not load: {error}")
    tried = len(rows) - left_out
    print(f"{name} {version}: {tried - len(failures)} passed of {tried}, {left_out} do not apply")
    return failures


def unrefused(row: Row) -> list[str]:
    """A policy that the API server refuses is refused here too."""
    try:
        policy_set(row)
    except PolicyError:
        return []
    return [f"{row['id']}: was not refused"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["vap-match", "vap-cel"])
def test_rows(name: str, version: str) -> None:
    assert judge(name, version) == []
