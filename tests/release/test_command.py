"""``python -m tools.release``: a version is checked before anything is built, and tagged after all is."""

import subprocess
import sys
from pathlib import Path

import pytest

from policyd import __version__
from tools.image import debian
from tools.release import __main__ as release
from tools.release import (
    archives,
    compiling,
    headers,
    notes,
    programs,
    settings,
    suites,
    tagging,
)
from tools.release.settings import Target


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]) -> list[str]:
    """Run the command; what it did, in order. Nothing is compiled and no repository is changed."""
    done: list[str] = []

    def build(wanted: list[Target]) -> release.Built:
        done.append(f"build {len(wanted)}")
        (tmp_path / "a.whl").write_bytes(b"x")
        return release.Built([tmp_path / "a.whl"], ["Zig 1"])

    def check(version: str) -> tagging.Release:
        done.append(f"check {version}")
        if version != __version__:
            raise SystemExit("cannot be released")
        return tagging.Release(version, "1234567", "- A thing.")

    monkeypatch.setattr(release, "DIST", tmp_path)
    monkeypatch.setattr(release, "build", build)
    monkeypatch.setattr(tagging, "check", check)
    monkeypatch.setattr(tagging, "tag", lambda checked: done.append(f"tag {checked.version}"))
    monkeypatch.setattr(sys, "argv", ["release", *arguments])
    try:
        release.main()
    except SystemExit:
        done.append("failed")
    return done


@pytest.mark.parametrize(
    ("arguments", "want", "files"),
    [
        ([], ["build 8"], ["SHA256SUMS", "a.whl"]),
        (["--only", "3.13-aarch64"], ["build 1"], ["SHA256SUMS", "a.whl"]),
        (
            ["--version", __version__],
            [f"check {__version__}", "build 8", f"tag {__version__}"],
            ["RELEASE_NOTES.md", "SHA256SUMS", "a.whl"],
        ),
        (["--version", "9.9.9"], ["check 9.9.9", "failed"], []),
        (["--version", __version__, "--only", "3.13-aarch64"], ["failed"], []),
        (["--version", f"v{__version__}"], ["failed"], []),
        (["--version", "1.2"], ["failed"], []),
        (["--version", "1.2.3rc1"], ["failed"], []),
        (["--only", "3.10-aarch64"], ["failed"], []),
    ],
)
def test_what_is_built_and_tagged(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    want: list[str],
    files: list[str],
) -> None:
    assert run(monkeypatch, tmp_path, arguments) == want
    assert sorted(each.name for each in tmp_path.iterdir()) == files
    if "RELEASE_NOTES.md" in files:
        text = (tmp_path / notes.NOTES).read_text()
        assert "- A thing." in text


def test_headers_that_are_missing_end_a_release_before_anything_is_compiled_or_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def find(target: Target) -> headers.Headers:
        if target.python == "3.12":
            raise SystemExit("Python 3.12 is downloaded by mvn: apt-get install maven")
        return headers.Headers((), "")

    (tmp_path / "of the last release.whl").touch()
    monkeypatch.setattr(release, "DIST", tmp_path)
    monkeypatch.setattr(programs, "installed", lambda: tmp_path)
    monkeypatch.setattr(headers, "find", find)
    for step, module in (("modules", compiling), ("plain", archives)):
        monkeypatch.setattr(module, step, lambda *_: pytest.fail("too early"))
    with pytest.raises(SystemExit, match="apt-get install maven"):
        release.build(settings.targets())
    assert [each.name for each in tmp_path.iterdir()] == ["of the last release.whl"]


def test_apt_reads_one_release_of_debian_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    monkeypatch.setattr(suites, "mirror", lambda: "http://mirror.example/debian")
    monkeypatch.setattr(debian, "apt", lambda words, _: called.append(words))
    found = suites.options("trixie", "arm64")
    assert called == [[*found, "update"]]
    values = dict(word.split("=", 1) for word in found if word != "-o")
    assert values["APT::Architecture"] == "arm64"
    assert values["Dir::Etc::sourceparts"] == "-"
    sources = Path(values["Dir::Etc::sourcelist"]).read_text()
    assert sources.endswith("] http://mirror.example/debian trixie main\n")


@pytest.mark.parametrize(
    ("listed", "want"),
    [
        ("Debian http://m/debian/\n", "http://m/debian/"),
        ("Other http://o/debian/\nDebian http://m/debian-security/\nDebian http://m/debian/\n", "http://m/debian/"),
        ("Debian http://m/debian-security/\n", "apt has no package lists of Debian: run apt-get update, on Debian 12"),
    ],
)  # fmt: skip
def test_the_mirror_is_that_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, listed: str, want: str
) -> None:
    result = subprocess.CompletedProcess([], 0, stdout=listed)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: result)
    try:
        found = suites.mirror()
    except SystemExit as problem:
        found = str(problem)
    assert found == want
