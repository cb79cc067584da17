"""Every object has only fields of its kind, with the right types, and keeps policyd's own policies."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd._core.schema import problems as schema_problems
from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from tests import programs
from tests.deploy.rendering import PROFILES, chart, documents, kustomized
from tests.shared import ROOT

FOLDERS = ("base", "overlays/default", "overlays/cert-manager")
RESTRICTED = ROOT / "policies" / "pod-security" / "restricted"


@pytest.fixture(name="schemas", scope="module")
def _schemas() -> Schemas:
    """Kubernetes' own kinds, and those of cert-manager where its definitions are."""
    files = (programs.folder() / "cert-manager-crds").glob("*.yaml")
    definitions = [each for file in files for each in documents(file.read_text())]
    return Schemas.builtin().with_crds(
        each for each in definitions if each["kind"] == "CustomResourceDefinition"
    )


def problems(schemas: Schemas, document: JSONObject) -> list[tuple[str, str]]:
    group, _, version = document["apiVersion"].rpartition("/")
    schema = schemas.lookup(group, version, document["kind"])
    if schema is None:
        pytest.skip(
            f"needs the definition of {document['kind']}: cert-manager-crds in {programs.folder()}"
        )
    return schema_problems.problems(document, schema.root.type) or []


@pytest.mark.parametrize("profile", PROFILES)
def test_fields_of_the_chart(schemas: Schemas, profile: str) -> None:
    for each in chart(*PROFILES[profile]):
        assert problems(schemas, each) == [], each["kind"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_fields_of_the_kustomizations(schemas: Schemas, folder: str) -> None:
    for each in kustomized(folder):
        assert problems(schemas, each) == [], each["kind"]


def test_a_misspelled_field_is_found(schemas: Schemas) -> None:
    (service,) = (each for each in chart() if each["kind"] == "Service")
    service["spec"]["selectors"] = {}
    assert problems(schemas, service)


@pytest.mark.parametrize("profile", [each for each in PROFILES if each != "network of nodes"])
def test_the_restricted_policies_admit_the_chart(profile: str, tmp_path: Path) -> None:
    admitted(chart(*PROFILES[profile]), tmp_path)


def test_pods_on_the_network_of_nodes_are_for_privileged_namespaces(tmp_path: Path) -> None:
    file = tmp_path / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(chart(*PROFILES["network of nodes"])))
    done = CliRunner().invoke(policyd, ["apply", "-p", str(RESTRICTED), str(file)])
    assert done.exit_code == 1
    assert "spec.template.spec.hostNetwork" in done.output


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_restricted_policies_admit_the_kustomizations(folder: str, tmp_path: Path) -> None:
    admitted(kustomized(folder), tmp_path)


def admitted(objects: list[JSONObject], folder: Path) -> None:
    """As ``policyd apply`` judges them: the Pod templates of Deployments and CronJobs too."""
    file = folder / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    arguments = ["apply", "-p", str(RESTRICTED), "--format", "json", str(file)]
    done = CliRunner().invoke(policyd, arguments)
    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)
    assert len(results) == len(objects)
    assert all(each["allowed"] and not each["findings"] for each in results)
    assert [each["kind"] for each in results if each["kind"] == "Deployment"]
    for each in results:
        assert each["policies"] or each["kind"] not in ("Deployment", "CronJob")
