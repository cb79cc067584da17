"""What `make image` writes: equal bytes for equal files, and an image with nothing that a server does not need.

Tests of a whole image need one: they are skipped unless `make image` was run.
"""

import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared import ROOT
from tools.image import debian, oci, settings, sources, tree, wheels

ARCHIVE = settings.BUILD / f"policyd-{settings.version()}.oci.tar"
# Of the compressed layers, in megabytes; it has 43, the image made with Debian's tools had 54.
LARGEST = 60
# The machines of ELF files.
ELF = {"amd64": 62, "arm64": 183}
JSONDocument = dict[str, Any]
Built = tuple[JSONDocument, dict[str, tarfile.TarInfo], JSONDocument]


def test_the_time_of_files_is_that_of_the_commit_or_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    command = ["git", "show", "--no-patch", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert settings.epoch() == int(done.stdout)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    assert settings.epoch() == 12
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="set SOURCE_DATE_EPOCH"):
        settings.epoch()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run tar as another user")
def test_packages_are_unpacked_by_other_users_as_by_root() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("tmp")
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(entry)
    with tempfile.TemporaryDirectory() as scratch:
        os.chown(scratch, 65534, 65534)
        command = debian.extracting(Path(scratch))
        subprocess.run(command, input=packed.getvalue(), check=True, user=65534, umask=0o022)
        assert stat.S_IMODE(Path(scratch, "tmp").stat().st_mode) == 0o1777


def files(root: Path) -> Path:
    """A few files, links and folders, made in another order each time it is called."""
    (root / "b").mkdir(parents=True)
    (root / "b/program").write_text("#!/bin/sh\n")
    (root / "b/program").chmod(0o755)
    (root / "a").write_text("a")
    (root / "link").symlink_to("a")
    os.link(root / "a", root / "second")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    return root


def test_a_layer_does_not_depend_on_times_owners_and_umask(tmp_path: Path) -> None:
    first, second = files(tmp_path / "1"), files(tmp_path / "2")
    os.utime(second / "a", (1, 1))
    (second / "a").chmod(0o600)
    made = [oci.layer("x", root, root.rglob("*"), 0) for root in (first, second)]
    assert made[0].diff_id == made[1].diff_id
    assert made[0].packed == made[1].packed


def test_a_layer_keeps_what_is_executable_sticky_or_a_link(tmp_path: Path) -> None:
    root = files(tmp_path / "root")
    made = oci.layer("x", root, root.rglob("*"), 7)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(made.packed))) as archive:
        found = {each.name: each for each in archive}
        content = archive.extractfile("second")
        assert content is not None and content.read() == b"a"
    assert {name: each.mode for name, each in found.items()} == {
        "a": 0o644,
        "b": 0o755,
        "b/program": 0o755,
        "link": 0o777,
        "second": 0o644,
        "tmp": 0o1777,
    }
    assert found["link"].linkname == "a"
    assert {(each.uid, each.gid, each.mtime) for each in found.values()} == {(0, 0, 7)}


def test_an_archive_has_the_blobs_that_its_index_names(tmp_path: Path) -> None:
    root = files(tmp_path / "root")
    image = oci.Image("x", "1", {"User": "1"}, 0, [oci.layer("x", root, root.rglob("*"), 0)])
    other = oci.Image("x", "1", {"User": "2"}, 0, image.layers, architecture="arm64")
    digests = oci.write([image, other], tmp_path / "x.tar")
    assert digests == oci.write([image, other], tmp_path / "y.tar")
    assert (tmp_path / "x.tar").read_bytes() == (tmp_path / "y.tar").read_bytes()
    assert len(set(digests.values())) == len({"index", "amd64", "arm64"} & digests.keys()) == 3
    for architecture, user in (("amd64", "1"), ("arm64", "2")):
        manifest, config, _ = contents(tmp_path / "x.tar", architecture)
        assert (config["architecture"], config["os"]) == (architecture, "linux")
        assert config["config"] == {"User": user}
        assert len(manifest["layers"]) == 1


def ours(folder: Path, tags: str, **files: str) -> Path:
    """A wheel of policyd with only these modules."""
    wheel = folder / f"policyd-{settings.version()}-{tags}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"policyd/{name}.py", text)
    return wheel


@pytest.mark.parametrize(
    ("tags", "architecture"),
    [
        ("cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64", "arm64"),
        ("cp311-cp311-manylinux_2_28_aarch64", "arm64"),
        ("cp311-cp311-linux_x86_64", "amd64"),
        ("cp312-cp312-manylinux_2_28_aarch64", None),
        ("cp311-cp311-musllinux_1_2_aarch64", None),
        ("cp311-cp311-macosx_11_0_arm64", None),
    ],
)
def test_wheels_that_are_given(tmp_path: Path, tags: str, architecture: str | None) -> None:
    wheel = ours(tmp_path, tags, errors=(ROOT / "policyd/errors.py").read_text())
    for platform in (settings.AMD64, settings.ARM64):
        expected = wheel if platform.architecture == architecture else None
        assert wheels.given(tmp_path, platform) == expected


def test_no_wheel_is_given_in_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    assert wheels.given(tmp_path / "dist", settings.ARM64) is None


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"errors": "old"}, r"policyd/errors\.py differs"),
        ({"removed": ""}, r"policyd/removed\.py differs"),
    ],
)
def test_wheels_of_another_tree_are_refused(
    tmp_path: Path, files: dict[str, str], complaint: str
) -> None:
    ours(tmp_path, "cp311-cp311-manylinux_2_28_aarch64", **files)
    with pytest.raises(SystemExit, match=complaint):
        wheels.given(tmp_path, settings.ARM64)


def test_two_wheels_of_one_architecture_are_refused(tmp_path: Path) -> None:
    for tags in ("manylinux_2_28_aarch64", "linux_aarch64"):
        ours(tmp_path, f"cp311-cp311-{tags}")
    with pytest.raises(SystemExit, match="2 wheels for arm64: keep one"):
        wheels.given(tmp_path, settings.ARM64)


def test_a_wheel_is_unpacked_with_its_programs(tmp_path: Path) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("demo/__init__.py", "")
        archive.writestr("demo-1.0.dist-info/RECORD", "")
        archive.writestr(
            "demo-1.0.dist-info/entry_points.txt", "[console_scripts]\ndemo = demo.cli:main\n"
        )
    tree.install(wheel, tmp_path / "root")
    tree.launcher(tmp_path / "root", "demo")
    program = tmp_path / "root" / tree.HOME / "bin/demo"
    assert "from demo.cli import main" in program.read_text()
    assert program.stat().st_mode & 0o111
    assert not list((tmp_path / "root").rglob("RECORD"))


def test_two_wheels_with_one_file_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with zipfile.ZipFile(tmp_path / f"{name}-1-py3-none-any.whl", "w") as archive:
            archive.writestr("same.py", "")
            archive.writestr(f"{name}-1.dist-info/RECORD", "")
    tree.install(tmp_path / "one-1-py3-none-any.whl", tmp_path / "root")
    with pytest.raises(SystemExit, match=r"both have same\.py"):
        tree.install(tmp_path / "two-1-py3-none-any.whl", tmp_path / "root")


def test_licences_of_a_debian_package(tmp_path: Path) -> None:
    copyrights = tmp_path / "usr/share/doc/zlib1g"
    copyrights.mkdir(parents=True)
    (copyrights / "copyright").write_text(
        "Files: *\nLicense: Zlib\n text\n\nFiles: x\nLicense: MIT\n"
    )
    package = debian.Package("zlib1g", "1", "amd64", "zlib", "")
    assert debian.licences(tmp_path, package) == ["MIT", "Zlib"]


def test_the_lock_has_every_dependency() -> None:
    text = settings.LOCK.read_text()
    locked = {line.partition("==")[0] for line in text.splitlines() if "==" in line}
    for each in settings.dependencies():
        name = each.replace(">", "=").replace("<", "=").partition("=")[0].strip().lower()
        assert name in {one.replace("_", "-").lower() for one in locked}, (
            f"run: python -m tools.image lock ({name})"
        )
    assert text.count("--hash=sha256:") >= len(locked)


def test_the_image_of_the_manifests_is_of_this_version() -> None:
    deployment = yaml.safe_load((ROOT / "deploy/base/deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"policyd:{settings.version()}"


def test_docker_builds_the_same() -> None:
    """docker cannot be run here: this compares what both say."""
    lines = (ROOT / "deploy/Dockerfile").read_text().splitlines()
    said = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in lines if line[:1].isupper()}
    assert said["ARG"] == f"PYTHON={settings.PYTHON}"
    assert said["USER"] == f"{tree.USER}:{tree.USER}"
    assert json.loads(said["ENTRYPOINT"]) == ["policyd"]
    assert json.loads(said["CMD"]) == ["serve", "--policies", "/policies"]
    assert sum("compileall" in line for line in lines) == 2
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [
        name
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert {f"!{name}" for name in copied} <= set(ignored)


def architectures(archive: Path) -> list[str]:
    """Which images the index has; none without an archive."""
    if not archive.exists():
        return []
    with tarfile.open(archive) as tar:
        blobs = {each.name: tar.extractfile(each) for each in tar}
        (index,) = json.load(blobs["index.json"])["manifests"]  # type: ignore[arg-type]
        listed = json.load(blobs[f"blobs/{index['digest'].replace(':', '/')}"])  # type: ignore[arg-type]
    return [each["platform"]["architecture"] for each in listed["manifests"]]


def contents(
    archive: Path, architecture: str = "amd64"
) -> tuple[dict[str, Any], dict[str, Any], dict[str, bytes]]:
    """The manifest, the configuration and the layers of an image; every digest is checked."""
    with tarfile.open(archive) as tar:
        blobs = {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]
    for name, data in blobs.items():
        if name.startswith("blobs/sha256/"):
            assert hashlib.sha256(data).hexdigest() == name.rpartition("/")[2]

    def read(descriptor: dict[str, Any]) -> bytes:
        data = blobs[f"blobs/{descriptor['digest'].replace(':', '/')}"]
        assert len(data) == descriptor["size"]
        return data

    (index,) = json.loads(blobs["index.json"])["manifests"]
    images = {
        each["platform"]["architecture"]: each for each in json.loads(read(index))["manifests"]
    }
    manifest = json.loads(read(images[architecture]))
    layers = {each["digest"]: read(each) for each in manifest["layers"]}
    return manifest, json.loads(read(manifest["config"])), layers


@pytest.fixture(name="image", scope="module")
def _image() -> Built:
    """The configuration, the files by path, and the SBOM of the image that was built."""
    if not ARCHIVE.exists():
        pytest.skip("needs an image: run make image")
    _, config, layers = contents(ARCHIVE)
    found: dict[str, tarfile.TarInfo] = {}
    sbom: JSONDocument = {}
    for packed in layers.values():
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
            for each in archive:
                found[each.name] = each
                if each.name.endswith(".cdx.json"):
                    sbom = json.loads(archive.extractfile(each).read())  # type: ignore[union-attr]
    assert sum(map(len, layers.values())) < LARGEST * 1e6
    return config["config"], found, sbom


def test_the_image_runs_policyd_as_an_ordinary_user(image: Built) -> None:
    config, found, _ = image
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["policyd"]
    assert found["opt/policyd/bin/policyd"].mode == 0o755
    assert found["opt/policyd/bin/python"].linkname == "/usr/bin/python3.11"


@pytest.mark.parametrize("platform", settings.PLATFORMS, ids=lambda each: each.architecture)
def test_programs_and_libraries_are_of_the_architecture(platform: settings.Platform) -> None:
    """A wheel may say in its name what is not in it."""
    if platform.architecture not in architectures(ARCHIVE):
        pytest.skip(
            f"needs an image for {platform.architecture}: a wheel in dist/, then make image"
        )
    _, _, layers = contents(ARCHIVE, platform.architecture)
    machines = set()
    for packed in layers.values():
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
            for each in archive:
                if each.isfile():
                    head = archive.extractfile(each).read(20)  # type: ignore[union-attr]
                    if head.startswith(b"\x7fELF"):
                        machines.add(int.from_bytes(head[18:20], "little"))
    assert machines == {ELF[platform.architecture]}


def test_the_image_has_no_shell_and_no_package_manager(image: Built) -> None:
    _, found, _ = image
    programs = {path.rpartition("/")[2] for path in found if "/bin/" in path or "/sbin/" in path}
    assert programs == {"policyd", "python", "python3.11"}
    names = {path.split("/")[-1].partition("-")[0] for path in found if path.endswith(".dist-info")}
    assert not {"pip", "setuptools", "wheel", "Cython"} & names
    assert not any(path.startswith(("var/cache/", "var/lib/apt/", "root/.cache")) for path in found)


def test_every_module_of_the_image_is_compiled(image: Built) -> None:
    _, found, _ = image
    modules = [
        path
        for path in found
        if path.startswith(f"{tree.PACKAGES}/policyd/") and path.endswith(".py")
    ]
    modules += [
        f"usr/lib/python3.11/{name}.py" for name in ("ssl", "asyncio/events", "json/decoder")
    ]
    assert len(modules) > 200
    for path in modules:
        folder, _, name = path.rpartition("/")
        assert f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-311.pyc" in found


def test_the_bill_of_materials_lists_what_is_there(image: Built) -> None:
    _, found, sbom = image
    listed = {each["purl"].partition("?")[0]: each for each in sbom["components"]}
    for path in found:
        if path.endswith(".dist-info"):
            name, version = path.rpartition("/")[2].removesuffix(".dist-info").split("-")
            component = listed[f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"]
            assert component["licenses"], name
    packages = {path.rpartition("/")[2] for path in found if "var/lib/dpkg/status.d/" in path}
    assert packages == set(settings.PACKAGES)
    assert packages == {
        each["name"] for purl, each in listed.items() if purl.startswith("pkg:deb/")
    }
    inside = {part["name"]: part for each in listed.values() for part in each.get("components", ())}
    assert {"libuv", "libyaml", "openssl", "re2", "pyo3"} <= inside.keys()
    assert inside["libuv"]["version"].startswith("1.")
    references = [each["bom-ref"] for each in sbom["components"]]
    assert len(references) == len(set(references))


def test_a_copy_of_the_sources_keeps_what_is_compiled_and_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_of = tmp_path / "tree"
    for name in ("setup.py", "policyd/a.pyx", "policyd/gone.pyx", "policyd/b.py"):
        (tree_of / name).parent.mkdir(parents=True, exist_ok=True)
        (tree_of / name).write_text(name)
    (tree_of / "policyd/a.so").write_text("of the tree, not of the image")
    monkeypatch.setattr(settings, "ROOT", tree_of)
    made = tmp_path / "copy"
    sources.copy(made)
    before = sources.key()
    compiled = "build/lib.x/policyd/a.cpython-311.so"
    kept = [compiled, "build/cython/policyd/a.c", "build/temp.x/policyd/a.settings"]
    for name in (*kept, "build/lib.x/policyd/gone.cpython-311.so", "build/lib.x/policyd/b.py"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("")
    (tree_of / "policyd/gone.pyx").unlink()
    (tree_of / "policyd/b.py").write_text("changed")
    times = (made / "policyd/a.pyx").stat().st_mtime_ns
    sources.copy(made)
    files = {str(each.relative_to(made)) for each in made.rglob("*") if each.is_file()}
    assert files == {*kept, "compilers", "setup.py", "policyd/a.pyx", "policyd/b.py"}
    assert (made / "policyd/b.py").read_text() == "changed"
    assert (made / "policyd/a.pyx").stat().st_mtime_ns == times
    assert sources.key() != before
    (tree_of / "setup.py").write_text("other flags")
    sources.copy(made)
    assert not (made / kept[0]).exists()
