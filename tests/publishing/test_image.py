"""The image in a registry: one index, signed, with attestations of what it is made of."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.programs import program
from tests.publishing.conftest import SOURCE, Published, publish
from tests.publishing.registry import Tools
from tests.shared import ROOT
from tools.image import settings
from tools.publish import SIGNATURE
from tools.supply.environments import installed


@pytest.fixture(name="images")
def _images(tools: Tools, published: Published) -> dict[str, str]:
    """The images of the index, by architecture."""
    printed = tools.output("crane", "manifest", "--insecure", published.image)
    place, _, _ = published.image.partition("@")
    return {
        each["platform"]["architecture"]: f"{place}@{each['digest']}"
        for each in json.loads(printed)["manifests"]
    }


def test_the_tag_is_the_index_that_was_built(tools: Tools, published: Published) -> None:
    place, _, digest = published.image.partition("@")
    found = tools.output("crane", "digest", "--insecure", f"{place}:{settings.version()}")
    assert found.strip() == digest
    with tarfile.open(settings.BUILD / f"policyd-{settings.version()}.oci.tar") as archive:
        index = archive.extractfile("index.json")
        assert index is not None
        (described,) = json.load(index)["manifests"]
    assert described["digest"] == digest


def test_the_index_has_every_architecture_that_there_is_a_wheel_for(
    images: dict[str, str],
) -> None:
    wheels = {
        each.architecture
        for each in settings.PLATFORMS
        if any(settings.WHEELS.glob(f"policyd-*-cp311-cp311-*linux*_{each.machine}.whl"))
    }
    assert images.keys() == {"amd64", *wheels}


def test_index_and_images_are_signed(
    tools: Tools, published: Published, images: dict[str, str]
) -> None:
    place, _, _ = published.image.partition("@")
    for each in (f"{place}:{settings.version()}", published.image, *images.values()):
        for options in ((), ("--type", SIGNATURE)):  # `cosign verify` counts attestations, too
            done = tools.verify(each, *options)
            assert done.returncode == 0, done.stderr
    done = tools.verify(published.image, key="other")
    assert done.returncode != 0
    assert "failed to verify signature" in done.stderr


def test_provenance_of_the_index(tools: Tools, published: Published) -> None:
    statement = tools.statement(published.image, "slsaprovenance1")
    _, _, digest = published.image.partition("@sha256:")
    assert [each["digest"] for each in statement["subject"]] == [{"sha256": digest}]
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["version"] == settings.version()
    names = {each["name"] for each in definition["resolvedDependencies"]}
    assert {"policyd", "libc6 (amd64)", "orjson (amd64)"} <= names


@pytest.mark.parametrize(("kind", "field"), [("cyclonedx", "components"), ("spdxjson", "packages")])
def test_bills_of_materials_of_each_image(
    tools: Tools, images: dict[str, str], kind: str, field: str
) -> None:
    for architecture, image in images.items():
        statement = tools.statement(image, kind)
        _, _, digest = image.partition("@sha256:")
        assert [each["digest"] for each in statement["subject"]] == [{"sha256": digest}]
        found = {each["name"] for each in statement["predicate"][field]}
        assert {"policyd", "libc6", "orjson"} <= found, architecture


def test_what_is_published_again_is_signed_and_attested_once(
    tools: Tools, published: Published, images: dict[str, str]
) -> None:
    places = [published.image, *images.values(), published.chart]

    def attached() -> list[str]:
        """Signatures and attestations of image and chart, by digest."""
        tree = ["cosign", "tree", "--allow-http-registry"]
        return sorted(line for each in places for line in tools.output(*tree, each).splitlines())

    before = attached()
    assert publish(tools, published.host) == published
    assert attached() == before
    publish(tools, published.host, key="next")
    for each in places:
        assert tools.verify(each, "--type", SIGNATURE, key="next").returncode == 0, each
    assert tools.verify(published.image, "--type", "slsaprovenance1", key="next").returncode == 0


def test_what_is_not_attested_is_not_verified(tools: Tools, published: Published) -> None:
    assert tools.verify(published.image, "--type", "vuln").returncode != 0


def test_spdx_is_valid() -> None:
    validator = installed("pyspdxtools")
    for file in settings.BUILD.glob(f"policyd-{settings.version()}-*.spdx.json"):
        done = subprocess.run([validator, "-i", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_of_kubectl(tools: Tools, tmp_path: Path) -> None:
    """Krew installs the archive, and kubectl runs it although no Python of policyd is on the path."""
    kubectl = program("kubectl")
    name = settings.BUILD / f"policyd-{settings.version()}"
    archive, manifest = f"{name}-kubectl-linux-amd64.tar.gz", f"{name}.krew.yaml"
    krew = ["krew", "install", f"--manifest={manifest}", f"--archive={archive}"]
    tools.output(kubectl, *krew, KREW_ROOT=str(tmp_path / "krew"))
    policy = str(ROOT / "policies/best-practices/disallow-latest-tag")
    for arguments, expected in (
        (["version"], settings.version()),
        (["lint", policy], "0 errors"),
        (["test", policy], "ok "),
        (["review", "--help"], "Usage: policyd review"),
    ):
        done = subprocess.run(
            [kubectl, "policyd", *arguments],
            env={"PATH": f"{tmp_path}/krew/bin:/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout + done.stderr


def test_the_source_is_that_which_was_named(published: Published, chart: Path) -> None:
    with tarfile.open(chart) as package:
        described = package.extractfile("policyd/Chart.yaml")
        assert described is not None
        assert SOURCE in described.read().decode()
