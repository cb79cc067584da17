"""The chart in a registry and in a repository of files: signed, and with the image by digest."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.rendering import container, documents
from tests.programs import folder, program
from tests.publishing.conftest import SOURCE, Published
from tests.publishing.registry import Tools
from tests.shared import ROOT
from tools.image import settings
from tools.publish import packaged


def read(package: Path, name: str) -> Any:
    """A YAML file of the package."""
    with tarfile.open(package) as archive:
        file = archive.extractfile(f"policyd/{name}")
        assert file is not None
        return yaml.safe_load(file)


def test_the_chart_names_the_image_by_digest(published: Published, chart: Path) -> None:
    place, _, digest = published.image.partition("@")
    image = read(chart, "values.yaml")["image"]
    assert (image["repository"], image["digest"]) == (place, digest)


def test_artifact_hub_learns_the_image(published: Published, chart: Path) -> None:
    annotations = read(chart, "Chart.yaml")["annotations"]
    (image,) = yaml.safe_load(annotations["artifacthub.io/images"])
    assert image["image"] == published.image
    assert "linux/amd64" in image["platforms"]
    assert annotations["artifacthub.io/category"] == "security"


def test_the_chart_is_signed(tools: Tools, published: Published) -> None:
    address, _, _ = published.chart.partition("@")
    for each in (published.chart, f"{address}:{settings.version()}"):
        done = tools.verify(each)
        assert done.returncode == 0, done.stderr
    assert "failed to verify signature" in tools.verify(published.chart, key="other").stderr


def test_a_chart_that_is_packaged_again_has_the_same_digest(
    tools: Tools, published: Published, chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{folder()}{os.pathsep}{os.environ['PATH']}")
    (image,) = yaml.safe_load(read(chart, "Chart.yaml")["annotations"]["artifacthub.io/images"])
    architectures = [each.removeprefix("linux/") for each in image["platforms"]]
    package = packaged(published.image, architectures, SOURCE, chart.parent / "again")
    done = tools.run("helm", "push", "--plain-http", str(package), f"oci://{published.host}/again")
    _, _, digest = published.chart.partition("@")
    assert f"Digest: {digest}" in done.stdout + done.stderr


def test_helm_renders_the_chart_of_the_registry(tools: Tools, published: Published) -> None:
    address, _, digest = published.chart.partition("@")
    for reference in (f"oci://{address}", f"oci://{address}@{digest}"):
        printed = tools.output("helm", "template", "policyd", reference, "--plain-http")
        assert container(documents(printed))["image"] == published.image


def test_a_classic_repository(tools: Tools, chart: Path, tmp_path: Path) -> None:
    """index.yaml beside the package; what is listed there is the package's digest."""
    site = tmp_path / "site"
    site.mkdir()
    shutil.copy(chart, site)
    tools.output("helm", "repo", "index", str(site), "--url", "https://example.com/charts")
    (entry,) = yaml.safe_load((site / "index.yaml").read_text())["entries"]["policyd"]
    assert entry["urls"] == [f"https://example.com/charts/{chart.name}"]
    assert (entry["version"], entry["appVersion"]) == (settings.version(),) * 2


def test_kustomize_reads_the_base_by_url(published: Published, tmp_path: Path) -> None:
    """As from a server of git, with a reference; the image by digest."""
    address = f"file://{ROOT}"
    place, _, digest = published.image.partition("@")
    kustomization = {
        "resources": [f"{address}//deploy/overlays/default?ref=HEAD"],
        "components": [f"{address}//deploy/components/events?ref=HEAD"],
        "images": [{"name": "policyd", "newName": place, "digest": digest}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    command = [program("kubectl"), "kustomize", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    only = container(documents(done.stdout))
    assert only["image"] == published.image
    assert "--events" in only["args"]


def test_provenance_by_a_key_of_pgp(tools: Tools, chart: Path, tmp_path: Path) -> None:
    """`helm package --sign`, for those who install from a classic repository with --verify."""
    if not shutil.which("gpg"):
        pytest.skip("needs gpg: apt-get install gnupg")
    home = str(tmp_path / "gnupg")
    Path(home).mkdir(mode=0o700)
    name = "Release <release@example.com>"
    for words in (
        ["--passphrase", "", "--quick-generate-key", name, "rsa3072", "sign"],
        ["--passphrase", "", "--output", f"{home}/secret.gpg", "--export-secret-keys"],
        ["--output", f"{home}/public.gpg", "--export"],
    ):
        command = ["gpg", "--homedir", home, "--batch", "--pinentry-mode", "loopback", *words]
        subprocess.run(command, check=True, capture_output=True)
    shutil.unpack_archive(chart, tmp_path / "unpacked")
    signed = tmp_path / "signed"
    sign = ["--sign", "--key", "Release", "--keyring", f"{home}/secret.gpg"]
    folder = str(tmp_path / "unpacked/policyd")
    tools.output("helm", "package", folder, "--destination", str(signed), *sign)
    package = str(signed / chart.name)
    verify = ["helm", "verify", package, "--keyring", f"{home}/public.gpg"]
    tools.output(*verify)
    Path(package).write_bytes(Path(package).read_bytes() + b"\0")
    assert tools.run(*verify).returncode != 0
