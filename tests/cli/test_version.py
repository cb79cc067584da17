"""``policyd version``, and that the version of policyd is written in one place."""

import json
import platform
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import policyd
from policyd.cli import version
from policyd.cli.version import EXTRAS
from policyd.versions import NEWEST, SUPPORTED
from tests.cli.within import answered as run
from tests.deploy.projects import Repository
from tests.shared import ROOT
from tools import tree
from tools.image import settings

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("flag", ["--json", "--format=json"])
def test_it_is_printed_for_programs(flag: str) -> None:
    status, printed = run("version", flag)
    found = json.loads(printed)
    assert status == 0
    assert found["version"] == policyd.__version__
    assert found["python"] == platform.python_version()
    assert found["cython"] == metadata.version("Cython")
    supported = [str(each) for each in SUPPORTED]
    assert found["kubernetes"] == {"default": str(NEWEST), "supported": supported}
    assert found["extras"] == dict.fromkeys(EXTRAS, True)
    assert found["commit"] is None or re.fullmatch("[0-9a-f]{40}(-dirty)?", found["commit"])


def test_it_is_printed_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        version, "EXTRAS", {"cluster": ("pytest",), "otel": ("pytest", "no-such-package")}
    )
    status, printed = run("version")
    first, *others = printed.splitlines()
    assert status == 0 and first.startswith(f"policyd {policyd.__version__}")
    assert others == [
        f"Python {platform.python_version()}, core compiled by Cython {metadata.version('Cython')}",
        "Kubernetes 1.30 to 1.38, by default 1.37",
        "extras: cluster",
    ]


def test_it_does_not_depend_on_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policyd.yaml").write_text("no: [such field\n")
    monkeypatch.chdir(tmp_path)
    assert run("version")[0] == 0


def test_extras_are_those_of_pyproject() -> None:
    named = {
        name: tuple(re.split("[><=]", each)[0] for each in needed)
        for name, needed in PROJECT["optional-dependencies"].items()
        if name not in ("dev", "docs", "fuzz", "release")  # of developers
    }
    assert named == EXTRAS


def commit_of(source: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The commit of policyd as if it were in this folder."""
    monkeypatch.setattr(policyd, "__file__", str(source / "policyd" / "__init__.py"))
    found: str | None = json.loads(run("version", "--json")[1])["commit"]
    return found


def test_the_commit_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = Repository(tmp_path / "source", {"policyd/__init__.py": "", "a.txt": ""})
    other = Repository(tmp_path / "other", {"b.txt": ""})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))  # as in a hook
    assert commit_of(checkout.folder, monkeypatch) == checkout.head()
    (checkout.folder / "a.txt").write_text("changed")
    assert commit_of(checkout.folder, monkeypatch) == f"{checkout.head()}-dirty"
    monkeypatch.setenv("PATH", "")
    assert commit_of(checkout.folder, monkeypatch) is None


ORIGINS = [
    ({"url": "https://host/policyd", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, "abc"),
    ({"url": "file:///policyd", "dir_info": {"editable": True}}, None),
    (None, None),
]


@pytest.mark.parametrize(("origin", "want"), ORIGINS)
def test_the_commit_of_an_installation(
    origin: object, want: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """https://packaging.python.org/en/latest/specifications/direct-url/"""
    info = tmp_path / "policyd-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: policyd\nVersion: 1\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert commit_of(tmp_path, monkeypatch) == want


def test_the_version_is_written_in_one_place() -> None:
    """The wheel and the image read that of policyd/__init__.py; whatever else names one agrees."""
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    assert settings.version() == policyd.__version__
    named = re.compile(r"\bpolicyd[-:=]{1,2}(\d+\.\d+\.\d+)\b")
    pages = [
        each for each in tree.files() if each.startswith(("README.md", "deploy/", "docs/start/"))
    ]
    found = {(page, each) for page in pages for each in named.findall((ROOT / page).read_text())}
    assert {"README.md", "deploy/base/deployment.yaml"} <= {page for page, _ in found}
    assert {each for _, each in found} == {policyd.__version__}
