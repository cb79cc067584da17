"""The wheel works without the source tree: in an empty environment, in another folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import policyd
from tests.shared import ROOT
from tools.tree import files

pytestmark = pytest.mark.slow

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: no-latest}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))"
    message: images need a tag
"""

PROGRAM = """\
import json, sys
from policyd import PolicySet
review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    "uid": "1", "operation": "CREATE", "name": "web", "namespace": "default",
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
    "requestResource": {"group": "", "version": "v1", "resource": "pods"},
    "userInfo": {"username": "me"}, "options": None, "oldObject": None, "dryRun": False,
    "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
               "spec": {"containers": [{"name": "web", "image": "web:latest"}]}}}}
print(json.dumps(PolicySet.load(["policy.yaml"]).review(review)["response"]))
"""


def run(*command: str | Path, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the sources; what the tree's own build compiled is not compiled again."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in (
        *files("policyd"),
        "setup.py",
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
    ):
        copy(ROOT / name, source / name)
    if (ROOT / "build" / "cython").exists():
        shutil.copytree(ROOT / "build" / "cython", source / "build" / "cython")
    platform = f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    for module in (ROOT / "policyd").rglob("*.so"):
        copy(module, source / "build" / f"lib.{platform}" / module.relative_to(ROOT))
    for settings in (ROOT / "build" / f"temp.{platform}").rglob("*.settings"):
        copy(settings, source / settings.relative_to(ROOT))
    arguments = ("--wheel", "--no-isolation", "--outdir", folder / "dist", source)
    run(sys.executable, "-m", "build", *arguments, cwd=folder)
    (built,) = (folder / "dist").glob("*.whl")
    return built


def copy(file: Path, target: Path) -> None:
    """Copy with the time of the last change, by which the build tells what is up to date."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, target)


def test_the_wheel_holds_what_it_should(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    core = ROOT / "policyd" / "_core"
    sources = [*core.rglob("*.pyx"), core / "cython_utility.c"]
    compiled = {str(each.relative_to(ROOT).with_suffix("")) + suffix for each in sources}
    assert compiled <= set(names)
    shipped = {each for each in files("policyd") if not each.endswith((".pyx", ".pxd"))}
    assert shipped <= set(names)
    assert [each for each in names if each.endswith((".pyx", ".pxd", ".c", ".html"))] == []
    assert [each for each in names if each.startswith(("tests/", "tools/", "loadtest/"))] == []


def test_the_wheel_runs_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "-q", "--no-compile", wheel, cwd=tmp_path)
    version = run(environment / "bin" / "policyd", "--version", cwd=tmp_path)
    assert policyd.__version__ in version
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    answer = json.loads(run(python, "-c", PROGRAM, cwd=tmp_path))
    assert answer["allowed"] is False
    assert "images need a tag" in answer["status"]["message"]
