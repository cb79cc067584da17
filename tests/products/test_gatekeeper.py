"""``policyd compare`` beside the real Gatekeeper, with templates of its own library."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.products.comparing import capture, compared, counts, imported, silenced
from tests.products.running import documents, gatekeeper, served
from tests.shared import ROOT

LIBRARY = ROOT / "tests/importers/data/gatekeeper"
TEMPLATES = ("general/requiredlabels", "pod-security-policy/proc-mount")
CONSTRAINTS = "/apis/constraints.gatekeeper.sh/v1beta1"
MUTATORS = "/apis/mutations.gatekeeper.sh/v1/assign"
NO_HOST_NETWORK: JSONObject = {
    "apiVersion": "mutations.gatekeeper.sh/v1",
    "kind": "Assign",
    "metadata": {"name": "no-host-network"},
    "spec": {
        "applyTo": [{"groups": [""], "kinds": ["Pod"], "versions": ["v1"]}],
        "location": "spec.hostNetwork",
        "parameters": {"assign": {"value": False}},
    },
}


@pytest.fixture(scope="module")
def hooks(api: Cluster, client: Client, logs: Path) -> Iterator[list[JSONObject]]:
    with gatekeeper(api, client, logs) as found:
        yield found


@pytest.fixture(scope="module")
def sources(client: Client, hooks: list[JSONObject]) -> list[JSONObject]:
    """Templates, their constraints and a mutation, which Gatekeeper enforces."""
    made = [NO_HOST_NETWORK]
    assert client.send("POST", MUTATORS, NO_HOST_NETWORK).status == 201
    for template in TEMPLATES:
        (found,) = documents(LIBRARY / template / "template.yaml")
        client.made(found)
        made.append(found)
        path = f"{CONSTRAINTS}/{found['metadata']['name']}"
        served(client, path)
        for file in sorted((LIBRARY / template).rglob("constraint.yaml")):
            (constraint,) = documents(file)
            answer = client.send("POST", path, constraint)
            assert answer.status == 201, answer.message
            made.append(constraint)
    return made


def test_decisions_are_equal(
    hooks: list[JSONObject], sources: list[JSONObject], tmp_path: Path
) -> None:
    samples = [
        one
        for template in TEMPLATES
        for file in sorted((LIBRARY / template).rglob("*allowed*.yaml"))
        for one in documents(file)
    ]
    for each in samples:
        if each["kind"] == "Pod":
            each["spec"]["hostNetwork"] = True
    captures, policies = capture(tmp_path, samples), imported(tmp_path, sources)
    report = compared(captures, policies, hooks)
    assert not report["results"], json.dumps(report["results"], indent=1)
    assert counts(report) == {
        "all-must-have-owner/": {"equal": 3},
        "must-have-pizza/": {"equal": 7},
        "no-host-network/": {"equal": 7},
        "psp-proc-mount/": {"equal": 7},
    }
    report = compared(captures, silenced(policies), hooks)
    assert {each["outcome"] for each in report["results"]} == {"looser"}
    assert {each["policy"] for each in report["results"]} == {
        "all-must-have-owner", "must-have-pizza", "psp-proc-mount",
    }  # fmt: skip
