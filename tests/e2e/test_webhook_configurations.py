"""A real API server answers webhook configurations, valid and invalid, as it did when the rows of
``tests/webhooks/rows`` were recorded, and random ones as policyd does.
"""

import pytest

from policyd.versions import KubernetesVersion
from tests import kubernetes
from tests.builders.webhook_configurations import rows_of
from tests.builders.webhook_rows import answered, random_cases
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.webhook_answers import answer, answers
from tests.shared import rows

COUNT = 1000


def test_answers_are_those_recorded(api: Cluster) -> None:
    recorded = {row["name"]: row for row in rows(rows_of(kubernetes.NEWEST))}
    if api.version != kubernetes.NEWEST:
        recorded |= {row["name"]: row for row in rows(rows_of(api.version))}
    found = {row["name"]: row for row in answers(api)}
    assert found.keys() == recorded.keys()
    assert [row for name, row in found.items() if row != recorded[name]] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_random_configurations_are_answered_as_by_policyd(
    seed: int, api: Cluster, client: Client
) -> None:
    version = KubernetesVersion.parse(api.version)
    statuses = set()
    for case in random_cases(seed, COUNT):
        expected = {"name": case.name, **answer(client, case)}
        assert answered(case, version) == expected, case.configuration
        statuses.add(expected["status"])
    assert statuses == {201, 400, 422}
