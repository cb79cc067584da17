"""The defaults of a real API server: those that were recorded, and those that policyd applies.

A difference from the rows is a change of Kubernetes: record them again
(``python -m tests.e2e.record_defaults``), and the replay shows which rule has to change.
"""

from collections.abc import Iterator

import pytest

from policyd.defaulting.defaults import Defaults
from policyd.mutation.schemas.schemas import Schemas
from policyd.versions import KubernetesVersion
from tests.builders.samples import DEFINITIONS, Samples, comparable, every_kind, rows_of
from tests.e2e.capture import EXEMPT, FLAGS, Capture, capturing
from tests.e2e.cluster import Cluster, cluster
from tests.sampling import sampled
from tests.shared import rows

SEEDS = sampled(range(100, 108))


@pytest.fixture(scope="module", name="server")
def _server() -> Iterator[Cluster]:
    """An API server without the admission plugins that change objects before webhooks do."""
    with cluster(flags=FLAGS) as running:
        yield running


@pytest.fixture(scope="module", name="capture")
def _capture(server: Cluster) -> Iterator[Capture]:
    with capturing(server, DEFINITIONS) as capture:
        yield capture


def test_the_recorded_rows_hold(server: Cluster, capture: Capture) -> None:
    file = rows_of(server.version)
    assert file.exists(), f"record the rows of {server.version}"
    wrong, compared = [], 0
    for row in rows(file):
        manifest = row["manifest"]
        if (manifest["apiVersion"], manifest["kind"]) in capture.kinds:
            compared += 1
            if comparable(capture.seen(manifest)) != comparable(row["object"]):
                wrong.append(manifest)
    assert not wrong
    assert compared > 400


@pytest.mark.parametrize("kind", every_kind(), ids=lambda each: f"{each.api_version} {each.kind}")
def test_random_manifests_get_the_same_defaults(
    server: Cluster, capture: Capture, kind: Samples
) -> None:
    if (kind.api_version, kind.kind) not in capture.kinds or kind.api_version.startswith(EXEMPT):
        return  # the recorded rows have what there is of it
    defaults = Defaults(Schemas.builtin(KubernetesVersion.parse(server.version)))
    for seed in SEEDS:
        manifest = kind.random(seed, 0.3 + 0.1 * (seed % 5))
        try:
            found = capture.seen(manifest)
        except LookupError:
            assert kind.api_version.startswith(("authentication.", "authorization.")), manifest
            return
        assert comparable(defaults.applied(manifest)) == comparable(found), seed
