"""``serve --capture`` records what policies read of other objects, and ``replay`` sees the same."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSON, JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule
from tests.builders.reviews import body
from tests.server.cluster.reading_servers import (
    ANY,
    FEW_PODS,
    FREE,
    PODS,
    Cluster,
    message,
    reading,
    ready,
    serving,
    write,
)
from tests.server.process import Process, until

WRITTEN = 'policyd_captured_reviews_total{result="written"}'


@pytest.fixture
def cluster() -> Cluster:
    """One Ingress with a host that is taken, and one Pod."""
    made = Cluster()
    made.ingress("a", "shop.example.com")
    made.pods.put("p", "shop", spec={"nodeName": "y", "hostname": "never read"})
    return made


def captured(
    folder: Path, cluster: Cluster, *documents: JSONObject, objects: Sequence[JSONObject | None]
) -> list[JSONObject]:
    """Send a review of each object to a server that captures; None is a ConfigMap."""
    with serving(folder, cluster, *documents, flags=("--capture", str(folder / "c"))) as server:
        until(lambda: ready(server), "the first lists")
        for each in objects:
            answered(server, each)
        until(lambda: server.metric(WRITTEN) == len(objects), "the records")
    files = sorted((folder / "c").iterdir())
    return [json.loads(each) for file in files for each in file.read_text().splitlines()]


def answered(server: Process, sent: JSONObject | None) -> None:
    if sent is None:
        message(server)
    else:
        secret = {"group": "", "version": "v1"}
        kinds: JSONObject = {"kind": {**secret, "kind": "Secret"}}
        kinds["resource"] = {**secret, "resource": "secrets"}
        assert server.post("/validate", body(object=sent, **kinds))[0] == 200


def replayed(folder: Path, *documents: JSONObject) -> list[tuple[str, str, str]]:
    """Replay the captures with other policies, without a cluster."""
    done = CliRunner().invoke(
        policyd,
        ["replay", str(folder / "c"), "-p", str(write(folder, *documents)), "--format", "json"],
    )
    found = json.loads(done.stdout)
    assert done.exit_code == int(bool(found)), done.output
    return [(each["change"], each["policy"], each["message"]) for each in found]


def test_a_replay_sees_what_the_decision_saw(tmp_path: Path, cluster: Cluster) -> None:
    (line,) = captured(tmp_path, cluster, FREE, FEW_PODS, objects=[None])
    ingresses, pods = sorted(line["captured"]["reads"], key=lambda each: str(each["kind"]))
    assert ingresses["keys"] == {
        "shop.example.com": [
            {
                "metadata": {"namespace": "store", "name": "a"},
                "spec": {"host": "shop.example.com"},
            }
        ]
    }
    assert pods["objects"][0]["spec"] == {"nodeName": "y"}
    assert pods["fields"] == [["spec", "nodeName"]]
    assert replayed(tmp_path, FREE, FEW_PODS) == []
    admits = reading(ANY, "reads.i[?'shop.example.com'].orValue([]).size() < 2")
    assert replayed(tmp_path, admits, FEW_PODS) == [
        ("now admitted", "wants", "policy 'wants' denied request: taken")
    ]


ASKED_OTHERWISE = [
    (reading(ANY, "!('other.example.com' in reads.i)"), "key 'other.example.com' was not recorded"),
    (
        reading(ANY, "reads.i.all(k, k != 'other.example.com')"),
        "only the keys that were looked up were recorded",
    ),
    (reading({**ANY, "key": "item.spec.port"}, "!('1' in reads.i)"), "it was not recorded"),
    (
        reading(ANY, "reads.i['shop.example.com'].all(i, i.spec.tls != 'x')"),
        "field spec.tls of its objects was not recorded",
    ),
    (
        reading(ANY, "reads.i['shop.example.com'].all(i, i != object)"),
        "another field of its objects was not recorded",
    ),
]


@pytest.mark.parametrize(("wants", "why"), ASKED_OTHERWISE)
def test_what_was_not_recorded_is_reported_and_not_compared(
    tmp_path: Path, cluster: Cluster, wants: JSONObject, why: str
) -> None:
    captured(tmp_path, cluster, FREE, objects=[None])
    assert replayed(tmp_path, wants) == [
        ("not recorded", "wants", f"reads.i (Ingress): {why}"),
    ]
    other = policy("other", CONFIG_MAPS, validations=[demand("false", "never")])
    assert replayed(tmp_path, wants, other)[0][:2] == ("other reasons", "other")


def test_a_read_that_was_an_error_is_one_again(tmp_path: Path, cluster: Cluster) -> None:
    del cluster.lists["/api/v1/pods"]
    (line,) = captured(tmp_path, cluster, FEW_PODS, objects=[None])
    (pods,) = line["captured"]["reads"]
    assert "reads.pods (Pod): " in pods["error"]
    assert replayed(tmp_path, FEW_PODS) == []


def test_records_are_bounded(tmp_path: Path, cluster: Cluster) -> None:
    for at in range(1001):
        cluster.pods.put(f"p{at}", "shop", spec={"nodeName": "y"})
    cluster.ingress("a", "shop.example.com", namespace="n" * 60)
    large = reading(ANY, "reads.i['shop.example.com'].all(i, i.spec.pad != 'x')")
    cluster.ingresses.put("b", "store", spec={"host": "shop.example.com", "pad": "z" * 300_000})
    (line,) = captured(tmp_path, cluster, large, FEW_PODS, objects=[None])
    ingresses, pods = sorted(line["captured"]["reads"], key=lambda each: str(each["kind"]))
    assert pods["omitted"] == "it has 1002 objects, and at most 1000 are recorded"
    assert ingresses["omitted"] == "a record has at most 256 KiB of objects of reads"
    assert replayed(tmp_path, large, FEW_PODS) == [
        ("not recorded", "pods", f"reads.pods (Pod): it was not recorded: {pods['omitted']}"),
        (
            "not recorded",
            "wants",
            f"reads.i (Ingress): it was not recorded: {ingresses['omitted']}",
        ),
    ]


def test_the_keys_of_a_secret_are_not_recorded(tmp_path: Path, cluster: Cluster) -> None:
    unknown = demand("!(object.data.a in reads.i)", "no")
    secrets = policy("secrets", rule("secrets"), reads=[ANY], validations=[unknown])
    sent: JSONObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"a": "aHVzaA=="},
    }
    (line,) = captured(tmp_path, cluster, secrets, objects=[sent])
    assert "aHVzaA==" not in json.dumps(line)
    (read,) = line["captured"]["reads"]
    assert read["omitted"] == "the request holds confidential values"
    assert replayed(tmp_path, secrets)[0][0] == "not recorded"


def test_nothing_is_recorded_of_policies_without_reads(tmp_path: Path, cluster: Cluster) -> None:
    other = policy("other", CONFIG_MAPS, validations=[demand("true", "never")])
    (line,) = captured(tmp_path, cluster, other, objects=[None])
    assert "reads" not in line["captured"]
    wants: JSON = reading(PODS, "reads.pods.size() < 5")
    assert replayed(tmp_path, wants) == [
        ("not recorded", "wants", "reads.pods (Pod): it was not recorded")
    ]
