"""``policyd export``: documents on standard output, the summary, JSON, the exit status."""

import json
from pathlib import Path

import pytest
import yaml

from policyd.export.model import Reason
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load, load_text
from tests.cli.exporting import PLAIN, SLOW, SLOW_LINE, Pretend, part, pretending, run
from tests.sampling import sampled
from tests.shared import ROOT


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two policies in ``policies``."""
    (tmp_path / "policies").mkdir()
    for name, text in (("plain", PLAIN), ("slow", SLOW)):
        (tmp_path / "policies" / f"{name}.yaml").write_text(text.format(name=name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(name="pretend")
def _pretend(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    return pretending(monkeypatch)


def test_documents_are_printed_and_the_summary_is_not_among_them(folder: Path) -> None:
    status, output, errors = run("-p", "policies")
    assert status == 0
    policy, binding = yaml.safe_load_all(output)
    assert (policy["kind"], policy["metadata"]["name"]) == ("ValidatingAdmissionPolicy", "plain")
    assert policy["spec"]["validations"] == [
        {"expression": "object.metadata.name != 'x'", "message": "not x"}
    ]
    assert binding["kind"] == "ValidatingAdmissionPolicyBinding"
    assert binding["spec"]["policyName"] == "plain"
    assert left_out(binding) == ["kube-system", "policyd"]
    assert output.startswith("# Policy plain, policies/plain.yaml:1, for Kubernetes 1.37\n")
    first, second, reason, total, namespaces = errors.splitlines()
    assert first.split() == ["exported", "Policy", "plain", "policies/plain.yaml:1"]
    assert second.split() == ["not", "exported", "Policy", "slow", "policies/slow.yaml:1"]
    assert reason.startswith(f"    policies/slow.yaml:{SLOW_LINE}: spec.timeoutSeconds: ")
    assert total == "2 policies: 1 exported, 1 not exported"
    assert namespaces == "bindings leave out the namespaces kube-system, policyd, as webhooks do"


def left_out(binding: JSONObject) -> list[str]:
    """The namespaces that a binding leaves out."""
    (expression,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert (expression["key"], expression["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
    names: list[str] = expression["values"]
    return names


@pytest.mark.parametrize("static", [(), ("--static",)])
def test_namespaces_are_left_out_as_the_webhooks_do(folder: Path, static: tuple[str, ...]) -> None:
    given = ("-p", "policies", *static, "-n", "guard", "--exclude-namespace", "a")
    _, output, errors = run(*given)
    _, binding = yaml.safe_load_all(output)
    assert left_out(binding) == ["a", "guard"]
    assert "the namespaces a, guard, as" in errors
    _, output, errors = run("-p", "policies", *static, "-n", "", "--exclude-namespace", "")
    _, binding = yaml.safe_load_all(output)
    assert "matchResources" not in binding["spec"]
    assert "bindings leave out" not in errors


@pytest.mark.parametrize("option", ["-n", "--exclude-namespace"])
def test_a_namespace_that_cannot_exist_is_not_left_out(folder: Path, option: str) -> None:
    status, output, errors = run("-p", "policies", option, "kube-*")
    assert (status, output) == (2, "")
    assert "'kube-*' is no name of a namespace: a lowercase RFC 1123" in errors


def test_what_is_printed_decides_as_the_source(folder: Path) -> None:
    """The documents load without problems, for every version that has their APIs."""
    for version in ("1.30", "1.36", "1.37"):
        output = run("-p", "policies", "--kubernetes-version", version)[1]
        found = load_text(output)
        assert found.problems == ()
        assert len(found.documents) == 2
        assert f"for Kubernetes {version}\n" in output


def test_yaml_has_the_reasons_in_comments(folder: Path) -> None:
    status, output, errors = run("-p", "policies", "--format", "yaml")
    assert (status, errors) == (0, "")
    assert output.startswith("# Not exported: Policy slow, policies/slow.yaml:1\n#   policies/slow")
    assert len(list(yaml.safe_load_all(output))) == 2


def test_json_has_documents_and_reasons(folder: Path) -> None:
    status, output, errors = run("-p", "policies", "--format", "json")
    assert (status, errors) == (0, "")
    plain, slow = json.loads(output)
    documents = list(yaml.safe_load_all(run("-p", "policies")[1]))
    assert plain["parts"] == [
        {"webhook": "validate", "documents": documents, "reasons": [], "remarks": []}
    ]
    assert {key: plain[key] for key in ("kind", "name", "file", "line", "state")} == {
        "kind": "Policy",
        "name": "plain",
        "file": "policies/plain.yaml",
        "line": 1,
        "state": "exported",
    }
    assert slow["state"] == "not exported"
    (reason,) = slow["parts"][0]["reasons"]
    assert (reason["path"], reason["line"], reason["column"]) == (
        "spec.timeoutSeconds",
        SLOW_LINE,
        19,
    )


def test_strict_fails_unless_everything_is_exported(folder: Path) -> None:
    status, output, _ = run("-p", "policies", "--strict")
    assert status == 1
    assert output == run("-p", "policies")[1]
    assert run("-p", "policies/plain.yaml", "--strict")[0] == 0


def test_only_the_policies_that_are_named(folder: Path) -> None:
    status, output, errors = run("-p", "policies", "--strict", "plain")
    assert status == 0
    assert "slow" not in output + errors
    assert "1 policy: 1 exported\n" in errors
    status, output, errors = run("-p", "policies", "plan")
    assert (status, output, errors) == (2, "", "plan: no such policy; did you mean plain?")
    assert run("-p", "policies", "other")[2] == "other: no such policy; there are: plain, slow"


def test_remarks_are_listed_and_no_failure(pretend: Pretend) -> None:
    pretend(part(remarks=(Reason("spec.validations[0].message", "is worded\notherwise"),)))
    status, output, errors = run("-p", "policies", "--strict")
    assert status == 0
    shown = "remark: spec.validations[0].message: is worded"
    assert errors.splitlines()[0].startswith("with remarks ")
    assert f"    {shown}\n" in errors
    assert f"# {shown}\n# otherwise\napiVersion: " in output


def test_a_half_exported_policy_says_which_half_is_missing(pretend: Pretend) -> None:
    reason = Reason("spec.reinvocationPolicy", "cannot")
    pretend(part(), part("Mutating", documents=(), reasons=(reason,)))
    status, output, errors = run("-p", "policies", "--strict")
    assert status == 1
    assert "MutatingAdmissionPolicy" not in output
    assert "1 policy: 1 partly exported\n" in errors
    assert ": mutate: spec.reinvocationPolicy: cannot\n" in errors
    commented = run("-p", "policies", "--format", "yaml")[1]
    assert commented.startswith("# Partly exported: Policy plain, ")


def test_a_policy_without_documents_is_not_exported(pretend: Pretend) -> None:
    pretend()
    status, output, errors = run("-p", "policies", "--strict")
    assert (status, output) == (1, "")
    assert errors.startswith("not exported ")


def test_a_reason_about_the_whole_policy(pretend: Pretend) -> None:
    pretend(part(documents=(), reasons=(Reason("", "is not served"),)))
    assert "    policies/plain.yaml:1: is not served\n" in run("-p", "policies")[2]


def test_static_manifests_have_other_names(folder: Path) -> None:
    _, output, _ = run("-p", "policies", "--static")
    policy, binding = yaml.safe_load_all(output)
    assert policy["metadata"]["name"] == "plain.static.k8s.io"
    assert binding["spec"]["policyName"] == "plain.static.k8s.io"


def test_static_manifests_need_a_version_that_has_them(folder: Path) -> None:
    status, _, errors = run("-p", "policies", "--static", "--kubernetes-version", "1.35")
    assert status == 2
    assert errors == "Kubernetes 1.35 has no manifest-based admission control: it came with 1.36"


def test_a_name_that_the_api_server_reserves(folder: Path) -> None:
    name = "plain.static.k8s.io"
    (folder / "policies/plain.yaml").write_text(PLAIN.format(name=name))
    assert run("-p", "policies/plain.yaml", "--strict")[0] == 1
    assert "plain.yaml:3: metadata.name: Kubernetes 1.37 reserves" in run("-p", "policies")[2]
    assert run("-p", "policies/plain.yaml", "--strict", "--static")[0] == 1
    older = ("--kubernetes-version", "1.36")
    assert run("-p", "policies/plain.yaml", "--strict", *older)[0] == 0


WRONG = {
    "an invalid policy": (PLAIN.replace("object.m", "object.."), "policies/a.yaml:9:"),
    "no policy": ("{apiVersion: v1, kind: Namespace, metadata: {name: a}}", "no policies in "),
    "broken YAML": ("a: [\n", "policies/a.yaml:1:4:"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_invalid_input(text: str, message: str, folder: Path) -> None:
    (folder / "policies/a.yaml").write_text(text.format(name="a") if "{{" in text else text)
    status, output, errors = run("-p", "policies/a.yaml")
    assert (status, output) == (2, "")
    assert message in errors


def test_the_project_file_has_its_options(folder: Path) -> None:
    project = (
        "policies: [policies]\nkubernetesVersion: '1.36'\nexport: {strict: true, format: yaml}\n"
    )
    (folder / "policyd.yaml").write_text(project)
    status, output, errors = run()
    assert (status, errors) == (1, "")
    assert "for Kubernetes 1.36\n" in output


@pytest.mark.parametrize("static", sampled([(), ("--static",)]), ids=str)
def test_the_library(static: tuple[str, ...]) -> None:
    """What is exported of it loads, and every other policy has a reason or nothing to export."""
    policies = str(ROOT / "policies")
    status, output, _ = run("-p", policies, "--format", "json", *static)
    assert status == 0
    found = json.loads(output)
    names = {each.name for each in load([policies]).of_kind("Policy")}
    assert {each["name"] for each in found} >= names
    documents = [each for policy in found for part in policy["parts"] for each in part["documents"]]
    assert len(documents) >= 6
    stream = run("-p", policies, "--format", "yaml", *static)[1]
    loaded = load_text(stream)
    assert loaded.problems == ()
    assert [each.raw for each in loaded.documents] == documents
    for policy in found:
        for each in policy["parts"]:
            assert bool(each["documents"]) != bool(each["reasons"])
            assert all(reason["message"] and reason["line"] for reason in each["reasons"])
