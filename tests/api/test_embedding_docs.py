"""Every Python example of docs/embed/embedding.md runs, and prints what the page says."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import kopf
import pytest
from starlette.testclient import TestClient

from policyd import PolicySet, build_review
from tests.api.objects import POD
from tests.shared import ROOT

PAGE = next(ROOT.glob("docs/**/embedding.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What an example prints stands below it, in comments of their own.
PRINTED = re.compile(r"^# (.*)$", re.MULTILINE)


def examples() -> dict[str, str]:
    """The Python blocks by the heading above them; a second one has ``again`` behind it."""
    found: dict[str, str] = {}
    for section in PAGE.read_text().removeprefix("# ").split("\n## "):
        title = section.partition("\n")[0]
        for language, code in BLOCK.findall(section):
            if language == "python":
                found[f"{title} again" if title in found else title] = code
    return found


EXAMPLES = examples()
PRINTING = sorted(title for title, code in EXAMPLES.items() if PRINTED.search(code))
OTHERS = {"pytest", "A kopf operator", "FastAPI", "FastAPI again"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the policy of the page in it."""
    (text,) = [code for language, code in BLOCK.findall(PAGE.read_text()) if language == "yaml"]
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "memory-limits.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(title: str, folder: Path) -> dict[str, Any]:
    """The names that an example leaves behind."""
    file = folder / "example.py"
    file.write_text(EXAMPLES[title])
    return runpy.run_path(str(file))


def test_every_example_is_run_by_a_test() -> None:
    assert EXAMPLES.keys() == {*PRINTING, *OTHERS}
    assert len(PRINTING) == 3


@pytest.mark.parametrize("title", PRINTING)
def test_what_is_printed(title: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(title, folder)
    assert capsys.readouterr().out.splitlines() == PRINTED.findall(EXAMPLES[title])


def test_pytest(folder: Path) -> None:
    (folder / "test_policies.py").write_text(EXAMPLES["pytest"])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def validated(handler: Any, **request: Any) -> list[str]:
    """The warnings of kopf's handler; raises what kopf answers with."""
    warnings: list[str] = []
    user = {"username": "ann", "groups": ["dev"]}
    given: dict[str, Any] = {"new": None, "old": None, "dryrun": False, **request}
    handler(userinfo=user, namespace="shop", warnings=warnings, headers={}, **given)
    return warnings


def test_kopf(folder: Path) -> None:
    names = run("A kopf operator", folder)
    denied = "containers without a memory limit: app"
    for wrong in (
        {"new": POD, "operation": "CREATE"},
        {"new": POD, "old": POD, "operation": "UPDATE"},
    ):
        with pytest.raises(kopf.AdmissionError, match=denied) as raised:
            validated(names["validate_pod"], **wrong)
        assert raised.value.code == 422
    assert validated(names["validate_pod"], old=POD, operation="DELETE") == []
    limited = json.loads(json.dumps(POD))
    limited["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Mi"}}
    assert validated(names["validate_pod"], new=limited, operation="CREATE") == []
    with pytest.raises(kopf.PermanentError, match=denied):
        names["create_shop"](spec={"image": "nginx"}, name="web", namespace="shop")


def test_fastapi(folder: Path) -> None:
    policies = PolicySet.load("policies")
    client = TestClient(run("FastAPI", folder)["app"])
    review = build_review(POD)
    denied = client.post("/admission/validate", json=review).json()
    assert denied == policies.review(review)
    assert not denied["response"]["allowed"]
    mutated = client.post("/admission/mutate", json=review).json()
    assert mutated == policies.review(review, "mutate")
    assert client.get("/openapi.json").status_code == 200


def test_fastapi_takes_new_policies_into_use(folder: Path) -> None:
    client = TestClient(run("FastAPI again", folder)["app"])
    review = build_review(POD)
    assert not client.post("/admission/validate", json=review).json()["response"]["allowed"]
    (folder / "policies" / "memory-limits.yaml").unlink()
    generation = client.post("/reload").json()["generation"]
    assert generation == PolicySet.load("policies").generation
    assert client.post("/admission/validate", json=review).json()["response"]["allowed"]
