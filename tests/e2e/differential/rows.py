"""The rows of a real API server as questions to the one that runs, and what they were recorded in. No
tests here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.conformance.apiserver_rows import definitions
from tests.e2e.builders import limiting
from tests.e2e.client import Client
from tests.e2e.differential.asking import MARK, Question, bare, is_binding, marked, marks, question
from tests.e2e.differential.comparing import by_chance
from tests.e2e.differential.sides import discovered
from tests.server.process import until
from tests.shared import CONFORMANCE, find

Row = dict[str, Any]
FILES = ("vap-cel", "map", "vap-match")

CONVERSION = "only the API server can convert a native kind to the version that the rule names"
# Rows that policyd answers otherwise on purpose, or has to.
DIFFERENT = {
    "map-ac-042": "the API server wraps the number to 32 bits; policyd refuses it",
    "map-ac-146": "the message quotes a memory address",
    "map-multi-012": "the API server fills in defaults between mutations, a webhook cannot",
    "map-equiv-003": CONVERSION,
    "match-equiv-023.hpa2": CONVERSION,
}
# Rows without a request to send, and what is asked of them instead.
REFUSED = "the API server refuses the policy"
ACCEPTED = "the row is about the policy being accepted"
NEVER_SENT = "webhooks are never called for such a request"
PANICS = "the API server panics and closes the connection"


def unasked(row: Row) -> str:
    """Why no request is sent for a row; "" if one is."""
    expect = row["expect"] or {}
    if expect.get("policyError"):
        return REFUSED
    if expect.get("reason") == "Panic":
        return PANICS
    if row["review"] is None and not row.get("reviews"):
        return ACCEPTED if "code" not in expect else NEVER_SENT
    return ""


@contextmanager
def defined(client: Client, rows: Mapping[str, Sequence[Row]]) -> Iterator[None]:
    """The kinds that rows have objects of."""
    named = {name for each in rows.values() for row in each for name in row.get("crds") or ()}
    crds = definitions(sorted(named))
    for each in crds:
        made_when_served(client, each, (201,))  # one of a test before may still be going
    yield
    for each in crds:
        client.deleted(each)


@contextmanager
def recorded_in(client: Client, rows: Mapping[str, Sequence[Row]]) -> Iterator[None]:
    """What the rows were recorded in, besides the definitions: rights, namespaces, params."""
    everything = [row for each in rows.values() for row in each]
    rbac = list(yaml.safe_load_all(find(CONFORMANCE, "apiserver/rbac.yaml").read_text()))
    spaces = {
        each["metadata"]["name"]: bare(each)
        for row in everything
        for each in row.get("namespaces", ())
        if each["metadata"]["name"] != "default"
    }
    for each in (*rbac, *spaces.values()):
        made_when_served(client, each)
    for row in everything:
        for each in row.get("params", ()):
            made_when_served(client, bare(each))
    limit = {"apiVersion": "golden.example.com/v1", "kind": "Limit"}
    secret = {**config_map("asked", "default"), "kind": "Secret", "data": {}}
    discovered(client, limiting(limit, name="none"), secret)
    yield
    for each in rbac:
        client.deleted(each)


def made_when_served(
    client: Client, thing: JSONObject, wanted: tuple[int, ...] = (201, 409)
) -> None:
    """Create an object as soon as its kind is served. Rows share params: one that is there already
    is as good.
    """
    until(lambda: client.create(thing).status in wanted, f"the kind {thing['kind']} served")


def asking(row: Row) -> Question:
    review = row["review"] or row["reviews"][0]
    policies = (each["metadata"]["name"] for each in row["policies"] if not is_binding(each))
    return question(row["id"], review, policies)


def by_label(row: Row) -> bool:
    """Whether the bindings of a row select objects by its own label."""
    return all(
        MARK in selector.get("matchLabels", {})
        for each in row["policies"]
        if is_binding(each)
        for selector in [(each["spec"].get("matchResources") or {}).get("objectSelector") or {}]
    )


def first_failure_only(annotations: dict[str, Any]) -> None:
    """Leave out the failures that 1.36 does not keep."""
    if "validation_failure" in annotations:
        del annotations["validation_failure"][1:]


def asked_together(
    rows: Iterable[tuple[Row, Sequence[JSONObject]]],
) -> tuple[list[Question], list[JSONObject]]:
    """The questions of rows, each with policies for it, and all these policies as they can be in force
    at the same time.
    """
    given = [(row, asking(row), policies) for row, policies in rows]
    held = {
        name
        for row, each, _ in given
        if each.before is not None or not by_label(row)
        for name in each.policies
    }
    documents: dict[tuple[str, str], JSONObject] = {}
    for _, _, policies in given:
        for each in policies:
            name = each["metadata"]["name"]
            made = marked(each) if name in held and not is_binding(each) else each
            assert documents.setdefault((each["kind"], name), made) == made
    questions = [
        replace(each, headers=(*each.headers, *marks(each.policies)))
        if held.intersection(each.policies)
        else each
        for _, each, _ in given
    ]
    return questions, list(documents.values())


def left_to_chance(row: Row, hook: Mapping[str, Any]) -> bool:
    outcomes = row.get("expectAny", ())
    return bool(outcomes) and by_chance(outcomes, row["review"]["object"], dict(hook))
