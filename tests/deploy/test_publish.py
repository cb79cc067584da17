"""What `make publish` does before it reaches a registry; ``tests/publishing`` has the rest."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.rendering import container, documents, helm
from tests.programs import program
from tests.shared import ROOT
from tools import publish
from tools.image import settings

IMAGE = f"registry.example.com/team/policyd@sha256:{'1' * 64}"
SOURCE = "https://example.com/policyd"


@pytest.fixture(name="package")
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The chart as it is pushed, for an image of both architectures."""
    found = Path(program("helm")).parent
    monkeypatch.setenv("PATH", f"{found}{os.pathsep}{os.environ['PATH']}")
    return publish.packaged(IMAGE, ["amd64", "arm64"], SOURCE, tmp_path)


def described(package: Path) -> dict[str, Any]:
    with tarfile.open(package) as archive:
        file = archive.extractfile("policyd/Chart.yaml")
        assert file is not None
        found: dict[str, Any] = yaml.safe_load(file)
    return found


def test_the_chart_that_is_pushed_names_the_image_by_digest(package: Path) -> None:
    done = helm("template", "policyd", str(package))
    assert container(documents(done.stdout))["image"] == IMAGE
    assert helm("lint", "--strict", str(package)).returncode == 0


def test_the_chart_that_is_pushed_tells_artifact_hub_its_image(package: Path) -> None:
    chart = described(package)
    (image,) = yaml.safe_load(chart["annotations"]["artifacthub.io/images"])
    assert image == {
        "name": "policyd",
        "image": IMAGE,
        "platforms": ["linux/amd64", "linux/arm64"],
    }
    assert (chart["home"], chart["sources"]) == (SOURCE, [SOURCE])
    here = yaml.safe_load((publish.CHART / "Chart.yaml").read_text())
    assert here.items() <= {**chart, "annotations": here["annotations"]}.items()


def test_the_chart_is_the_same_whenever_and_wherever_it_is_packaged(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the package, too: helm writes it into the manifest."""
    copied = shutil.copytree(publish.CHART, tmp_path / "copied")
    for each in copied.rglob("*"):
        os.utime(each, (86_400, 86_400))
        each.chmod(0o700)
    monkeypatch.setattr(publish, "CHART", copied)
    before = os.umask(0o077)
    try:
        other = publish.packaged(IMAGE, ["amd64", "arm64"], SOURCE, tmp_path / "other")
    finally:
        os.umask(before)
    assert other.read_bytes() == package.read_bytes()
    assert {int(each.stat().st_mtime) for each in (package, other)} == {settings.epoch()}


@pytest.mark.parametrize(
    ("options", "path", "complaint"),
    [
        (["--offline"], "", "--offline needs --key"),
        (
            ["--key", "cosign.key"],
            "/nonexistent",
            "crane is not in PATH: tests/node/cluster/programs.sh crane builds",
        ),
        (
            ["--images", "/nonexistent"],
            "",
            f"policyd-{settings.version()}.oci.tar is missing: run make image",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, options: list[str], path: str, complaint: str) -> None:
    (tmp_path / f"policyd-{settings.version()}.oci.tar").touch()
    command = ["registry.example.com/team", "--images", str(tmp_path), *options]
    done = subprocess.run(
        [sys.executable, "-m", "tools.publish", *command],
        cwd=ROOT,
        env={**os.environ, "PATH": path or os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert complaint in done.stderr
