"""``policyd import``: documents, summary, files, tests of the source, exit statuses."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tests.builders.policies import demand, document, rule
from tests.importers.kyverno.classic import cluster_policy, pattern
from tests.importers.sources import small_pod, write

REGO = document(
    "templates.gatekeeper.sh/v1",
    "ConstraintTemplate",
    "k8srequiredlabels",
    {
        "crd": {"spec": {"names": {"kind": "K8sRequiredLabels"}}},
        "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": "package x"}],
    },
)


def vpol(name: str = "named", **more: Any) -> JSONObject:
    spec = {
        "validationActions": ["Deny"],
        "matchConstraints": {"resourceRules": [rule("pods", operations=["CREATE"])]},
        "validations": [demand("object.metadata.name != 'bad'", "the name is bad")],
    }
    return document("policies.kyverno.io/v1", "ValidatingPolicy", name, {**spec, **more})


# A remark: policyd scans with all policies. Requests are decided alike.
NO_SCANS = {"background": {"enabled": False}}
CLUSTER_POLICY = cluster_policy(pattern({"metadata": {"labels": {"team": "?*"}}}), name="named")


def kyverno_test(*results: tuple[str, str]) -> JSONObject:
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "policies": ["../p.yaml"],
        "resources": ["../pods.yaml"],
        "results": [
            {
                "policy": "named",
                "kind": "Pod",
                "resources": [name],
                "result": expected,
                "isValidatingPolicy": True,
            }
            for name, expected in results
        ],
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy that is imported, one that is not, and tests of the first."""
    monkeypatch.chdir(tmp_path)
    return write(
        tmp_path,
        {
            "in/a/p.yaml": vpol(),
            "in/a/pods.yaml": [small_pod("good"), small_pod("bad")],
            "in/a/.kyverno-test/kyverno-test.yaml": kyverno_test(("good", "pass"), ("bad", "fail")),
            "in/b/rego.yaml": REGO,
        },
    )


def run(*arguments: str, text: str | None = None) -> Result:
    result = CliRunner().invoke(policyd, ["import", *arguments], input=text)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_documents_go_to_one_stream_and_the_summary_to_the_other(folder: Path) -> None:
    done = run("in")
    assert done.exit_code == 0
    assert done.stdout.startswith("# Imported from ValidatingPolicy named, a/p.yaml\n")
    (document,) = yaml.safe_load_all(done.stdout)
    assert document["spec"]["validations"][0]["message"] == "the name is bad"
    lines = done.stderr.splitlines()
    assert lines[0].split()[:3] == ["imported", "ValidatingPolicy", "named"]
    assert "in/b/rego.yaml:" in lines[2]
    assert "best-practices/required-labels of policyd's library is about the same" in lines[2]
    assert lines[-1] == "2 policies: 1 imported, 1 not imported"


def test_in_shadow_every_policy_has_a_rollout_that_enforces_nowhere(folder: Path) -> None:
    done = run("in", "--shadow", "-o", "out", "--verify")
    assert "2 of 2 rows of the tests of imported policies agree" in done.stdout
    (document,) = yaml.safe_load_all(Path("out/a/named.yaml").read_text())
    assert document["spec"].pop("rollout") == {"enforce": {}}
    (enforced,) = yaml.safe_load_all(run("in").stdout)
    assert document == enforced


def test_a_rule_that_cannot_be_imported_is_named(folder: Path) -> None:
    verified = {"name": "made", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
    made = cluster_policy(
        pattern({"metadata": {"name": "good"}}, name="named"),
        {**verified, "generate": {"kind": "ConfigMap", "name": "a"}},
        name="named",
    )
    rows = kyverno_test(("good", "pass"), ("bad", "fail"), ("bad", "pass"), ("good", "pass"))
    for row, rule_name in zip(rows["results"], ("named", "named", "made", ""), strict=True):
        del row["isValidatingPolicy"]
        row["rule"] = rule_name
    test = "part/a/.kyverno-test/kyverno-test.yaml"
    pods = [small_pod("good"), small_pod("bad")]
    write(folder, {"part/a/p.yaml": made, "part/a/pods.yaml": pods, test: rows})
    told = "spec.rules[1].generate: the rule made is left out: policyd does not create objects"
    done = run("part", "-o", "out", "--verify")
    assert done.exit_code == 0, done.stdout
    lines = " ".join(done.stdout.split())
    assert lines.startswith("in part ClusterPolicy named part/a/p.yaml:")
    assert told in lines
    assert "1 policy: 1 in part" in lines
    assert lines.count("not run: ClusterPolicy named") == 2
    assert lines.count("not imported: the rule made") == 2
    assert lines.endswith("2 of 2 rows of the tests of imported policies agree")
    (written,) = Path("out/a").glob("named.yaml")
    assert f"remark: {told}" in " ".join(written.read_text().replace("\n#", "").split())
    assert run("part", "--strict").exit_code == 1


def test_yaml_has_the_reasons_in_comments(folder: Path) -> None:
    done = run("in", "--format", "yaml")
    assert done.stdout.startswith("# Not imported: ConstraintTemplate k8srequiredlabels, in/b/rego")
    assert [each["kind"] for each in yaml.safe_load_all(done.stdout)] == ["Policy"]
    assert done.stderr == ""


def test_json_lists_policies_with_states_and_rows(folder: Path) -> None:
    done = run("in", "--format", "json", "--verify")
    first, second = json.loads(done.stdout)
    assert (first["state"], second["state"]) == ("imported", "not imported")
    assert first["documents"][0]["metadata"]["name"] == "named"
    assert [(each["object"], each["found"], each["state"]) for each in first["tests"]] == [
        ("Pod good", "pass", "agrees"),
        ("Pod bad", "fail", "agrees"),
    ]
    assert second["reasons"][0]["line"] > 0


def test_standard_input_is_a_stream_that_may_hold_lists(folder: Path) -> None:
    given = {"apiVersion": "v1", "kind": "List", "items": [vpol("one"), vpol("two")]}
    done = run("-", text=f"{json.dumps(given)}\n{json.dumps(vpol('three'))}")
    names = [each["metadata"]["name"] for each in yaml.safe_load_all(done.stdout)]
    assert names == ["one", "two", "three"]


def test_files_lie_where_their_sources_do_with_suites(folder: Path) -> None:
    done = run("in", "-o", "out")
    assert done.exit_code == 0, done.output
    assert sorted(str(each) for each in Path("out").rglob("*.yaml")) == [
        "out/a/named-suite.yaml",
        "out/a/named.yaml",
    ]
    assert "wrote 2 files to out" in done.stderr
    tested = CliRunner().invoke(policyd, ["test", "out"])
    assert tested.exit_code == 0, tested.output
    assert "2 cases" in tested.output


def test_files_that_were_edited_are_never_overwritten(folder: Path) -> None:
    assert run("in", "-o", "out").exit_code == 0
    assert "wrote 0 files to out; 2 unchanged" in run("in", "-o", "out").stderr
    file = Path("out/a/named.yaml")
    file.write_text("mine")
    with pytest.raises(ConfigError, match=r"out/a/named\.yaml exists, with other content"):
        run("in", "-o", "out")
    assert file.read_text() == "mine"


def test_policies_of_one_name_get_files_of_their_own(folder: Path) -> None:
    write(folder, {"two/p.yaml": vpol(), "two/q.yaml": [vpol(), vpol()]})
    run("two", "-o", "out")
    assert sorted(each.name for each in Path("out").iterdir()) == [
        "named-validatingpolicy-q.yaml",
        "named-validatingpolicy.yaml",
        "named.yaml",
    ]


def test_verify_names_the_rows_about_no_policy_and_tests_that_cannot_be_used(folder: Path) -> None:
    test = kyverno_test(("good", "pass"))
    test["results"][0]["policy"] = "nosuch"
    unusable = {**test, "resources": ["absent.yaml"]}
    write(folder, {"in/a/.kyverno-test/kyverno-test.yaml": [test, unusable]})
    lines = run("in", "--verify").stderr.splitlines()
    assert [each for each in lines if "not run" in each] == [
        "in/a/.kyverno-test/kyverno-test.yaml:8: not run: nosuch, Pod good:  the sources have no "
        "policy nosuch",
        "in/a/.kyverno-test/kyverno-test.yaml:15: not run: the whole test:  the test cannot be used: "
        "absent.yaml: no such file or directory",
    ]


def test_an_unknown_rule_fails_in_verify_and_in_test(folder: Path) -> None:
    """Also of a policy with one rule, whose name is not part of the Policy's."""
    policy = cluster_policy(pattern({"kind": "?*"}), name="one")
    rows = [{"rule": each} for each in ("r", "autogen-r", "", "nosuch")]
    test = kyverno_test(*[("good", "pass")] * len(rows))
    test["results"] = [
        {**result, "policy": "one", **row}
        for result, row in zip(test["results"], rows, strict=True)
    ]
    write(folder, {"in/a/p.yaml": policy, "in/a/.kyverno-test/kyverno-test.yaml": test})
    done = run("in", "-o", "out", "--verify")
    assert (done.exit_code, done.stdout.count("disagrees")) == (1, 1)
    assert "the policy has no rule nosuch: it has r, autogen-r, autogen-cronjob-r" in done.stdout
    tested = CliRunner().invoke(policyd, ["test", "out", "in", "--format", "json"])
    cases = [each for each in json.loads(tested.stdout) if "kyverno-test" in each["file"]]
    assert [each["passed"] for each in cases] == [True, True, True, False]


def test_a_row_names_one_of_several_policies_by_its_namespace(folder: Path) -> None:
    """Also after the import, and by the file that the test names."""
    named = {**vpol("same"), "kind": "NamespacedValidatingPolicy"}
    spaces = [{**named, "metadata": {"name": "same", "namespace": each}} for each in "ab"]
    pods = [small_pod("bad", "a"), small_pod("bad", "c")]
    test = kyverno_test(*[("bad", "fail")] * 3)
    rows = (("a/same", "a/bad"), ("b/same", "a/bad"), ("same", "a/bad"))
    for result, (policy, pod) in zip(test["results"], rows, strict=True):
        result |= {"policy": policy, "resources": [pod]}
    write(folder, {"two/p.yaml": spaces, "one/p.yaml": vpol("same")})
    write(folder, {"two/pods.yaml": pods, "two/t/kyverno-test.yaml": test})
    done = run("two", "one", "--verify")
    assert "disagrees: NamespacedValidatingPolicy b/same, Pod a/bad:" in done.stderr
    assert "not run: same, Pod a/bad:  there are several policies same: Namesp" in done.stderr
    assert run("two", "one", "-o", "out").exit_code == 0
    arguments = ["test", "out", "two/t", "--format", "json"]
    cases = json.loads(CliRunner().invoke(policyd, arguments).stdout)
    found = [each["passed"] for each in cases if "kyverno-test" in each["file"]]
    assert found == [True, False, False]


def test_a_policy_of_another_file_with_the_same_name_is_in_the_way(folder: Path) -> None:
    assert run("in", "-o", "out").exit_code == 0
    write(folder, {"other/p.yaml": vpol()})
    with pytest.raises(
        ConfigError, match=r"out/a/named\.yaml has the Policy named, as named\.yaml"
    ):
        run("other", "-o", "out")
    assert not Path("out/named.yaml").exists()


def test_a_policy_with_the_name_of_a_suite_keeps_both(folder: Path) -> None:
    write(folder, {"in/a/q.yaml": vpol("named-suite")})
    assert run("in", "-o", "out").exit_code == 0
    kinds = {
        each.name: yaml.safe_load(each.read_text())["kind"] for each in Path("out/a").iterdir()
    }
    assert kinds == {
        "named.yaml": "Policy",
        "named-suite.yaml": "PolicyTest",
        "named-suite-2.yaml": "Policy",
    }


def test_policies_of_one_name_load_together(folder: Path) -> None:
    """The same name in two namespaces, of the cluster, in another kind, and in another case."""
    named = {**vpol("same"), "kind": "NamespacedValidatingPolicy"}
    spaces = [{**named, "metadata": {"name": "same", "namespace": each}} for each in "ab"]
    write(folder, {"two/p.yaml": [vpol("same"), *spaces, vpol("Same"), vpol("a-same")]})
    assert run("two", "-o", "out", "--strict").exit_code == 0
    linted = CliRunner().invoke(policyd, ["lint", "out"])
    assert linted.exit_code == 0, linted.output
    assert len({each.name.lower() for each in Path("out").iterdir()}) == 5


def test_verify_names_the_rows_that_disagree(folder: Path) -> None:
    assert run("in", "--verify").exit_code == 0
    write(folder, {"in/a/.kyverno-test/kyverno-test.yaml": kyverno_test(("bad", "pass"))})
    done = run("in", "--verify")
    assert done.exit_code == 1
    assert "kyverno-test.yaml:8: disagrees: ValidatingPolicy named, Pod bad:" in done.stderr
    assert "expected pass, found fail: the name is bad" in done.stderr
    assert done.stderr.splitlines()[-1] == ("0 of 1 rows of the tests of imported policies agree")


@pytest.mark.parametrize(
    ("files", "strict", "status"),
    [
        ({"p.yaml": vpol()}, True, 0),
        ({"p.yaml": vpol(), "r.yaml": REGO}, True, 1),
        ({"p.yaml": vpol(evaluation=NO_SCANS)}, True, 0),
        (
            {"p.yaml": {**CLUSTER_POLICY, "spec": {**CLUSTER_POLICY["spec"], "background": False}}},
            True,
            0,
        ),
        ({"p.yaml": vpol(evaluation=NO_SCANS, validationActions=["Deny", "Warn"])}, True, 1),
        ({"p.yaml": vpol(), "r.yaml": REGO}, False, 0),
        ({"p.yaml": vpol(), "bad.yaml": "a: ["}, False, 2),
    ],
)
def test_exit_statuses(files: dict[str, Any], strict: bool, status: int, tmp_path: Path) -> None:
    write(tmp_path, files)
    done = run(str(tmp_path), *(["--strict"] if strict else []))
    assert done.exit_code == status
    assert "kind: Policy" in done.stdout


def test_a_source_without_policies_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"pod.yaml": small_pod("web")})
    with pytest.raises(ConfigError, match="no policies to import in"):
        run(str(tmp_path))


def test_a_last_directory_without_sources_is_one_to_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path,
        {
            "in/p.yaml": vpol(),
            "own/p.yaml": document("policyd.dev/v1", "Policy", "p", {}),
            "t/t.yaml": REGO,
        },
    )
    Path("out").mkdir()
    for last in ("out", "own"):
        warning = f"warning: {last} has no policies to import; -o {last} writes to it\n"
        assert warning in run("in", last).stderr
    for others in (("own", "in"), ("in", "t"), ("in", "in/p.yaml"), ("in", "out", "-o", "new")):
        assert "warning" not in run(*others).stderr


def test_yaml_is_for_standard_output(folder: Path) -> None:
    done = run("in", "--format", "yaml", "-o", "out")
    assert done.exit_code == 2
    assert "leave out -o" in done.stderr


def test_a_definition_that_is_invalid_is_named_and_not_used(tmp_path: Path) -> None:
    spec = {"names": [], "versions": [None]}
    broken = document("apiextensions.k8s.io/v1", "CustomResourceDefinition", "named", spec)
    write(tmp_path, {"p.yaml": CLUSTER_POLICY, "crd.yaml": broken})
    result = CliRunner().invoke(policyd, ["import", str(tmp_path)])
    assert result.exit_code == 0
    assert "warning: spec.names: this CustomResourceDefinition is not used" in result.stderr
    assert "1 imported" in result.stderr
