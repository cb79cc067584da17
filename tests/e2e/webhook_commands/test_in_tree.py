"""``policyd webhooks --in-tree``: which engine of a real API server's requests enforces a policy."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.cli.webhooks import placing
from policyd.json_types import JSONObject
from policyd.placement.choosing import CHEAP_VALIDATION
from policyd.placement.placed_documents import RESOURCES
from policyd.versions import KubernetesVersion
from tests.builders.policies import CONFIG_MAPS, rule, vap
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.violations import NOT_BAD, refusal, violating
from tests.e2e.webhook import serving, write
from tests.e2e.webhook_commands.stored_configurations import API, VALIDATING, within
from tests.server.process import until
from tests.shared import ROOT

IN_TREE = "ValidatingAdmissionPolicy '{0}' with binding '{0}' denied request: bad name"
AT_WEBHOOK = "policy '{0}' denied request: bad name"


@dataclass(frozen=True, slots=True)
class Site:
    """Policies in a folder, and the cluster whose API server is to enforce them."""

    api: Cluster
    name: str  # that of the configurations, and of the test's namespace
    admin: Path
    folder: Path
    flags: list[str]

    def run(self, command: str, *flags: str, catch: bool = False) -> Result:
        """Run ``policyd webhooks COMMAND`` with the policies in the folder."""
        given = ["webhooks", command, *(flags or ("--in-tree", "auto", *self.flags))]
        given += ["--kubeconfig", str(self.admin)]
        given += ["-p", str(self.folder / "policies"), "--name", self.name]
        return CliRunner().invoke(policyd, given, catch_exceptions=catch)

    def write(self, *documents: JSONObject) -> None:
        """Replace the policies."""
        write(self.folder / "policies", documents)

    def status(self, resource: str) -> int:
        """The status of a GET of an object with the name."""
        return int(self.api.call("GET", f"{API}/{resource}/{self.name}")[0])


@pytest.fixture
def site(api: Cluster, name: str, admin: Path, tmp_path: Path, flags: list[str]) -> Iterator[Site]:
    yield Site(api, name, admin, tmp_path, flags)
    for resource in RESOURCES.values():
        _, found = api.call("GET", f"{API}/{resource}")
        assert isinstance(found, dict)
        for each in found["items"]:
            api.call("DELETE", f"{API}/{resource}/{each['metadata']['name']}")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """One API server without load follows within a second or two."""
    for each in ("WIDE_SECONDS", "SEEN_SECONDS", "UNSEEN_SECONDS", "NARROWING_SECONDS"):
        monkeypatch.setattr(placing, each, 1.5)
    monkeypatch.setattr(placing, "BINDING_SECONDS", 0.5)


def enforced(client: Client, site: Site, where: str) -> None:
    """Wait until an engine refuses violations, and is the first to do so."""
    until(lambda: where.format(site.name) in refusal(client, site.name), where)


def test_a_policy_is_placed_and_taken_back(client: Client, site: Site, soon: None) -> None:
    document = within(site.name, CONFIG_MAPS, name=site.name, validations=NOT_BAD)
    site.write(document)
    applied = site.run("apply")
    assert applied.exit_code == 0, applied.output
    assert applied.stdout.splitlines() == [
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{site.name} created",
        f"validatingadmissionpolicy.admissionregistration.k8s.io/{site.name} created",
        f"validatingadmissionpolicybinding.admissionregistration.k8s.io/{site.name} created",
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{site.name} deleted",
    ]
    assert refusal(client, site.name).endswith(IN_TREE.format(site.name))
    assert refusal(client, site.name, "good") == ""
    again = site.run("apply")
    assert (again.exit_code, again.output) == (0, "")
    assert site.run("diff").exit_code == 0

    # Something that the API server cannot do: the webhook has the policy before it leaves there.
    document["spec"]["timeoutSeconds"] = 1
    site.write(document)
    different = site.run("diff")
    assert different.exit_code == 1
    assert (
        f"--- cluster/validatingadmissionpolicybinding.admissionregistration.k8s.io/{site.name}"
        in (different.stdout)
    )
    back = site.run("apply")
    assert back.stdout.splitlines() == [
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{site.name} created",
        f"validatingadmissionpolicybinding.admissionregistration.k8s.io/{site.name} deleted",
        f"validatingadmissionpolicy.admissionregistration.k8s.io/{site.name} deleted",
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{site.name} unchanged",
    ]
    until(lambda: "failed calling webhook" in refusal(client, site.name), "the webhook")


def test_no_violation_gets_through_while_policies_move(
    client: Client, site: Site, soon: None
) -> None:
    """Placing, changing, and taking back, with a policyd that the webhook calls."""
    first = within(site.name, CONFIG_MAPS, name=site.name, validations=NOT_BAD)
    other = within(site.name, rule("secrets"), name=f"{site.name}-secrets", timeoutSeconds=1)
    changed = {**first, "spec": {**first["spec"], "validationActions": ["Deny", "Audit"]}}
    changed["spec"] = {**changed["spec"], "variables": [{"name": "x", "expression": "1"}]}
    back = {**first, "spec": {**first["spec"], "timeoutSeconds": 1}}
    site.write(first, other)
    with serving(site.api, [site.folder / "policies"], site.folder / "policyd.log") as server:
        url = ["--url", f"https://127.0.0.1:{server.port}", *site.flags[2:]]
        given = [*url, "--in-tree", "auto"]
        assert site.run("apply", *url).exit_code == 0
        enforced(client, site, AT_WEBHOOK)
        with violating(site.api, site.name) as answers:
            for documents, where in (
                ([first, other], IN_TREE),
                ([changed, other], IN_TREE),
                ([first], IN_TREE),
                ([back, other], AT_WEBHOOK),
                ([first, other], IN_TREE),
            ):
                site.write(*documents)
                applied = site.run("apply", *given)
                assert applied.exit_code == 0, applied.output
                enforced(client, site, where)
            assert site.run("apply", *given[:-1], "never").exit_code == 0
            enforced(client, site, AT_WEBHOOK)
        kinds = {"webhook" if "admission webhook" in each else "tree" for each in answers if each}
        assert kinds == {"webhook", "tree"}
        assert answers.count("") == 0, f"{len(answers)} violations"


def test_a_document_that_somebody_changed_is_repaired(
    client: Client, site: Site, soon: None
) -> None:
    site.write(within(site.name, CONFIG_MAPS, name=site.name, validations=NOT_BAD))
    assert site.run("apply").exit_code == 0
    status = site.run("status")
    cheap = KubernetesVersion.parse(site.api.version) >= CHEAP_VALIDATION
    why = (
        "the API server validates for less than a webhook call"
        if cheap
        else "no other policy validates its resources: no webhook call is needed"
    )
    placed = f"{site.name} (Policy, validate) runs in the API server: {why}"
    assert (status.exit_code, status.stdout.splitlines()[0]) == (0, placed)
    path = f"{API}/validatingadmissionpolicies/{site.name}"
    _, found = site.api.call("GET", path)
    assert isinstance(found, dict)
    found["spec"]["matchConditions"] = [{"name": "never", "expression": "false"}]
    assert site.api.call("PUT", path, found)[0] == 200
    report = site.run("status", "--in-tree", "auto", "--format", "json", *site.flags)
    assert report.exit_code == 1
    assert json.loads(report.stdout)["placement"][0]["engine"] == "webhook"
    faults = json.loads(report.stdout)["faults"]
    assert (
        f"validatingadmissionpolicy.admissionregistration.k8s.io/{site.name} is not what would be"
        in (str(faults))
    )
    until(lambda: refusal(client, site.name) == "", "the change")
    repaired = site.run("apply", "--in-tree", "auto", "--force-conflicts", *site.flags)
    assert repaired.exit_code == 0, repaired.output
    enforced(client, site, IN_TREE)
    assert site.run("status").exit_code == 0


def test_only_changes_nothing_if_something_cannot_be_placed(site: Site) -> None:
    slow = within(site.name, CONFIG_MAPS, name="slow", timeoutSeconds=1)
    site.write(within(site.name, name=site.name), slow)
    refused = site.run("apply", "--in-tree", "only", *site.flags, catch=True)
    message = str(refused.exception)
    assert "nothing is changed" in message
    assert "Policy slow (validate): spec.timeoutSeconds:" in message
    assert site.status(VALIDATING) == 404
    site.write(within(site.name, name=site.name))
    assert site.run("apply", "--in-tree", "only", *site.flags).exit_code == 0
    assert site.status(VALIDATING) == 404
    assert site.status("validatingadmissionpolicies") == 200


def test_somebody_elses_document_of_the_same_name_is_left_alone(site: Site, soon: None) -> None:
    foreign = vap(site.name, CONFIG_MAPS)
    assert site.api.call("POST", f"{API}/validatingadmissionpolicies", foreign)[0] == 201
    site.write(within(site.name, CONFIG_MAPS, name=site.name, validations=NOT_BAD))
    assert site.run("apply").exit_code == 0
    status = site.run("status")
    assert (
        f"runs by the webhook: there is a ValidatingAdmissionPolicy {site.name} that"
        in status.stdout
    )
    _, found = site.api.call("GET", f"{API}/validatingadmissionpolicies/{site.name}")
    assert isinstance(found, dict)
    assert found["spec"]["validations"] == foreign["spec"]["validations"]


def test_delete_takes_placed_documents_too(site: Site, soon: None) -> None:
    site.write(within(site.name, CONFIG_MAPS, name=site.name))
    assert site.run("apply").exit_code == 0
    given = ["webhooks", "delete", "--kubeconfig", str(site.admin)]
    other = CliRunner().invoke(policyd, [*given, "another", "--yes"])
    assert (other.exit_code, other.stderr) == (0, "there is nothing to delete\n")
    kept = CliRunner().invoke(policyd, [*given, site.name], input="n\n")
    assert kept.exit_code == 1
    gone = CliRunner().invoke(policyd, [*given, site.name], input="y\n")
    assert (gone.exit_code, gone.stdout.splitlines()) == (
        0,
        [
            f"validatingadmissionpolicybinding.admissionregistration.k8s.io/{site.name} deleted",
            f"validatingadmissionpolicy.admissionregistration.k8s.io/{site.name} deleted",
        ],
    )
    assert site.status("validatingadmissionpolicies") == 404
    site.write(within(site.name, CONFIG_MAPS, name=site.name))
    assert site.run("apply").exit_code == 0
    every = CliRunner().invoke(policyd, [*given, "--all", "--yes"])
    assert (
        f"validatingadmissionpolicy.admissionregistration.k8s.io/{site.name} deleted"
        in every.stdout
    )
    assert site.status("validatingadmissionpolicies") == 404


def test_the_library_is_stored_as_it_is_placed(site: Site, soon: None) -> None:
    """No default of the API server looks like an edit by hand."""
    (site.folder / "policies").symlink_to(ROOT / "policies")
    applied = site.run("apply")
    assert applied.exit_code == 0, applied.output
    assert "stored otherwise" not in applied.output
    report = site.run("status", "--in-tree", "auto", "--format", "json", *site.flags)
    placement = json.loads(report.stdout)["placement"]
    assert [each for each in placement if each["engine"] != each["chosen"]] == []
    assert sum(each["engine"] == "api-server" for each in placement) > 0
    assert json.loads(report.stdout)["faults"] == []
    again = site.run("apply").output.splitlines()
    assert [each for each in again if not each.endswith(" unchanged")] == []
