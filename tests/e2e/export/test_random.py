"""Random policies exported to a real API server, which must answer random requests as policyd does with
the sources. The seed of the run chooses the policies.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from policyd.json_types import JSONObject
from tests.conformance.apiserver_rows import VERSIONS
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.differential.asking import Question, marked, marks, question
from tests.e2e.differential.comparing import difference
from tests.e2e.differential.library import by_a_policy, can_exist
from tests.e2e.differential.rows import first_failure_only, made_when_served
from tests.e2e.differential.sides import both_sides
from tests.e2e.export.exporting import accepted, export
from tests.e2e.export.wording import plainly
from tests.e2e.rights import bound, role
from tests.export.random_policies import random_policy
from tests.export.random_requests import NAMESPACES, USERS, requests
from tests.sampling import examples, seeded

COUNT = examples(40, least=10)
ASKED = 6  # requests for each policy


@pytest.fixture(name="world", scope="module")
def _world(client: Client) -> Iterator[None]:
    """The users and namespaces of the requests."""
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    rights = role("random", every)
    binding = bound(rights, "User", USERS[0][0])
    binding["subjects"] = [{**binding["subjects"][0], "name": each} for each, _ in USERS]
    for name, labels in NAMESPACES.items():
        metadata = {"name": name, "labels": labels}
        made_when_served(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for each in (rights, binding):
        client.made(each)
    yield
    for each in (binding, rights):
        client.deleted(each)


@pytest.mark.usefixtures("world")
def test_exported_policies_answer_as_their_sources(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    policies: list[JSONObject] = []
    questions: list[Question] = []
    first = int(seeded()[0])
    for seed in range(first, first + COUNT):
        random, name = Random(seed), f"random-{seed}"
        policies.append(marked(random_policy(random, name)))
        for index, review in enumerate(requests(random, ASKED)):
            asked = question(f"{name}/{index}", review, [name])
            questions.append(replace(asked, headers=(*asked.headers, *marks([name]))))
    exports = export(policies, api.version)
    chosen = [
        each
        for each in questions
        if each.policies[0] not in exports.reasons and can_exist(client, each)
    ]
    assert accepted(client, exports.documents) == {}
    folder = tmp_path / "served"
    seen = both_sides(
        api, client, chosen, folder, tree=exports.documents, hook=policies, named=exports.named
    )
    found, codes = {}, Counter[int]()
    for name, (tree, hook) in seen.items():
        codes[hook["code"]] += 1
        if not by_a_policy(hook):  # what the API server has against the object is its own affair
            continue
        if api.version == VERSIONS[0]:
            first_failure_only(hook["annotations"])
        if text := difference(*(plainly(each, exports) for each in (tree, hook))):
            found[name] = text
    left_out = Counter(
        re.sub(r"\[\d+\]|random-\d+", "", each)
        for reasons in exports.reasons.values()
        for each in reasons
    )
    print(f"{COUNT} policies, {len(exports.reasons)} not exported: {dict(left_out)}")
    print(f"{len(seen)} requests, {len(found)} answered otherwise; codes: {dict(codes)}")
    for name, text in found.items():
        print(f"{name}: {text}")
    assert found.keys() == set()
