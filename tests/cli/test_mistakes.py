"""Mistakes in documents and commands: each is answered with its place and a remedy.

Those of first policies, with what they are about, are in first_tries.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.shared.groups import TableGroup
from tests.cli.mistaken_commands import COMMANDS
from tests.cli.mistaken_files import FILES
from tests.cli.mistakes import BINDING, DOCUMENTS, FAIL, POD, POLICY, SUITE, VALIDATING


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


def _suggested() -> Iterator[tuple[click.Group, str]]:
    """The commands that groups suggest for words of other tools."""
    for words in (), ("webhooks",), ("bench",):
        group: click.Command = policyd
        for word in words:
            assert isinstance(group, click.Group)
            group = group.get_command(click.Context(group), word) or group
        assert isinstance(group, TableGroup)
        for names in group.elsewhere.values():
            yield from ((group, name) for name in names if name != "COMMAND --help")


def test_every_command_that_is_suggested_exists() -> None:
    found = list(_suggested())
    assert len(found) > 50
    for group, name in found:
        command: click.Command = group
        for word in name.split():
            context = click.Context(command)
            if word.startswith("--"):
                assert any(word in each.opts for each in command.params), name
                continue
            assert isinstance(command, click.Group)
            inner = command.get_command(context, word)
            assert inner is not None, name
            command = inner


@pytest.mark.parametrize("command", ["apply", "review", "explain"])
def test_a_policy_without_a_binding_is_named(command: str) -> None:
    Path("policy.yaml").write_text(VALIDATING)
    words = [command, "-p", "policy.yaml", "pod.yaml"]
    done = CliRunner().invoke(policyd, words)
    assert done.exit_code == 0
    assert done.stderr.startswith(
        "policy.yaml:3:18: warning: metadata.name: no binding: without a "
        "ValidatingAdmissionPolicyBinding the policy has no effect\n"
    )
    assert "  hint: add a binding, or use a policyd.dev/v1 Policy, which needs none" in done.stderr
    Path("policy.yaml").write_text(f"{VALIDATING}---\n{BINDING}")
    assert "binding" not in CliRunner().invoke(policyd, words).stderr


@pytest.mark.parametrize("command", ["apply", "review --webhook mutate", "explain"])
@pytest.mark.parametrize(
    ("operation", "marked", "remedy"),
    [
        (
            "op: 'add', path: '/metadata/annotations/owner', value: 'shop'",
            "'/metadata",
            "write (has(object.metadata.annotations) ? [] : [JSONPatch{op: 'add', path: "
            "'/metadata/annotations', value: {}}]) + [JSONPatch{…}], or in a Policy an Overlay",
        ),
        (
            "op: 'remove', path: '/metadata/annotations/a.b~1c'",
            "'/metadata",
            "write 'a.b/c' in object.metadata.?annotations.orValue({}) ? [JSONPatch{…}] : []",
        ),
        (
            "op: 'remove', path: '/metadata/labels/' + 'x'",
            "+ 'x'",
            "write 'x' in object.metadata.?labels.orValue({}) ? [JSONPatch{…}] : []",
        ),
        (
            "op: 'replace', path: '/spec/affinity/podAffinity', value: {}",
            "'/spec",
            "write has(object.spec.affinity) ? [JSONPatch{…}] : []",
        ),
        (
            "op: 'move', from: '/metadata/labels/y', path: '/metadata/labels/x'",
            "'/metadata/labels/y",
            "write 'y' in object.metadata.?labels.orValue({}) ? [JSONPatch{…}] : []",
        ),
    ],
)
def test_an_operation_that_fails_is_named(
    command: str, operation: str, marked: str, remedy: str
) -> None:
    mutations = f"""\
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{{{operation}}}]
"""
    Path("policy.yaml").write_text(POLICY.replace(FAIL, mutations))
    done = CliRunner().invoke(policyd, [*command.split(), "-p", "policy.yaml", "pod.yaml"])
    assert "JSON Patch: " in done.stdout
    place = f"policy.yaml:12:{mutations.splitlines()[-1].index(marked) + 1}"
    assert f"{place}: error: spec.mutations[0].jsonPatch.expression: /" in done.stderr
    assert f"  hint: {remedy}" in done.stderr
    assert done.stderr.count(" error: ") == 1
