"""The Python that Debian does not have: downloaded once, checked by its hash, and runnable."""

import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.release import headers, maven
from tools.release.settings import Target

INSIDE = "org/bytedeco/cpython/linux-arm64"
FILES = {
    f"{INSIDE}/bin/python3.12": "program",
    f"{INSIDE}/include/python3.12/Python.h": "header",
}


@pytest.fixture(name="downloads")
def _downloads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """What mvn was called with; it writes an archive of FILES, whose hash is the one wanted."""
    served, called = tmp_path / "served.jar", []
    with zipfile.ZipFile(served, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        called.append(command)
        (folder,) = (Path(word[18:]) for word in command if word.startswith("-DoutputDirectory="))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(served, folder / f"cpython-{maven.VERSION}-linux-arm64.jar")
        return subprocess.CompletedProcess(command, 0)

    digest = hashlib.sha256(served.read_bytes()).hexdigest()
    monkeypatch.setattr(maven, "_ARCHIVES", {"aarch64": ("arm64", digest)})
    monkeypatch.setattr(maven, "BUILD", tmp_path / "build")
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return called


def test_the_headers_of_a_machine_are_downloaded_once(downloads: list[list[str]]) -> None:
    for _ in range(2):
        found = headers.find(Target("3.12", "aarch64"))
        (folder,) = found.folders
        assert (folder / "Python.h").read_text() == "header"
        assert found.source == f"cpython {maven.VERSION}"
    (command,) = downloads
    assert f"-Dartifact=org.bytedeco:cpython:{maven.VERSION}:jar:linux-arm64" in command


def test_the_interpreter_can_be_run(downloads: list[list[str]]) -> None:
    assert os.access(maven.unpacked("aarch64") / "bin/python3.12", os.X_OK)


def test_an_archive_with_another_hash_is_refused_and_downloaded_again(
    downloads: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(maven, "_ARCHIVES", {"aarch64": ("arm64", "0" * 64)})
        with pytest.raises(SystemExit, match=f"; expected {'0' * 64}"):
            maven.unpacked("aarch64")
    maven.unpacked("aarch64")
    assert len(downloads) == 2


def test_a_machine_without_maven_learns_what_to_install(
    downloads: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SystemExit, match="apt-get install maven"):
        maven.unpacked("aarch64")
    assert not downloads
