"""What ``policyd export --static`` writes, read by a real kube-apiserver from its disk."""

import json
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.export.static import DIRECTORIES
from policyd.json_types import JSONObject
from policyd.policy.model.suite import Webhook
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, EVERYTHING, denying, policy, rule, vap, vap_binding
from tests.e2e.client import Client, audit
from tests.e2e.cluster import AUDIT_POLICY, Cluster, binaries, cluster
from tests.e2e.webhook import write
from tests.server.process import until
from tests.shared import ROOT

PLUGINS: dict[Webhook, str] = {
    "validate": "ValidatingAdmissionPolicy",
    "mutate": "MutatingAdmissionPolicy",
}
GATE = "--feature-gates=ManifestBasedAdmissionControlConfig=true"  # off by default in 1.36
UNWANTED = "object.?data.wanted.orValue('') != 'no'"
POLICIES: list[JSONObject] = [
    policy(
        "wanted",
        CONFIG_MAPS,
        validations=[{"expression": UNWANTED, "message": "it is unwanted"}],
        auditAnnotations=[{"key": "name", "valueExpression": "string(object.metadata.name)"}],
    ),
    # Without the exclusion nobody could write a policy any more.
    policy(
        "everywhere",
        EVERYTHING,
        validations=[
            {
                "expression": "!object.?metadata.?labels.?forbidden.hasValue()",
                "message": "it is forbidden",
            }
        ],
    ),
    policy(
        "protected",
        rule(
            "validatingadmissionpolicies",
            group="admissionregistration.k8s.io",
            operations=["DELETE"],
        ),
        validations=[{"expression": "oldObject.metadata.name != 'kept'", "message": "it is kept"}],
    ),
]


def export(sources: Path, folder: Path, version: str, *, strict: bool = True) -> str:
    options = ["-p", str(sources), "-o", str(folder), "--kubernetes-version", version]
    done = CliRunner().invoke(
        policyd, ["export", *options, "--static", *(["--strict"] if strict else [])]
    )
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(name="static", scope="module")
def _static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Path, Path]]:
    """An API server with the manifests of the policies; their sources, and their folder."""
    _, version = binaries()
    folder = tmp_path_factory.mktemp("static")
    sources, manifests = write(folder / "policies", POLICIES), folder / "manifests"
    export(sources, manifests, version)
    for inner in DIRECTORIES.values():
        (manifests / inner).mkdir(exist_ok=True)
    (folder / "audit-policy.yaml").write_text(json.dumps(AUDIT_POLICY))
    (folder / "admission.yaml").write_text(json.dumps(configuration(manifests)))
    flags = [
        f"--admission-control-config-file={folder / 'admission.yaml'}",
        f"--audit-policy-file={folder / 'audit-policy.yaml'}",
        f"--audit-log-path={folder / 'audit.log'}",
        GATE,
    ]
    with cluster(folder, flags) as running:
        yield running, sources, manifests


def configuration(manifests: Path) -> JSONObject:
    """The AdmissionConfiguration that the documentation shows."""
    group = "apiserver.config.k8s.io/v1"
    plugins = [
        {
            "name": plugin,
            "configuration": {
                "apiVersion": group,
                "kind": f"{plugin}Configuration",
                "staticManifestsDir": str(manifests / DIRECTORIES[webhook]),
            },
        }
        for webhook, plugin in PLUGINS.items()
    ]
    return {"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": plugins}


@pytest.fixture(name="user")
def _user(static: tuple[Cluster, Path, Path]) -> Iterator[Client]:
    made = Client(static[0])
    yield made
    made.close()


def test_a_static_policy_denies(static: tuple[Cluster, Path, Path], user: Client) -> None:
    answer = user.create({**config_map("no", "default"), "data": {"wanted": "no"}})
    assert answer.status == 422
    assert answer.message == (
        "configmaps \"no\" is forbidden: ValidatingAdmissionPolicy 'wanted.static.k8s.io' with "
        "binding 'wanted.static.k8s.io' denied request: it is unwanted"
    )
    made = user.create({**config_map("yes", "default"), "data": {"wanted": "yes"}})
    assert made.status == 201, made.body
    assert audit(static[0], made.audit_id)["wanted.static.k8s.io/name"] == "yes"


def test_wildcards_do_not_reach_admission_policies(user: Client) -> None:
    labelled = {"name": "free", "labels": {"forbidden": "yes"}}
    thing = config_map("labelled", "default")
    thing["metadata"]["labels"] = labelled["labels"]
    assert "it is forbidden" in user.create(thing).message
    found = {**vap("free"), "metadata": labelled}
    user.made(found)
    bound = vap_binding("free", policyName="free", validationActions=["Audit"])
    user.made({**bound, "metadata": labelled})
    assert user.delete(bound).status == 200
    assert user.delete(found).status == 200


def test_only_a_static_policy_protects_admission_policies(user: Client) -> None:
    kept = vap("kept")
    user.made(kept)
    answer = user.delete(kept)
    assert answer.status == 422
    assert "'protected.static.k8s.io'" in answer.message
    assert answer.message.endswith("it is kept")
    other = vap("other")
    user.made(other)
    assert user.delete(other).status == 200


def test_the_api_server_refuses_names_that_export_refuses(
    user: Client, tmp_path: Path, static: tuple[Cluster, Path, Path]
) -> None:
    named = denying("named.static.k8s.io")
    done = CliRunner().invoke(
        policyd, ["export", "-p", str(write(tmp_path / "policies", [named])), "--strict"]
    )
    assert done.exit_code == 1
    answer = user.create(vap("named.static.k8s.io"))
    assert answer.status == 422
    assert "reserved for static manifest" in answer.message


def test_an_export_to_the_same_folder_is_loaded(
    static: tuple[Cluster, Path, Path], user: Client
) -> None:
    api, sources, manifests = static
    later = policy(
        "later",
        CONFIG_MAPS,
        validations=[{"expression": "object.metadata.name != 'later'", "message": "too late"}],
    )
    write(sources, [*POLICIES, later])
    assert "later" in export(sources, manifests, api.version)
    refused = partial(user.create, config_map("later", "default"), dryRun="All")
    until(lambda: refused().status == 422, "the new manifest in force")
    write(sources, POLICIES)
    export(sources, manifests, api.version)
    until(lambda: refused().status == 201, "the manifest being gone")


def test_the_library_is_loaded(static: tuple[Cluster, Path, Path]) -> None:
    api, sources, manifests = static
    export(ROOT / "policies", manifests, api.version, strict=False)
    assert all(loaded(api, manifests / DIRECTORIES[webhook], webhook) for webhook in PLUGINS)
    export(sources, manifests, api.version)


def loaded(api: Cluster, folder: Path, webhook: Webhook) -> bool:
    """Whether the API server has loaded the files of a folder, which takes it some ten seconds of CPU
    for the library; in a minute, or the test fails.
    """
    files = sorted(folder.glob("*.yaml"))
    # apiserver pkg/admission/plugin/manifest/loader.go: LoadFiles
    content = b"".join(each.read_bytes() + b"\0" for each in files)
    shown = f'hash="sha256:{sha256(content).hexdigest()}",plugin="{PLUGINS[webhook]}"'

    def is_loaded() -> bool:
        return not files or shown in api.request("GET", "/metrics")[1].decode()

    return bool(until(is_loaded, f"{len(files)} files in force"))
