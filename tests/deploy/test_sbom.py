"""The software bill of materials matches the schema of CycloneDX, for an image of a few packages."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tools.image import debian, provenance, sbom, spdx, tree

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
{rest}
"""


def wheel(folder: Path, name: str, version: str, rest: str, **files: str) -> Path:
    """A wheel of nothing but its metadata; ``files`` are beside them."""
    made = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    information = f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(made, "w") as archive:
        text = METADATA.format(name=name, version=version, rest=rest)
        archive.writestr(f"{information}/RECORD", "")
        archive.writestr(f"{information}/METADATA", text)
        for file, content in files.items():
            archive.writestr(f"{information}/{file}", content)
    return made


Made = tuple[dict[str, Any], list[Path]]


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The document of a small image, and its wheels."""
    folder = tmp_path_factory.mktemp("sbom")
    root = folder / "root"
    inner = {
        "components": [
            {
                "name": "pyo3",
                "version": "0.29",
                "purl": "pkg:cargo/pyo3@0.29",
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            }
        ]
        * 2
    }
    wheels = [
        wheel(folder, "policyd", "1.0", "License-Expression: Apache-2.0"),
        wheel(folder, "Some_Thing", "2.0", "License: BSD-3-Clause", **{"sboms/x.json": json.dumps(inner)}),
        wheel(folder, "classified", "3", "Classifier: License :: OSI Approved :: MIT License"),
        wheel(folder, "worded", "4", "License: Do what you want"),
    ]  # fmt: skip
    for each in wheels:
        tree.install(each, root)
    copyrights = root / "usr/share/doc/zlib1g"
    copyrights.mkdir(parents=True)
    (copyrights / "copyright").write_text("License: Zlib\n")
    package = debian.Package("zlib1g", "1:1.2.13+b1", "amd64", "zlib", "", "ab" * 32)
    return dict(sbom.document(root, [package], wheels, root)), wheels


def test_it_matches_the_schema(made: Made) -> None:
    document, _ = made
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(document)) is None
    # The validator is one that finds mistakes.
    document = json.loads(json.dumps(document))
    document["components"][0]["hashes"] = [{"alg": "SHA-256", "content": "short"}]
    assert validator.validate_str(json.dumps(document)) is not None


def test_components_have_hashes_licences_and_urls(made: Made) -> None:
    document, wheels = made
    digests = {hashlib.sha256(each.read_bytes()).hexdigest() for each in wheels} | {"ab" * 32}
    found = {each["name"]: each for each in document["components"]}
    assert set(found) == {"policyd", "zlib1g", "Some_Thing", "classified", "worded"}
    assert all(each["licenses"] for each in found.values())
    assert {each["hashes"][0]["content"] for each in found.values()} == digests
    assert found["zlib1g"]["purl"].startswith("pkg:deb/debian/zlib1g@1%3A1.2.13%2Bb1?")
    assert found["Some_Thing"]["purl"] == "pkg:pypi/some-thing@2.0"
    assert [part["name"] for part in found["Some_Thing"]["components"]] == ["pyo3"]


def test_every_part_is_a_dependency_of_the_image(made: Made) -> None:
    document, _ = made
    (image,) = document["dependencies"]
    assert image["ref"] == document["metadata"]["component"]["bom-ref"] == "image"
    assert set(image["dependsOn"]) == {each["bom-ref"] for each in document["components"]}


def test_spdx_has_the_same_packages(made: Made) -> None:
    document, _ = made
    converted: dict[str, Any] = {**spdx.document(document, "arm64")}
    assert converted == spdx.document(document, "arm64")
    packages = {each["name"]: each for each in converted["packages"]}
    for component in document["components"]:
        package = packages[component["name"]]
        assert package["versionInfo"] == component["version"]
        assert package["checksums"][0]["checksumValue"] == component["hashes"][0]["content"]
        assert package["externalRefs"][0]["referenceLocator"] == component["purl"]
    assert packages["pyo3"]["licenseDeclared"] == "MIT OR Apache-2.0"
    assert packages["worded"]["licenseDeclared"] == "NOASSERTION"
    assert packages["worded"]["licenseComments"] == "As the package words it: Do what you want"
    identities = {each["SPDXID"]: each["name"] for each in converted["packages"]}
    assert len(identities) == len(converted["packages"])
    contained = {
        (identities[each["spdxElementId"]], identities[each["relatedSpdxElement"]])
        for each in converted["relationships"]
        if each["relationshipType"] == "CONTAINS"
    }
    assert ("Some_Thing", "pyo3") in contained
    assert ("policyd-arm64", "zlib1g") in contained


def test_provenance_names_all_that_was_unpacked(made: Made) -> None:
    document, _ = made
    predicate: dict[str, Any] = {
        **provenance.predicate({"amd64": document, "arm64": document}, "git+https://x.example", "b")
    }
    source, *rest = predicate["buildDefinition"]["resolvedDependencies"]
    assert source["uri"] == "git+https://x.example"
    assert len(source["digest"]["gitCommit"]) == 40
    names = {each["name"] for each in document["components"]}
    assert {each["name"] for each in rest} == {
        f"{name} ({architecture})" for name in names for architecture in ("amd64", "arm64")
    }
    assert all(len(each["digest"]["sha256"]) == 64 for each in rest)
    assert predicate["runDetails"]["builder"] == {"id": "b"}
