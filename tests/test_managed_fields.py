"""Who wrote a field, as managedFields records it."""

import pytest

from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField, changed_by, field_path, item, owners, shown

HOOK = (*field_path("webhooks"), item("a.policyd.dev"))
RULES = (*HOOK, *field_path("rules"))
TIMEOUT = (*HOOK, *field_path("timeoutSeconds"))


def entry(manager: str, time: str, *paths: ManagedField, **more: str) -> JSONObject:
    fields: JSONObject = {}
    for path in paths:
        at = fields
        for each in path:
            at = at.setdefault(each, {})
    return {"manager": manager, "time": f"2027-01-01T00:00:{time}Z", "fieldsV1": fields, **more}


def of(*entries: JSONObject) -> JSONObject:
    return {"metadata": {"name": "policyd", "managedFields": list(entries)}}


OURS = entry("policyd", "09", RULES)
CASES = {
    "nobody is known": (of(OURS), ""),
    "there is no record": ({}, ""),
    "who owns the field": (of(OURS, entry("gke", "01", TIMEOUT), entry("x", "02", HOOK)), "gke"),
    "who owns something in it": (of(OURS, entry("gke", "01", (*TIMEOUT, "f:x"))), "gke"),
    "all who own it": (of(entry("b", "01", TIMEOUT), entry("a", "02", TIMEOUT)), "a and b"),
    "who wrote last, if nobody owns it": (of(entry("a", "01", RULES), entry("b", "02", HOOK)), "b"),
    "a status is no change": (of(OURS, entry("kcm", "09", TIMEOUT, subresource="status")), ""),
    "fields of no form": (of({"manager": "x", "fieldsV1": {"f:webhooks": None}}), "x"),
}


@pytest.mark.parametrize(("found", "manager"), CASES.values(), ids=CASES.keys())
def test_who_changed_a_field(found: JSONObject, manager: str) -> None:
    assert changed_by(found, [TIMEOUT]) == manager


def test_owners_and_what_paths_look_like() -> None:
    found = of(OURS, entry("gke", "01", RULES, TIMEOUT))
    assert owners(found, RULES) == {"policyd", "gke"}
    assert owners(found, TIMEOUT) == {"gke"}
    assert owners({}, TIMEOUT) == set()
    assert shown(TIMEOUT) == "webhooks[a.policyd.dev].timeoutSeconds"
    assert shown(field_path("metadata", "labels", "a.b/c")) == "metadata.labels.a.b/c"
