"""Recorded rows of a real API server, a sample of them, asked again of the one that runs: once with the row's
policies in it, once with policyd called as a webhook. All that a user sees must be the same: code,
reason, message, warnings, the object; and in the audit log the annotations.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.errors import PolicyError
from tests.conformance.apiserver_rows import VERSIONS, policy_set, recorded
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.differential.comparing import difference
from tests.e2e.differential.rows import (
    ACCEPTED,
    DIFFERENT,
    FILES,
    REFUSED,
    Row,
    asked_together,
    by_label,
    defined,
    first_failure_only,
    left_to_chance,
    recorded_in,
    unasked,
)
from tests.e2e.differential.sides import both_sides
from tests.sampling import sampled


@pytest.fixture(name="rows", scope="module")
def _rows(api: Cluster) -> dict[str, list[Row]]:
    return {name: recorded(name, api.version) for name in FILES}


@pytest.fixture(name="client", scope="module")
def _client(api: Cluster) -> Iterator[Client]:
    client = Client(api)
    yield client
    client.close()


@pytest.fixture(name="world", scope="module")
def _world(client: Client, rows: dict[str, list[Row]], watching: None) -> Iterator[None]:
    with defined(client, rows), recorded_in(client, rows):
        yield


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("name", FILES)
def test_both_sides_answer_alike(
    api: Cluster, client: Client, rows: dict[str, list[Row]], tmp_path: Path, name: str
) -> None:
    asked = sampled(row for row in rows[name] if not unasked(row))
    # What a policy without a resource of its own kind matches is nobody's: it is asked alone.
    alone = [row for row in asked if name != "vap-match" and not by_label(row)]
    together = [row for row in asked if row not in alone]
    found = compared(api, client, together, tmp_path / "together")
    for index, row in enumerate(alone):
        found |= compared(api, client, [row], tmp_path / str(index))
    left_out = Counter(why for row in rows[name] if (why := unasked(row)))
    print(
        f"{name}: {len(asked)} asked, {len(asked) - len(found)} alike, {dict(left_out)} not asked"
    )
    known = {row["id"] for row in asked} & DIFFERENT.keys()
    assert {row: text for row, text in found.items() if row not in known} == {}
    assert found.keys() == known, "rows that are alike now"


def compared(api: Cluster, client: Client, rows: list[Row], folder: Path) -> dict[str, str]:
    """In what the answers to rows differ."""
    questions, documents = asked_together([(row, row["policies"]) for row in rows])
    seen = both_sides(api, client, questions, folder, tree=documents, hook=documents)
    if api.version == VERSIONS[0]:
        for _, hook in seen.values():
            first_failure_only(hook["annotations"])
    by_id = {row["id"]: row for row in rows}
    return {
        row: text
        for row, (tree, hook) in seen.items()
        if (text := difference(tree, hook)) and not left_to_chance(by_id[row], hook)
    }


@pytest.mark.usefixtures("world")
def test_both_sides_accept_the_same_policies(client: Client, rows: dict[str, list[Row]]) -> None:
    wrong, counted = [], Counter[str]()
    for row in (row for each in rows.values() for row in each):
        why = unasked(row)
        if why in (REFUSED, ACCEPTED):
            counted[why] += 1
            answers = [client.create(each, dryRun="All") for each in row["policies"]]
            tree = all(each.status == 201 for each in answers)
            if (tree, taken(row)) != (why == ACCEPTED,) * 2:
                wrong.append((row["id"], [each.message for each in answers if each.status != 201]))
    print(dict(counted))
    assert wrong == []


def taken(row: Row) -> bool:
    """Whether policyd loads the policies of a row."""
    try:
        policy_set(row)
    except PolicyError:
        return False
    return True
