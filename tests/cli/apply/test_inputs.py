"""``policyd apply`` and files that are not, or not only, Kubernetes objects; which files are read."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.cli.apply import checking
from policyd.cli.apply.checked import CheckedObject
from policyd.cli.shared.manifests import is_excluded
from tests.builders.policies import demand, policy, rule

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n"
SKIPPED = [
    ("values.yaml", "replicaCount: 1\n", "both are missing"),
    ("kustomization.yaml", "kind: Kustomization\nresources: [pod.yaml]\n", "apiVersion is missing"),
    ("workflow.yml", "on: [push]\njobs: {}\n", "both are missing"),
    ("Chart.yaml", "apiVersion: v2\nname: shop\n", "kind is missing"),
    ("array.json", "[1, 2]", "a document must be an object with apiVersion and kind"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    seen = {
        "expression": "object.metadata.name != 'bad'",
        "messageExpression": "'in ' + object.metadata.namespace + ', ' + request.operation",
    }
    pods = rule("pods", operations=["*"])
    write("policy.json", json.dumps(policy("p", pods, validations=[seen])))
    write("deploy/pod.yaml", POD)
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(policyd, ["apply", "-p", "policy.json", *arguments], input=text)


@pytest.mark.parametrize(("name", "text", "why"), SKIPPED, ids=[row[0] for row in SKIPPED])
def test_a_file_without_objects_is_skipped_with_a_warning(name: str, text: str, why: str) -> None:
    write(f"deploy/{name}", text)
    done = run("deploy")
    assert done.exit_code == 0, done.output
    warning, summary = done.stderr.splitlines()
    assert warning.startswith(f"deploy/{name}:1:1: warning: skipped: ") and warning.endswith(why)
    assert summary == ("1 object: 1 admitted, 0 denied; 1 file skipped: not a Kubernetes object")


def test_policies_do_not_read_what_kustomize_reads() -> None:
    group = "kustomize.config.k8s.io/v1beta1"
    read = {"name": "own", "apiVersion": group, "kind": "Kustomization", "namespace": "any"}
    seen = {"expression": "reads.own.size() == 0"}
    write("policy.json", json.dumps(policy("p", rule("pods"), reads=[read], validations=[seen])))
    write("deploy/own.yaml", f"apiVersion: {group}\nkind: Kustomization\nmetadata: {{name: own}}\n")
    done = run("deploy")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("kind", ["Kustomization", "Component"])
def test_what_kustomize_reads_is_no_object(kind: str) -> None:
    write("deploy/own.yaml", f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: {kind}\n")
    done = run("deploy")
    assert done.exit_code == 0, done.output
    assert f"own.yaml:2:7: warning: skipped: a {kind} is not sent to the API server" in done.stderr
    done = run("deploy/pod.yaml", "deploy/own.yaml")
    assert done.exit_code == 2
    assert "hint: check what it makes: kustomize build DIR | policyd apply -" in done.stderr


def test_named_files_without_objects_are_skipped_if_told_so() -> None:
    write("values.yaml", "replicaCount: 1\n")
    done = run("values.yaml", "deploy/pod.yaml", "--skip-no-objects")
    assert done.exit_code == 0, done.output
    assert "values.yaml:1:1: warning: skipped: " in done.stderr
    done = run("values.yaml", "--skip-no-objects")
    assert done.exit_code == 0, done.output
    assert "0 objects: 0 admitted, 0 denied; 1 file skipped" in done.stderr
    write("broken.yaml", "a: [")
    assert run("broken.yaml", "--skip-no-objects").exit_code == 2


@pytest.mark.parametrize(("name", "text", "why"), SKIPPED, ids=[row[0] for row in SKIPPED])
def test_a_file_that_is_named_must_have_an_object(name: str, text: str, why: str) -> None:
    write(name, text)
    done = run("deploy", name)
    assert done.exit_code == 2
    assert f"{name}:1:1: error: " in done.stderr and why in done.stderr
    assert "1 object: 1 admitted, 0 denied; 1 problem in the files" in done.stderr


def test_a_document_without_kind_beside_objects_is_skipped() -> None:
    done = run("-", text=f"{POD}---\na: 1\n---\n{POD.replace('web', 'bad')}")
    assert done.exit_code == 1
    assert "-:6:1: warning: skipped: " in done.stderr
    assert "2 objects: 1 admitted, 1 denied; 1 document skipped" in done.stderr


def test_a_folder_without_any_object_is_an_error() -> None:
    write("charts/values.yaml", "a: 1\n")
    done = run("charts")
    assert done.exit_code != 0
    assert "charts/values.yaml:1:1: warning: skipped" in done.stderr
    assert "no manifests in charts" in str(done.exception)


def test_other_files_are_checked_where_one_cannot_be_read() -> None:
    write("deploy/broken.yaml", "a: [\n")
    write("deploy/zero.yaml", POD.replace("web", "bad"))
    done = run("deploy", "nowhere.yaml")
    assert done.exit_code == 2
    assert "denied  Pod bad   deploy/zero.yaml:3:18  p" in done.stdout
    assert "deploy/broken.yaml:1:4: error: " in done.stderr
    assert "nowhere.yaml: error: no such file or directory" in done.stderr
    assert "2 objects: 1 admitted, 1 denied; 2 problems in the files" in done.stderr
    for form in ("junit", "github"):
        assert "broken.yaml" in run("deploy", "--format", form).stdout


def test_a_template_names_the_command_that_renders_it() -> None:
    write("deploy/templates/pod.yaml", POD.replace("web", "{{ .Values.name }}"))
    done = run("deploy")
    assert done.exit_code == 2
    assert "deploy/templates/pod.yaml:3:" in done.stderr
    assert "hint: policyd reads no templates: render the chart first, with helm template" in (
        done.stderr
    )


EXCLUDED = [
    ("values.yaml", "chart/values.yaml", True),
    ("chart", "chart/values.yaml", True),
    ("chart/", "chart/deep/values.yaml", True),
    ("./chart/*.yaml", "./chart/values.yaml", True),
    ("templates/*", "a/templates/b/c.yaml", True),
    ("*.json", "a/b.json", True),
    ("b/*.yaml", "/root/a/b/c.yaml", True),
    ("values", "chart/values.yaml", False),
    ("hart", "chart/values.yaml", False),
    ("chart", "charts/values.yaml", False),
    ("values.yaml", "old-values.yaml", False),
]


@pytest.mark.parametrize(("glob", "name", "excluded"), EXCLUDED)
def test_files_are_excluded_by_the_end_of_their_path(glob: str, name: str, excluded: bool) -> None:
    assert is_excluded(name, [glob]) is excluded


def test_excluded_files_are_not_read() -> None:
    write("deploy/templates/pod.yaml", "{{ broken }}")
    write("deploy/values.yaml", "a: 1\n")
    done = run("deploy", "--exclude", "templates/*", "--exclude", "values.yaml")
    assert (done.exit_code, done.stderr) == (0, "1 object: 1 admitted, 0 denied\n")


def test_objects_without_a_namespace_are_in_the_one_given() -> None:
    text = POD.replace("web", "bad")
    assert "in default, CREATE" in run("-", text=text).stdout
    assert "in mail, CREATE" in run("-", "-n", "mail", text=text).stdout
    own = text.replace("{name: bad}", "{name: bad, namespace: shop}")
    assert "in shop, CREATE" in run("-", "--namespace", "mail", text=own).stdout
    write("old.yaml", text.replace("{name: bad}", "{name: bad, namespace: mail}"))
    done = run("-", "-n", "mail", "--old", "old.yaml", text=text + "---\n" + POD)
    assert "in mail, UPDATE" in done.stdout


def test_the_namespace_is_not_that_of_cluster_scoped_objects() -> None:
    told = {"expression": "false", "messageExpression": "request.?namespace.orValue('none')"}
    rules = rule("nodes", "namespaces")
    write("policy.json", json.dumps(policy("p", rules, validations=[told])))
    text = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\n"
    text += "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    rows = run("-", "-n", "mail", text=text).stdout.splitlines()[1:]
    assert [row.split()[-1] for row in rows] == ["none", "shop"]


@pytest.mark.parametrize(
    "kind",
    [
        "Namespace",
        '"Namesp\\u0061ce"',
        '"\\x4eamespace"',
        '"Name\\\n  space"',
        '"Name\\\u0085  space"',
        '"Name\\\u2028  space"',
        '"Name\\\u2029  space"',
        "!!binary TmFtZXNwYWNl",
        "!<tag:yaml.org,2002:%62inary> TmFtZXNwYWNl",
    ],
)
def test_labels_of_a_namespace_in_another_file_are_known(kind: str) -> None:
    selector = {"matchLabels": {"env": "prod"}}
    never = demand("false", "never")
    document = policy("p", rule("pods"), validations=[never])
    document["spec"]["matchConstraints"]["namespaceSelector"] = selector
    write("policy.json", json.dumps(document))
    assert run("deploy").exit_code == 0
    labelled = "{name: default, labels: {env: prod}}"
    write("deploy/z.yaml", f"apiVersion: v1\nkind: {kind}\nmetadata: {labelled}\n")
    assert run("deploy").exit_code == 1
    items = f"items: [{{metadata: {labelled}}}]"
    write("deploy/z.yaml", f"apiVersion: v1\nkind: NamespaceList\n{items}\n")
    assert run("deploy").exit_code == 1


@pytest.mark.parametrize(("form", "kept"), [("text", 1), ("json", 2), ("sarif", 2)])
def test_objects_are_forgotten_when_they_are_checked(
    form: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[CheckedObject] = []

    def write_nothing(options: object, checked: list[CheckedObject], *more: object) -> None:
        written.extend(checked)

    monkeypatch.setattr(checking, "write", write_nothing)
    write("deploy/pod.yaml", POD + "---\n" + POD.replace("web", "bad"))
    run("deploy", "--format", form)
    assert [each.document.name for each in written] == ["web", "bad"][-kept:]
    assert not any({*each.document.raw} - {"metadata"} for each in written)
    assert not any(each.document.origin.chunk.text for each in written)
    assert written[-1].place("metadata.name") == (8, 18)
