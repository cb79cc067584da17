"""What ``policyd export`` writes, applied with kubectl to a real API server (a server-side dry run)."""

import re
from pathlib import Path

from click.testing import CliRunner

from policyd.cli import policyd
from policyd.policy.source.loader import load
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import Kubectl
from tests.shared import ROOT

APPLIED = re.compile(r"(\w+)\.admissionregistration\.k8s\.io/(\S+) created \(server dry run\)")
DRY = ("apply", "--dry-run=server", "--validate=strict")


def export(api: Cluster, *arguments: str) -> str:
    options = ["-p", str(ROOT / "policies"), "--kubernetes-version", api.version, *arguments]
    done = CliRunner().invoke(policyd, ["export", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def exported(*paths: Path) -> set[tuple[str, str]]:
    return {(each.kind.lower(), each.name) for each in load(paths).documents}


def test_the_library_is_applied_from_files(api: Cluster, kubectl: Kubectl, tmp_path: Path) -> None:
    folder = tmp_path / "in-tree"
    export(api, "-o", str(folder))
    status, output, errors = kubectl.printed(*DRY, "-f", str(folder))
    assert (status, errors) == (0, "")
    assert {*APPLIED.findall(output)} == exported(folder)
    assert len(exported(folder)) >= 6


def test_the_library_is_applied_from_a_stream(
    api: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    for form in ("text", "yaml"):
        file = tmp_path / f"{form}.yaml"
        file.write_text(export(api, "--format", form))
        status, output, errors = kubectl.printed(*DRY, "--server-side", "-f", str(file))
        assert (status, errors) == (0, "")
        applied = output.replace("serverside-applied", "created")
        assert {*APPLIED.findall(applied)} == exported(file)
