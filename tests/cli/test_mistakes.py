"""Mistakes in documents and commands: each is answered with its place and a remedy.

Those of first policies, with what they are about, are in first_tries.
"""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from tests.cli.mistakes import BINDING, DOCUMENTS, FAIL, POD, POLICY, SUITE, VALIDATING

COMMANDS = [
    ("apply pod.yaml", "Missing option '-p' / '--policies'. Name a file or directory of policies"),
    (
        "apply --policy policy.yaml pod.yaml",
        "No such option '--policy'. Did you mean '--policies'?",
    ),
    ("apply -p policy.yaml -f pod.yaml", "Files need no option: policyd apply [PATHS]..."),
    ("lint -p policy.yaml", "policies are given as PATHS: policyd lint policy.yaml"),
    ("serve --port 8443", "No such option '--port'. Did you mean '--bind'?"),
    ("apply --output json -p policy.yaml pod.yaml", "Did you mean '--format'?"),
    ("apply --nothing", "No such option '--nothing'."),
    ("replay pod.yaml -p policy.yaml", "pod.yaml:1: not JSON at column 1: unexpected character"),
    (
        "apply policy.yaml --resource pod.yaml",
        "hint: policies are given with -p: policyd apply -p policy.yaml pod.yaml",
    ),
    ("apply -p 'a/*.yaml' pod.yaml", "no file matches: there is no directory a"),
    ("lint 'a/*.yaml'", "no file matches: there is no directory a"),
    ("lint '*.yml'", "hint: no file matches; there are: pod.yaml, policy.yaml"),
    ("apply -p '*.yml' pod.yaml", "hint: no file matches; there are: pod.yaml, policy.yaml"),
    ("apply -p policy.yaml '*.yaml'", "hint: wildcards are not expanded here, a shell expands"),
    ("apply -p policy.yml pod.yaml", "hint: did you mean policy.yaml?"),
    ("apply -p policy.yaml pod.yml", "hint: did you mean pod.yaml?"),
    ("eval object.kind pod.yml", "hint: did you mean pod.yaml?"),
    ("explain -p policy.yaml pods.yaml", "hint: did you mean pod.yaml?"),
    ("webhooks check -p policy.yaml -f pod.yml", "hint: did you mean pod.yaml?"),
    (
        "apply -p policy.yaml https://example.com/pod.yaml",
        "hint: download it first: curl -fsSLO https://example.com/pod.yaml",
    ),
    (
        "eval pod.yaml object.kind",
        "the expression comes before the file: policyd eval object.kind pod.yaml",
    ),
    ("eval object.kind 'size(object)' pod.yaml", "there is one expression: combine several in a"),
    ("webhooks match", "kubectl get validatingwebhookconfigurations"),
    ("webhooks match -f policy.yaml pod.yaml", "kubectl get validatingwebhookconfigurations"),
    ("eval object.kind", "hint: object is null: its content is that of FILE"),
    ("eval 1 --authorizer policy.yaml", "policy.yaml:1:1: expected a list of rules, got a Policy"),
    ("replay pod.yaml -p policy.yaml", "hint: give files of policyd serve --capture"),
    ("review -p pod.yaml policy.yaml", "with -p: policyd review -p policy.yaml pod.yaml"),
    ("apply -p pod.yaml policy.yaml", "with -p: policyd apply -p policy.yaml pod.yaml"),
    ("explain -p pod.yaml ./policy.yaml", "with -p: policyd explain -p ./policy.yaml pod.yaml"),
    (
        "apply -p policy.yaml pod.yaml --format sarif -o a.sarif",
        "standard output: policyd apply -p policy.yaml pod.yaml --format sarif > a.sarif",
    ),
    ("test --junit a.xml", "No such option '--junit'. Did you mean '--format junit'?"),
    ("review -p policy.yaml --mutate pod.yaml", "Did you mean '--webhook mutate'?"),
    ("test --min-coverage 9", "Did you mean '--coverage-min'?"),
    ("test --test-case-selector a", "Did you mean '--run'?"),
    ("test --coverage-min 0.9", "expected a percentage from 1 to 100, such as 90, got '0.9'"),
    ("test --coverage-min 101%", "expected a percentage from 1 to 100, such as 90, got '101%'"),
    (
        "review -p policy.yaml --groups a,b pod.yaml",
        "No such option '--groups'. Did you mean '--group'? Repeat it for each value.",
    ),
    (
        "webhooks match -p policy.yaml pod.yaml",
        "No such option '-p'. -f takes webhook configurations; policyd webhooks render prints "
        "those of policies.",
    ),
    ("explain -p policy.yaml --object pod.yaml", "Files need no option: policyd explain [FILE]"),
    ("apply -p policy.yaml pod.yaml --set a=b", "helm template CHART --set a=b | policyd apply"),
    ("apply -p policy.yaml --cluster -A", "No such option '-A'. --cluster checks all namespaces."),
    ("apply -p policy.yaml --as ann pod.yaml", "No such option '--as'. Did you mean '--user'?"),
    ("apply -p policy.yaml --as-group dev pod.yaml", "Did you mean '--group'?"),
    ("review -p policy.yaml --old-object pod.yaml pod.yaml", "Did you mean '--old'?"),
    ("apply -p policy.yaml --dry-run pod.yaml", "apply changes nothing in a cluster."),
    ("eval object.kind pod.yaml --params a=1", "Write --var 'params={…}', as JSON."),
    ("help lint", "No such command 'help'. Did you mean 'COMMAND --help'?"),
    (
        "apply -p policy.yaml,b.yaml pod.yaml",
        "hint: -p may be repeated: policyd apply -p policy.yaml -p b.yaml pod.yaml",
    ),
    (
        "explain no-binding",
        "hint: rules are explained by lint: policyd lint --explain no-binding",
    ),
    (
        "explain -p policy.yaml pod/web",
        "hint: FILE is a file, or -: kubectl get pod/web -o yaml | policyd explain -p policy.yaml -",
    ),
    ("init limits.yaml", "DIR is a directory, for the policy and its suite: policyd init limits"),
    ("apply -p policy.yaml pod.yaml -o sarif", "No such option '-o'. Did you mean '--format'?"),
]


# What a file holds, a command, and what is said.
POLICIES = "policies: [policy.yaml]\n"
FILES = [
    ("policyd.yaml", "policies: []\n", "lint", "policyd.yaml:1:11: policies: expected a path"),
    ("policyd.yaml", "policies: [a]\n", "lint", "policyd.yaml:1:12: policies[0]: a: no such file"),
    ("policyd.yaml", "policies: a\n", "apply pod.yaml", "policyd.yaml:1:11: policies: a: no such"),
    (
        "policyd.yaml",
        f"{POLICIES}lint: {{strict: 'yes'}}\n",
        "lint",
        "write true, without quotes",
    ),
    ("policyd.yaml", f"{POLICIES}color: true\n", "lint", "write one of auto, always, never"),
    (
        "policyd.yaml",
        f"{POLICIES}kubernetesVersion: 1.30\n",
        "lint",
        "hint: YAML reads this as the number 1.3: put it in quotes",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}lint: {{disable: [wildcards]}}\n",
        "lint",
        "policyd.yaml:2:17: lint.disable: there is no rule 'wildcards'; did you mean wildcard?",
    ),
    ("policyd.yaml", "policies: ['*.yml']\n", "lint", "policyd.yaml:1:13: policies[0]: *.yml: no"),
    ("policyd.yaml", "policies: ['*.yml']\n", "lint", "hint: no file matches; there are: pod.yaml"),
    ("policyd.yaml", "policies: ['*.yaml']\n", "lint", "hint: wildcards are not expanded here"),
    (
        "s.yaml",
        SUITE.replace("[policy.yaml]", "['*.yml']"),
        "test s.yaml policy.yaml",
        "hint: no file matches; there are: pod.yaml, policy.yaml, s.yaml",
    ),
    (
        "s.yaml",
        SUITE.replace("[policy.yaml]", "[m]"),
        "test s.yaml policy.yaml",
        "hint: name the file of the policy: policy.yaml",
    ),
    ("policyd.yaml", "policy: [a]\n", "lint", "hint: did you mean policies?"),
    (
        "policyd.yaml",
        f"{POLICIES}test: {{minCoverage: 9}}\n",
        "lint",
        "hint: did you mean coverageMin?",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}test: {{coverageMin: 0.9}}\n",
        "test",
        "expected a percentage from 1 to 100, such as 90, got '0.9'\n    test: {coverageMin: 0.9}\n"
        "                        ^",
    ),
    ("policyd.yaml", "kind: Config\n", "lint", "hint: remove it: the file has options only"),
    ("policyd.yaml", "lint: {rules: {a: off}}\n", "lint", "hint: write disable: [RULE]"),
    (
        "policyd.yaml",
        f"{POLICIES}strict: true\n",
        "lint",
        "write it below its command: lint: {strict",
    ),
    (
        "d/kustomization.yaml",
        "resources: [a]\n",
        "apply -p policy.yaml d",
        "hint: check what it makes: kustomize build d | policyd apply -p POLICIES -",
    ),
    ("d/a.yaml", "a: 1\n", "apply -p policy.yaml d", "hint: give files of Kubernetes objects"),
    ("d/a.txt", "a: 1\n", "apply -p policy.yaml d", "of directories only *.yaml, *.yml and"),
    ("a.yaml", POD.encode("utf-16"), "apply -p policy.yaml a.yaml", "UTF-16 is not read"),
    ("a.yaml", POD.encode("utf-16"), "apply -p policy.yaml a.yaml", "Out-File -Encoding utf8"),
    ("a.yaml", "# \xfc".encode("latin-1"), "lint a.yaml", "hint: save the file as UTF-8"),
    ("a.yaml.gz", POD, "apply -p policy.yaml a.yaml.gz", "with gzip, or rename it to a.yaml"),
    (
        "a.yaml",
        "image: a\n",
        "apply -p policy.yaml a.yaml",
        "hint: leave out files of other programs",
    ),
    (
        "a.yaml",
        "NAME READY\n",
        "apply -p policy.yaml a.yaml",
        "as kubectl prints them with -o yaml",
    ),
    ("a.yaml", "kind: Pod\n", "apply -p policy.yaml a.yaml", "hint: write apiVersion: v1 for the"),
    ("a.yaml", "# a\n", "apply -p policy.yaml a.yaml", "--skip-no-objects skips such files"),
    (
        "a.yaml",
        "apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n",
        "apply -p policy.yaml a.yaml",
        "hint: write apiVersion: apps/v1",
    ),
    (
        "a.yaml",
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n",
        "apply -p policy.yaml a.yaml",
        "hint: write apiVersion: networking.k8s.io/v1",
    ),
    (
        "a.json",
        '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
        "review -p policy.yaml a.json",
        "a.json: request is missing\n  hint: give an AdmissionReview as the API server sends it",
    ),
    (
        "s.yaml",
        SUITE.replace(
            "object: {apiVersion: v1, kind: Pod, metadata: {name: web}}", "objectFile: pood.yaml"
        ),
        "test s.yaml policy.yaml",
        "pood.yaml: No such file or directory: did you mean pod.yaml?",
    ),
    (
        "s.yaml",
        SUITE.replace(
            "object: {apiVersion: v1, kind: Pod, metadata: {name: web}}", "objectFile: pod.yaml"
        ).replace("  expect:", "  table: [{name: b, remove: [metadata.labels]}]\n  expect:"),
        "test s.yaml policy.yaml",
        "    s.yaml:9: metadata.labels: labels: the object has no such field; it has name",
    ),
    ("s.yaml", SUITE, "test s.yaml policy.yaml --run b", "matches no case; there are: s/a"),
    (
        "s.yaml",
        SUITE.replace("  expect:", "  table: [{name: b, set: {/spec/a: 1}}]\n  expect:"),
        "test s.yaml policy.yaml",
        "hint: write spec.a",
    ),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("pod.yaml").write_text(POD)


@pytest.mark.parametrize("document, old, new, place, remedy", DOCUMENTS)
def test_a_mistake_in_a_document(
    document: str, old: str, new: str, place: str, remedy: str
) -> None:
    assert document.count(old) == 1
    file = Path("mistaken.yaml")
    file.write_text(document.replace(old, new))
    others = [] if document is POLICY else ["policy.yaml"]
    done = CliRunner().invoke(policyd, ["lint", str(file), *others])
    found = [part for part in done.output.split(f"{file}:")[1:] if remedy in part]
    assert found, done.output
    assert found[0].startswith(f"{place}: "), found[0]


@pytest.mark.parametrize("old, new", [("matchConstraints:", "matchConstraint:"),
                                      ("validations:", "validation:"),
                                      ("resourceRules:", "rules:"),
                                      ("  validations:", "validations:"),
                                      ("  validations:", "\u00a0\u00a0validations:"),
                                      ("resources: [pods]", "kinds: [Pod]")])  # fmt: skip
def test_a_misspelt_field_is_not_missing_as_well(old: str, new: str) -> None:
    Path("policy.yaml").write_text(POLICY.replace(old, new))
    assert Path("policy.yaml").read_text() != POLICY
    assert "Required value" not in CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output


def test_a_binding_with_an_error_is_not_missing_as_well() -> None:
    for field in ("policy: m", "policyNme: m", "policyName: [m]"):
        Path("policy.yaml").write_text(
            f"{VALIDATING}---\n{BINDING.replace('policyName: m', field)}"
        )
        found = CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output
        assert "[no-binding]" not in found and "policyName" in found
    Path("policy.yaml").write_text(VALIDATING)
    assert "[no-binding]" in CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output


def test_variables_that_cannot_be_read_are_not_undeclared_as_well() -> None:
    for variables in ("{a: object.kind}", "[{nam: a, expression: object.kind}]"):
        text = POLICY.replace(FAIL, f"  variables: {variables}\n")
        Path("policy.yaml").write_text(text.replace("object.metadata.name", "variables.a"))
        found = CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output
        assert "undeclared" not in found and "undefined" not in found and "variables" in found


def test_an_expression_with_an_error_gets_no_advice_on_what_it_reads() -> None:
    text = POLICY.replace("metadata.name != 'x'", "metadata.labels.app.kubernetes.io/name != 'x'")
    Path("policy.yaml").write_text(text)
    found = CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output
    assert "write object.metadata.?labels[?'app.kubernetes.io/name'].orValue('')" in found
    assert "1 error, 0 advice" in found


@pytest.mark.parametrize("command, message", COMMANDS)
def test_a_mistake_in_a_command(command: str, message: str) -> None:
    done = CliRunner().invoke(policyd, shlex.split(command))
    assert done.exit_code != 0
    assert message in f"{done.output}{done.exception}"


@pytest.mark.parametrize("file, content, command, message", FILES)
def test_a_mistake_in_a_file(file: str, content: str | bytes, command: str, message: str) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    done = CliRunner().invoke(policyd, shlex.split(command))
    assert message in f"{done.output}{done.exception}"
    assert f"{done.output}{done.exception}".count(message) == 1


def test_values_of_options_may_be_in_lower_case() -> None:
    done = CliRunner().invoke(
        policyd, shlex.split("explain -p policy.yaml pod.yaml --operation update")
    )
    assert done.output.startswith("UPDATE Pod web")
    assert CliRunner().invoke(policyd, ["schema", "policyexception"]).exit_code == 0


def test_options_that_are_unlike_are_not_suggested() -> None:
    for command, option in (("test", "--quiet"), ("apply", "--sort"), ("explain", "--abject")):
        done = CliRunner().invoke(policyd, [command, option])
        assert done.output.endswith(f"No such option '{option}'.\n")


def test_a_percentage_may_have_its_sign() -> None:
    Path("s.yaml").write_text(SUITE)
    done = CliRunner().invoke(policyd, shlex.split("test s.yaml --coverage-min 20%"))
    assert "coverage: 66.7 %" in done.output and done.exit_code == 0


def test_an_error_is_not_called_a_denial() -> None:
    Path("policy.yaml").write_text(POLICY.replace("object.metadata.name", "object.spec.nodeName"))
    done = CliRunner().invoke(policyd, shlex.split("apply -p policy.yaml pod.yaml"))
    assert "1 object: 0 admitted, 0 denied, 1 error\nto explain the first error:" in done.output


def test_a_kind_that_kubernetes_has_not_is_corrected() -> None:
    Path("pod.yaml").write_text(POD.replace("kind: Pod", "kind: Pood"))
    done = CliRunner().invoke(policyd, shlex.split("apply -p policy.yaml pod.yaml"))
    assert "Kubernetes has no such kind; assumed: resource poods" in done.output
    assert "hint: did you mean Pod?" in done.output
