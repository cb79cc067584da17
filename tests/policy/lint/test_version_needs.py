"""Which Kubernetes version expressions need, and what lint reports where a target is older."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cel.env import Environment
from policyd.cli.lint import command
from policyd.policy.lint.all import in_documents, in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.version_needs import needs, newer, newer_apis, newest_need
from policyd.policy.source.loader import load_text
from policyd.versions import KubernetesVersion

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: named}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  validations:
    - expression: >-
        object.spec.containers.all(c, c.name != '')
        && semver('1.2.3').major() == 1
      message: name them
    - expression: "[3].includes(3)"
      message: include it
"""
MUTATING = """\
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: early}
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("object.spec.x.startsWith('a')", []),
        ("ip('10.0.0.1').family() == 4 && isQuantity('1')", []),
        ("[1].exists_one(x, x == 1)", []),
        ("format.named('date').hasValue()", [("1.31", "function format.named()")]),
        ("[1].all(i, v, v > 0)", [("1.32", "macro all()")]),
        ("{'a': 1}.transformMap(k, v, v)", [("1.32", "macro transformMap()")]),
        ("[1].first().hasValue()", [("1.33", "function first()")]),
        ("[2, 1].sortBy(x, x)", [("1.34", "macro sortBy()")]),
        ("[[1]].flatten()", [("1.34", "function flatten()")]),
        ("[1].includes(1)", [("1.37", "function includes()")]),
        ("object.`a`", [("1.37", "field `a` in backquotes")]),
        ("object.?`a-b`.hasValue()", [("1.37", "field `a-b` in backquotes")]),
        # Any type: one of the overloads is old.
        ("dyn(object.x).reverse()", [("1.34", "function reverse()")]),
        ("dyn(object.x).isGreaterThan(dyn(object.y))", []),
    ],
)
def test_what_an_expression_needs(text: str, wanted: list[tuple[str, str]]) -> None:
    checked = Environment.kubernetes().check(text)
    assert [(str(need.version), need.what) for need in needs(checked)] == wanted


def test_what_is_newer_than_the_target_has_its_place() -> None:
    sources = load_text(POLICY, "named.yaml")
    assert list(in_policies(LintRun(sources, target=KubernetesVersion(1, 37)), newer)) == []
    found = list(in_policies(LintRun(sources, target=KubernetesVersion(1, 32)), newer))
    assert [(each.message, each.line, each.severity) for each in found] == [
        ("function semver() needs Kubernetes 1.33; the target is 1.32", 10, "error"),
        ("function major() needs Kubernetes 1.33; the target is 1.32", 10, "error"),
        ("function includes() needs Kubernetes 1.37; the target is 1.32", 12, "error"),
    ]
    (policy,) = LintRun(sources).policies
    need = newest_need(policy)
    assert need is not None
    assert (policy.document.name, str(need.version)) == ("named", "1.37")


def test_policies_that_the_api_server_of_the_target_does_not_serve() -> None:
    sources = load_text(MUTATING, "early.yaml")
    (found,) = in_documents(LintRun(sources, target=KubernetesVersion(1, 33)), newer_apis)
    assert found.message == (
        "MutatingAdmissionPolicy v1beta1 is served since Kubernetes 1.34; the target is 1.33"
    )
    assert (found.rule, found.severity, found.line) == ("newer-policy-api", "advice", 1)
    assert list(in_documents(LintRun(sources, target=KubernetesVersion(1, 34)), newer_apis)) == []


def test_lint_reports_what_is_newer_and_what_policies_need(tmp_path: Path) -> None:
    file = tmp_path / "named.yaml"
    file.write_text(POLICY)
    result = CliRunner().invoke(command, ["--target", "1.36", str(file)])
    assert result.exit_code == 1
    assert "includes() needs Kubernetes 1.37; the target is 1.36" in result.output
    assert "semver" not in result.output
    assert "Policy named needs Kubernetes 1.37: function includes()" in result.output
    assert CliRunner().invoke(command, ["--target", "1.37", str(file)]).exit_code == 0
    older = ["--kubernetes-version", "1.36", "--target", "1.37", str(file)]
    refused = CliRunner().invoke(command, older)
    assert "--target 1.37 is newer than --kubernetes-version 1.36" in refused.output
