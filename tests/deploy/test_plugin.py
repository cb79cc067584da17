"""The plugin of kubectl that is made of the files of an image."""

import hashlib
import tarfile
from pathlib import Path

import pytest
import yaml

from tools.image import plugin, settings, tree

URL = "https://example.com/releases/v1"


def image(scratch: Path, platform: settings.Platform) -> None:
    """A few files of an image."""
    root = scratch / platform.architecture
    shared = root / "usr/lib" / f"{platform.machine}-linux-gnu"
    for name in (
        f"usr/bin/python{settings.PYTHON}",
        f"usr/lib/python{settings.PYTHON}/os.py",
        f"{tree.PACKAGES}/policyd/__init__.py",
        f"{tree.OPENSSL_CONFIGURATION}",
        "usr/share/doc/libc6/copyright",
        "usr/share/sbom/policyd.cdx.json",
        str((shared / "libx.so.1.2").relative_to(root)),
        str((shared / "ld-linux-x.so.1").relative_to(root)),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (shared / "libx.so.1").symlink_to("libx.so.1.2")
    (root / "usr/share/doc/libc6/changelog").symlink_to(__file__)  # out of the image


@pytest.mark.parametrize(
    "platforms", [settings.PLATFORMS, settings.PLATFORMS[:1]], ids=["both", "amd64"]
)
def test_archives_and_manifest(tmp_path: Path, platforms: tuple[settings.Platform, ...]) -> None:
    scratch, output = tmp_path / "scratch", tmp_path / "output"
    output.mkdir()
    for each in platforms:
        image(scratch, each)
    made = yaml.safe_load(plugin.write_all(scratch, output, URL))
    assert made["spec"]["version"] == f"v{settings.version()}"
    assert made["spec"]["homepage"] == URL
    assert len(made["spec"]["platforms"]) == len(platforms)
    for entry, platform in zip(made["spec"]["platforms"], platforms, strict=True):
        assert entry["selector"]["matchLabels"] == {"os": "linux", "arch": platform.architecture}
        archive = output / entry["uri"].removeprefix(f"{URL}/")
        assert entry["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
        with tarfile.open(archive) as packed:
            files = {each.name: each for each in packed}
            launcher = packed.extractfile(entry["bin"])
            assert launcher is not None
            assert b'exec "$here/lib/ld-linux-x.so.1"' in launcher.read()
        assert {each.type for each in files.values()} == {tarfile.REGTYPE, tarfile.DIRTYPE}
        for name in (entry["bin"], f"bin/python{settings.PYTHON}", "lib/ld-linux-x.so.1"):
            assert files[name].mode == 0o755
        assert {"lib/libx.so.1", "packages/policyd/__init__.py", "policyd.cnf"} <= files.keys()
        assert {"share/doc/libc6/copyright", "share/sbom/policyd.cdx.json"} <= files.keys()
        assert "share/doc/libc6/changelog" not in files
