"""``policyd explain`` of files with several objects, and the choice of one of them."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import demand, policy, rule

FILE = """\
# first
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: b}
- apiVersion: v1
  kind: Pod
  metadata: {name: a, namespace: mail}
---
apiVersion: v1
kind: Pod
metadata: {generateName: job-}
---
replicaCount: 1
---
apiVersion: v1
kind: Namespace
metadata: {name: mail, labels: {env: prod}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    checks = [
        demand("!('env' in namespaceObject.metadata.labels)", "not in production"),
        demand("object.metadata.namespace != 'other'", "not here"),
        demand("request.operation != 'UPDATE'", "no updates"),
    ]
    pods = rule("pods", operations=["*"])
    (tmp_path / "policy.json").write_text(json.dumps(policy("p", pods, validations=checks)))
    (tmp_path / "all.yaml").write_text(FILE)
    return tmp_path


def explain(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(policyd, ["explain", "-p", "policy.json", *arguments], input=text)


BY = " by policyd, with the API server's defaults"


def objects(done: Result) -> list[str]:
    """The first line of each explanation, and its second."""
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    lines = done.stdout.splitlines()
    return [
        f"{line.removeprefix('CREATE ').removesuffix(BY)} {lines[at + 1][:7].strip()}"
        for at, line in enumerate(lines)
        if line.endswith(BY)
    ]


EACH = [
    "Pod a in namespace shop ALLOWED",
    "Pod b in namespace default ALLOWED",
    "Pod a in namespace mail DENIED",
    "Pod in namespace default ALLOWED",
    "Namespace mail in namespace mail ALLOWED",
]


def test_each_object_is_explained_with_its_place() -> None:
    done = explain("all.yaml")
    assert objects(done) == EACH
    heads = [line for line in done.stdout.splitlines() if line.startswith("==")]
    assert heads == [
        "== all.yaml:2 Pod shop/a ==",
        "== all.yaml:9 Pod b ==",
        "== all.yaml:12 Pod mail/a ==",
        "== all.yaml:16 Pod ==",
        "== all.yaml:22 Namespace mail ==",
    ]
    assert done.stderr == (
        "all.yaml:20:1: warning: skipped: a document needs apiVersion and kind; both are missing\n"
        "warning: namespaces shop and default: labels (read by p) are not known and count as missing\n"
        "  hint: give --namespace-labels, or add Namespace objects to the manifests or policies\n"
    )
    assert "not in production" in done.stdout


SELECTED = [
    ("Pod/a", ["Pod a in namespace shop ALLOWED", "Pod a in namespace mail DENIED"]),
    ("pod/mail/a", ["Pod a in namespace mail DENIED"]),
    ("POD/b", ["Pod b in namespace default ALLOWED"]),
    ("Pod/default/b", ["Pod b in namespace default ALLOWED"]),
    ("Pod/job-", ["Pod in namespace default ALLOWED"]),
    ("namespace/mail", ["Namespace mail in namespace mail ALLOWED"]),
]


@pytest.mark.parametrize(("name", "found"), SELECTED)
def test_one_is_selected(name: str, found: list[str]) -> None:
    assert objects(explain("all.yaml", "--select", name)) == found


@pytest.mark.parametrize("name", ["Pod/c", "Service/a", "Pod/shop/b"])
def test_candidates_are_listed_if_none_is_found(name: str) -> None:
    done = explain("all.yaml", "--select", name)
    assert done.exit_code != 0 and done.stdout == ""
    assert str(done.exception) == (
        f"--select {name}: no such object in all.yaml; there are: Pod/shop/a, Pod/b, Pod/mail/a, "
        "Pod/job-, Namespace/mail"
    )


def test_a_single_object_has_no_heading() -> None:
    assert explain("all.yaml", "--select", "Pod/b").stdout.startswith("CREATE Pod b")


def test_json_is_one_document_for_each_object() -> None:
    text, decoder, found = explain("all.yaml", "--format", "json").stdout, json.JSONDecoder(), []
    while text.strip():
        value, end = decoder.raw_decode(text.lstrip())
        found.append((value["file"], value["line"], value["object"], value["allowed"]))
        text = text.lstrip()[end:]
    assert [row[-1] for row in found] == [True, True, False, True, True]
    assert found[0][:3] == ("all.yaml", 2, "Pod shop/a")
    assert len({row[1] for row in found}) == len(found)


def test_json_of_a_single_object_has_no_place() -> None:
    done = explain("all.yaml", "--select", "Pod/b", "--format", "json")
    assert set(json.loads(done.stdout)) == {"allowed", "webhooks"}


def test_options_are_those_of_every_object(folder: Path) -> None:
    labels = ("--namespace-labels", "a=b")
    done = explain("all.yaml", "-n", "other", *labels)
    assert objects(done)[1].startswith("Pod b in namespace other")
    assert objects(done)[0].startswith("Pod a in namespace shop ALLOWED")
    assert "not here" in done.stdout
    (folder / "old.yaml").write_text(FILE[: FILE.index("---")])
    done = explain("all.yaml", *labels, "--old", "old.yaml")
    assert done.stdout.count("UPDATE Pod a in namespace shop") == 1
    assert done.stdout.count("CREATE Pod") == 3


def test_several_reviews_are_explained_as_they_are() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    reviews = [build_review(pod, user=user) for user in ("ann", "bob")]
    done = explain("-", text="".join(map(json.dumps, reviews)))
    users = [line for line in done.stdout.splitlines() if line.startswith("CREATE")]
    assert [line.rpartition(" ")[2] for line in users] == ["ann", "bob"]


def test_a_compressed_file_is_read(folder: Path) -> None:
    (folder / "all.yaml.gz").write_bytes(gzip.compress(FILE.encode()))
    assert objects(explain("all.yaml.gz")) == EACH
    (folder / "bad.yaml.gz").write_bytes(b"x")
    assert "bad.yaml.gz: " in str(explain("bad.yaml.gz").exception)


def test_a_template_or_no_object_is_an_error() -> None:
    for text, why in (
        ("a: {{ .x }}", "helm template"),
        ("a: 1", "both are missing"),
        ("", "no man"),
    ):
        done = explain("-", text=text)
        assert done.exit_code != 0 and why in str(done.exception)
