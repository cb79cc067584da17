"""``policyd import --cluster`` on a real API server, as a user with the printed role only."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.importers.provenance import FROM
from policyd.json_types import JSONObject
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.definitions import served
from tests.e2e.engines import (
    CONSTRAINTS,
    constraint_definition,
    created,
    definitions,
    kubeconfig_of,
)
from tests.e2e.rights import bound
from tests.shared import IMPORT, find

IMPORTER = "importer"
KYVERNO = {
    ("kyverno.io", "ClusterPolicy"),
    ("policies.kyverno.io", "ValidatingPolicy"),
    ("policies.kyverno.io", "MutatingPolicy"),
}
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def engines(api: Cluster) -> Iterator[None]:
    """The kinds of both engines, for the tests of this file."""
    client = Client(api)
    with served(client, *definitions()):
        yield
    client.close()


@pytest.fixture
def run(api: Cluster, engines: None, client: Client, tmp_path: Path) -> Iterator[Run]:
    """Import the cluster as a user who has the role that the command prints."""
    kubeconfig = kubeconfig_of(api, tmp_path, IMPORTER)

    def invoke(*arguments: str) -> Result:
        given = ("import", "--cluster", "--kubeconfig", str(kubeconfig), *arguments)
        done = CliRunner().invoke(policyd, given)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    printed = yaml.safe_load(CliRunner().invoke(policyd, ["import", "--print-rbac"]).stdout)
    made = [printed, bound(printed, "User", IMPORTER)]
    for each in made:
        client.made(each)
    yield invoke
    for each in made:
        client.deleted(each)


@pytest.fixture
def stored(client: Client) -> Iterator[Callable[[JSONObject], JSONObject]]:
    """Create objects that are gone after the test."""
    with ExitStack() as stack:

        def create(thing: JSONObject) -> JSONObject:
            found = created(client, thing)
            stack.callback(client.send, "DELETE", _path(client, thing))
            return found

        yield create


def _path(client: Client, thing: JSONObject) -> str:
    """The path of an object, by what the API server serves."""
    listed = client.send("GET", f"/apis/{thing['apiVersion']}").body["resources"]
    [plural] = [
        each["name"]
        for each in listed
        if (each["kind"], "/" in each["name"]) == (thing["kind"], False)
    ]
    namespace = thing["metadata"].get("namespace")
    within = f"namespaces/{namespace}/" if namespace else ""
    return f"/apis/{thing['apiVersion']}/{within}{plural}/{thing['metadata']['name']}"


def public_policies() -> list[JSONObject]:
    """Each policy of Kyverno's collection, by kind and name the first."""
    found: dict[tuple[str, str], JSONObject] = {}
    for file in sorted(find(IMPORT, "kyverno").rglob("*.yaml")):
        if any(part.startswith(".") for part in file.parts[-3:]):
            continue
        for each in yaml.safe_load_all(file.read_text()):
            if isinstance(each, dict) and (_group(each), each.get("kind")) in KYVERNO:
                each["metadata"].pop("namespace", None)  # the kinds have none
                found.setdefault((each["kind"], each["metadata"]["name"]), each)
    return [*found.values()]


def templates() -> list[JSONObject]:
    """The templates of Gatekeeper's collection, with their first constraints."""
    found = []
    for file in sorted(find(IMPORT, "gatekeeper").rglob("template.yaml")):
        template = yaml.safe_load(file.read_text())
        constraint = next(iter(sorted(file.parent.rglob("constraint.yaml"))))
        found += [template, yaml.safe_load(constraint.read_text())]
    return found


def _group(thing: JSONObject) -> str:
    return str(thing.get("apiVersion", "")).partition("/")[0]


def _without_source(results: list[JSONObject]) -> dict[tuple[str, str], Any]:
    """What became of each policy, but for the annotation that names its source."""
    found = {}
    for each in results:
        for document in each["documents"]:
            del document["metadata"]["annotations"][FROM]
        remarks = [one["message"] for one in (*each["reasons"], *each["remarks"])]
        found[each["kind"], each["name"]] = (each["state"], each["documents"], remarks)
    return found


def requested(api: Cluster) -> Counter[tuple[str, str]]:
    """What the importer requested of policies, by the audit log: verb and resource."""
    lines = (api.folder / "audit.log").read_text().splitlines()
    events = [json.loads(line) for line in lines if line.endswith("}")]
    return Counter(
        (each["verb"], each.get("objectRef", {}).get("resource", ""))
        for each in events
        if each["user"]["username"] == IMPORTER
    )


def test_public_policies_of_a_cluster_become_what_their_files_become(
    api: Cluster,
    client: Client,
    run: Run,
    stored: Callable[[JSONObject], JSONObject],
    tmp_path: Path,
) -> None:
    given = [*public_policies(), *templates()]
    assert len(given) > 250
    kinds = {each["kind"] for each in given if _group(each) == CONSTRAINTS}
    with served(client, *map(constraint_definition, sorted(kinds))):
        for each in given:
            stored(each)
        done = run("--format", "json")
        # There are none of the ConfigMaps that some of them name.
        assert done.exit_code == 3
        assert done.stderr.count("error") == done.stderr.count("does not have the ConfigMap") > 0
        assert run("-o", str(tmp_path / "out")).exit_code == 3
        again = json.loads(run("--since", str(tmp_path / "out"), "--format", "json").stdout)
    assert {each["state"] for each in again["changes"]} == {"unchanged"}
    assert len(again["changes"]) > 200
    # The API server sorts the fields of custom resources.
    crds = [*definitions(), *map(constraint_definition, kinds)]
    file = tmp_path / "all.json"
    file.write_text("\n".join(json.dumps(each, sort_keys=True) for each in [*crds, *given]))
    want = CliRunner().invoke(policyd, ["import", str(file), "--format", "json"])
    assert _without_source(json.loads(done.stdout)) == _without_source(json.loads(want.stdout))
    assert {verb for verb, _ in requested(api)} <= {"list", "get"}
    assert {resource for verb, resource in requested(api) if verb == "get"} <= {"", "configmaps"}


def test_a_second_import_reports_what_changed_at_the_source(
    client: Client,
    run: Run,
    stored: Callable[[JSONObject], JSONObject],
    namespace: str,
    tmp_path: Path,
) -> None:
    given = {
        each["metadata"]["name"]: each
        for each in public_policies()
        if each["kind"] == "ClusterPolicy"
    }
    chosen = ("disallow-latest-tag", "restrict-nodeport", "disallow-host-process")
    edited, ready, gone = (stored(given[name]) for name in chosen)
    exempted = {**given["disallow-host-ports"], "metadata": {"name": "exempted"}}
    stored(exempted)
    before = str(tmp_path / "before")
    done = run("-o", before)
    assert done.exit_code == 0, done.output

    change = {"spec": {"webhookTimeoutSeconds": 7}}
    client.send("PATCH", _path(client, edited), change, "application/merge-patch+json")
    status = {**client.send("GET", _path(client, ready)).body, "status": {"ready": True}}
    assert client.send("PUT", f"{_path(client, ready)}/status", status).status == 200
    client.send("DELETE", _path(client, gone))
    match = {"any": [{"resources": {"kinds": ["*"], "namespaces": [namespace]}}]}
    spec = {"exceptions": [{"policyName": "exempted", "ruleNames": ["*"]}], "match": match}
    metadata = {"name": "e", "namespace": namespace}
    stored(
        {
            "apiVersion": "kyverno.io/v2",
            "kind": "PolicyException",
            "metadata": metadata,
            "spec": spec,
        }
    )
    stored({**given["require-pod-probes"], "metadata": {"name": "added"}})

    done = run("--since", before, "-o", str(tmp_path / "after"), "--format", "json")
    assert done.exit_code == 0, done.output
    found = {each["source"]: each["state"] for each in json.loads(done.stdout)["changes"]}
    assert found == {
        f"ClusterPolicy/{edited['metadata']['name']}": "changed",
        f"ClusterPolicy/{ready['metadata']['name']}": "unchanged",
        f"ClusterPolicy/{gone['metadata']['name']}": "gone",
        "ClusterPolicy/exempted": "changed",
        "ClusterPolicy/added": "new",
    }
    written = {each.name for each in (tmp_path / "after").iterdir()}
    assert {"exempted.yaml", "added.yaml"} < written
    loaded = CliRunner().invoke(policyd, ["lint", str(tmp_path / "after")])
    assert loaded.exit_code == 0, loaded.output


def test_without_the_role_each_resource_is_named(
    api: Cluster, engines: None, tmp_path: Path
) -> None:
    kubeconfig = kubeconfig_of(api, tmp_path, "nobody")
    given = ["import", "--cluster", "--kubeconfig", str(kubeconfig)]
    done = CliRunner().invoke(policyd, given)
    assert done.exit_code == 3
    told = " ".join(done.stderr.split())
    for resource in ("clusterpolicies.kyverno.io", "validatingpolicies.policies.kyverno.io"):
        assert f"cannot list {resource}: the API server answered 403" in told
        assert f"this needs the permission to list {resource}" in told
