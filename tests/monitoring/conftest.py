"""A running policyd, whose metrics are those that rules and dashboards may name."""

from collections.abc import Iterator, Mapping

import pytest
import yaml

from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy
from tests.monitoring.series import IN_CLUSTER, OTHERS, shown
from tests.server.process import Process
from tests.server.serve import serving

POLICIES = [
    policy("no-x", CONFIG_MAPS, validations=[demand("object.data.a != 'x'", "no x")]),
    policy("labels", CONFIG_MAPS, mutations=[labelling("team", "'a'")]),
]


@pytest.fixture(scope="session")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Process]]:
    """Two servers with the same policies: one that validates, one that mutates."""
    folder = tmp_path_factory.mktemp("monitored")
    policies = folder / "policies"
    policies.mkdir()
    (policies / "all.yaml").write_text(yaml.safe_dump_all(POLICIES))
    (folder / "b").mkdir()
    with serving(folder, policies) as one, serving(folder / "b", policies) as other:
        yield one, other


@pytest.fixture(scope="session")
def known(replicas: tuple[Process, Process]) -> Mapping[str, Mapping[str, set[str]]]:
    """Every metric that a query may name, with the values of its labels."""
    return {**IN_CLUSTER, **OTHERS, **shown(replicas[0].get("/metrics")[1])}
