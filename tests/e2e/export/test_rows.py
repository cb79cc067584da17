"""Recorded rows of a real API server, a sample of them: their policies, written as policyd's own kind where that can say
the same, exported to the API server that runs, which must answer the row's request as policyd answers
it with the sources.

Most exports have all fields of the row's own policy as they are, and that is asked in
``tests.e2e.differential.test_rows``: of these only every eighth is asked again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from policyd.policy.model.match import MatchResources
from tests.conformance.apiserver_rows import VERSIONS, definitions
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.differential.asking import is_binding
from tests.e2e.differential.comparing import difference
from tests.e2e.differential.rows import (
    DIFFERENT,
    FILES,
    Row,
    asked_together,
    by_label,
    first_failure_only,
    left_to_chance,
    recorded_in,
    unasked,
)
from tests.e2e.differential.sides import both_sides
from tests.e2e.export.as_policy import Sources
from tests.e2e.export.exporting import Exports, export
from tests.e2e.export.wording import plainly
from tests.sampling import sampled

# Rows that a Policy answers otherwise than a ValidatingAdmissionPolicy.
OF_POLICIES = {"cel-act-025": "the API server drops a warning of its own with a control character"}
SPARED = 8
ALONE = "its policies match what others are about"


@pytest.fixture(name="world", scope="module")
def _world(client: Client, rows: dict[str, list[Row]], watching: None) -> Iterator[None]:
    with recorded_in(client, rows):
        yield


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("name", FILES)
def test_exported_policies_answer_as_their_sources(
    api: Cluster, client: Client, rows: dict[str, list[Row]], tmp_path: Path, name: str
) -> None:
    counted, chosen = Counter[str](), list[tuple[Row, Sequence[JSONObject]]]()
    written = Sources(rows[name])
    for row in sampled(rows[name]):
        why = unasked(row) or ("" if name == "vap-match" or by_label(row) else ALONE)
        if why:
            counted[f"not asked: {why}"] += 1
            continue
        policies, why = written.of(row)
        counted[f"as they are: {why}" if why else "as Policy"] += 1
        chosen.append((row, policies))
    questions, documents = asked_together(chosen)
    crds = definitions(sorted({name for row, _ in chosen for name in row.get("crds") or ()}))
    exports = export([*documents, *crds], api.version)
    for reasons in exports.reasons.values():
        counted[f"not exported: {'; '.join(reasons)}"] += 1
    same = unchanged(documents, exports)
    asked = []
    for index, each in enumerate(questions):
        if exports.reasons.keys() & set(each.policies):
            continue
        if index % SPARED and same.issuperset(each.policies):
            counted["exported as the row has it"] += 1
        else:
            asked.append(each)
    needed = {name for each in asked for name in each.policies}
    seen = both_sides(
        api,
        client,
        asked,
        tmp_path / "served",
        tree=[each for each in exports.documents if exports.source(each) in needed],
        hook=[each for each in documents if policy_of(each) in needed],
        named=exports.named,
    )
    found = {}
    for row, _ in chosen:
        if row["id"] in seen:
            tree, hook = seen[row["id"]]
            if api.version == VERSIONS[0]:
                first_failure_only(hook["annotations"])
            text = difference(*(plainly(each, exports) for each in (tree, hook)))
            if text and not left_to_chance(row, hook):
                found[row["id"]] = text
    print(f"{name}: {len(seen)} asked, {len(seen) - len(found)} alike; {dict(counted)}")
    for each, text in found.items():
        print(f"{each}: {text}")
    assert found.keys() == seen.keys() & (DIFFERENT.keys() | OF_POLICIES.keys())


def unchanged(sources: Iterable[JSONObject], exports: Exports) -> set[str]:
    """The policies whose exports have all their fields as they are."""
    given: dict[str, JSONObject] = {}
    made: dict[str, JSONObject] = {}
    for each in sources:
        given.setdefault(policy_of(each), {}).update(each["spec"])
    for each in exports.documents:
        if exports.named.get(policy_of(each)) == policy_of(each):
            made.setdefault(policy_of(each), {}).update(each["spec"])
    return {name for name in given if name in made and plain(given[name]) == plain(made[name])}


def plain(spec: JSONObject) -> Mapping[str, object]:
    """A spec with defaults, and without what only a binding has."""
    return {
        "failurePolicy": "Fail",
        "validationActions": ["Deny"],
        **{key: value for key, value in spec.items() if key != "policyName"},
        "matchConstraints": MatchResources.validated(spec["matchConstraints"]),
    }


def policy_of(document: JSONObject) -> str:
    """The name of the policy that a policy or binding is about."""
    name = document["spec"]["policyName"] if is_binding(document) else document["metadata"]["name"]
    return str(name)
