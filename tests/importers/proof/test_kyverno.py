"""The rows of kyverno-test.yaml: what is read, what agrees, and what is named where it does not."""

from pathlib import Path
from typing import Any

import pytest

from policyd.importers.proof.rows import Proof
from policyd.json_types import JSONObject
from tests.builders.policies import document
from tests.importers.sources import denying, mutating, proved, small_pod, source, write

ERRING = denying("object.spec.nothing == 1")


def kyverno_test(*results: JSONObject, **more: Any) -> JSONObject:
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["policy.yaml"],
        "resources": ["pods.yaml"],
        "results": [*results],
        **more,
    }


def result(expected: str, name: str = "good", **more: Any) -> JSONObject:
    return {
        "policy": "p",
        "rule": "r",
        "kind": "Pod",
        "resources": [name],
        "result": expected,
        **more,
    }


def run(
    folder: Path, test: JSONObject, rules: JSONObject | None = None, **files: JSONObject
) -> list[Proof]:
    write(
        folder,
        {
            "policy.yaml": source(rules=rules or {"r": denying()}),
            "pods.yaml": [small_pod("good"), small_pod("bad"), small_pod("far", "away")],
            "kyverno-test.yaml": test,
            **{f"{name}.yaml": content for name, content in files.items()},
        },
    )
    return proved(folder)


@pytest.mark.parametrize(
    ("expected", "name", "rule", "decision"),
    [
        ("pass", "good", denying(), (True, "pass")),
        ("skip", "good", denying(), (True, "pass")),
        ("fail", "good", denying(), (False, "pass")),
        ("fail", "bad", denying(), (True, "fail")),
        ("warn", "bad", denying(), (True, "fail")),
        ("error", "bad", denying(), (True, "fail")),
        ("pass", "bad", denying(), (False, "fail")),
        ("skip", "bad", denying(), (False, "fail")),
        ("fail", "bad", denying(validationActions=["Audit"]), (True, "fail")),
        ("fail", "bad", denying(validationActions=["Warn"]), (True, "fail")),
        ("error", "bad", ERRING, (True, "error")),
        ("fail", "bad", ERRING, (False, "error")),
        ("pass", "bad", ERRING, (False, "error")),
        ("pass", "bad", {**ERRING, "failurePolicy": "Ignore"}, (False, "error")),
    ],
)
def test_a_result_agrees_with_the_decision(
    tmp_path: Path, expected: str, name: str, rule: JSONObject, decision: tuple[bool, str]
) -> None:
    (proof,) = run(tmp_path, kyverno_test(result(expected, name)), {"r": rule})
    assert (proof.state == "agrees", proof.found) == decision
    assert bool(proof.reason) is not decision[0]


def test_each_result_counts_for_each_of_its_resources(tmp_path: Path) -> None:
    proofs = run(tmp_path, kyverno_test(result("pass", resources=["good", "away/far"])))
    assert [each.row.subject for each in proofs] == ["Pod good", "Pod away/far"]
    lines = (tmp_path / "kyverno-test.yaml").read_text().splitlines()
    assert {lines[each.row.line - 1] for each in proofs} == {"- kind: Pod"}


def test_the_old_form_is_read(tmp_path: Path) -> None:
    old = {
        "name": "t",
        "policies": ["policy.yaml"],
        "resources": ["pods.yaml"],
        "results": [
            {"policy": "p", "rule": "r", "kind": "Pod", "resource": "bad", "status": "fail"},
            {"policy": "p", "rule": "r", "kind": "Pod", "resource": "far", "namespace": "away",
             "status": "pass"},
        ],
    }  # fmt: skip
    assert [each.state for each in run(tmp_path, old)] == ["agrees", "agrees"]


@pytest.mark.parametrize("rule", ["r", "autogen-r", "autogen-cronjob-r"])
def test_rules_for_controllers_are_those_of_their_pods(tmp_path: Path, rule: str) -> None:
    (proof,) = run(tmp_path, kyverno_test(result("fail", "bad", rule=rule)))
    assert proof.state == "agrees"


def test_only_the_rule_of_the_row_counts(tmp_path: Path) -> None:
    rules = {"r": denying("true"), "s": denying("false")}
    proofs = run(tmp_path, kyverno_test(result("pass"), result("fail", rule="s")), rules)
    assert [each.state for each in proofs] == ["agrees", "agrees"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"resources": ["nobody"]}, "the resources of the test have no Pod nobody"),
        ({"policy": "q"}, "the sources have no policy q"),
        ({"resources": ["other/far"]}, "the resources of the test have no Pod other/far"),
    ],
)
def test_a_row_without_its_subject_is_not_run(
    tmp_path: Path, more: JSONObject, reason: str
) -> None:
    (proof,) = run(tmp_path, kyverno_test(result("pass", **more)))
    assert (proof.state, proof.reason) == ("not run", reason)


def test_an_unknown_rule_disagrees(tmp_path: Path) -> None:
    (proof,) = run(tmp_path, kyverno_test(result("pass", rule="x")))
    assert (proof.state, proof.reason) == ("disagrees", "the policy has no rule x: it has r")


def test_without_a_rule_all_of_them_count(tmp_path: Path) -> None:
    rules = {"r": denying("true"), "s": denying()}
    rows = [result("pass", rule=""), result("fail", "bad", rule=""), result("pass", "bad", rule="")]
    proofs = run(tmp_path, kyverno_test(*rows), rules)
    assert [each.state for each in proofs] == ["agrees", "agrees", "disagrees"]


def test_a_mutation_is_skipped_where_another_rule_changes_the_object(tmp_path: Path) -> None:
    labelled = mutating({"metadata": {"labels": {"a": "b"}}})
    never = {"matchConditions": [{"name": "never", "expression": "false"}]}
    rules = {"r": labelled, "s": {**mutating({"metadata": {"labels": {"c": "d"}}}), **never}}
    write(tmp_path, {"patched.yaml": small_pod("good", a="b")})
    rows = [
        result(word, rule=rule, patchedResources="patched.yaml")
        for word, rule in (("pass", "r"), ("skip", "s"), ("skip", "r"))
    ]
    proofs = run(tmp_path, kyverno_test(*rows), rules)
    assert [each.state for each in proofs] == ["agrees", "agrees", "disagrees"]
    assert proofs[2].reason == "the object is changed"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"surprise": 1}, "surprise: the field surprise is not known here"),
        ({"checks": [{}]}, "checks are assertions of kyverno-json"),
        ({"jsonPayload": "x.json"}, "a JSON payload is no admission request"),
        ({"policies": ["https://example.com/p.yaml"]}, "is not on this machine"),
        ({"policies": ["absent.yaml"]}, "absent.yaml: no such file or directory"),
        ({"resources": "x"}, "x: no such file or directory"),
        ({"resources": ["a" * 300]}, "aaa: no such file or directory"),
        ({"resources": ["a\0b"]}, "no such file or directory"),
        ({"resources": 1}, "resources: expected a list of strings"),
        (
            {"results": [{**result("pass"), "odd": 1}]},
            "results[0].odd: the field odd is not known here",
        ),
        ({"results": [result("perhaps")]}, "results[0].result: expected one of error, fail, pass"),
        ({"values": {"odd": 1}}, "odd: the field odd is not known here"),
        ({"variables": "pods.yaml"}, "pods.yaml: expected a document of kind Values"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path: Path, more: JSONObject, reason: str) -> None:
    (proof,) = run(tmp_path, kyverno_test(result("pass"), **more))
    assert proof.state == "not run"
    assert reason in proof.reason


def test_values_set_fields_of_the_request(tmp_path: Path) -> None:
    rule = denying("request.operation == 'UPDATE' && request.userInfo.username == 'ann'")
    resource = {"name": "good", "values": {"request.operation": "UPDATE"}}
    values = {"policies": [{"name": "p", "resources": [resource]}]}
    user = {"kind": "UserInfo", "userInfo": {"username": "ann"}}
    test = kyverno_test(result("pass"), result("fail", "bad"), values=values, userinfo="user.yaml")
    proofs = run(tmp_path, test, {"r": rule}, user=user)
    assert [each.state for each in proofs] == ["agrees", "agrees"]


def test_values_may_set_a_part_of_a_kind(tmp_path: Path) -> None:
    values = {"resources": [{"name": "bad", "values": {"request.requestKind.kind": "Eviction"}}]}
    rule = denying("request.requestKind.kind + request.requestKind.version == 'Podv1'")
    test = kyverno_test(
        result("fail", "bad"), result("pass"), values={"policies": [{"name": "p", **values}]}
    )
    assert [each.state for each in run(tmp_path, test, {"r": rule})] == ["agrees", "agrees"]


def test_namespaces_have_the_labels_of_the_values(tmp_path: Path) -> None:
    rule = denying("namespaceObject.metadata.?labels.?team.orValue('') == 'a'")
    file = {"kind": "Values", "namespaceSelector": [{"name": "away", "labels": {"team": "a"}}]}
    test = kyverno_test(result("pass", "far"), result("fail", "good"), variables="values.yaml")
    proofs = run(tmp_path, test, {"r": rule}, values=file)
    assert [each.state for each in proofs] == ["agrees", "agrees"]


def test_a_value_of_the_namespace_leaves_the_object_in_its_own(tmp_path: Path) -> None:
    rule = denying("object.metadata.namespace == 'away' && request.namespace == 'default'")
    test = kyverno_test(
        result("pass", "far"), values={"globalValues": {"request.namespace": "default"}}
    )
    (proof,) = run(tmp_path, test, {"r": rule})
    assert proof.state == "agrees"


def test_a_missing_namespace_is_default(tmp_path: Path) -> None:
    rule = denying("object.metadata.namespace == 'default' && request.namespace == 'default'")
    proofs = run(tmp_path, kyverno_test(result("pass"), result("fail", "far")), {"r": rule})
    assert [each.state for each in proofs] == ["agrees", "agrees"]


def test_the_exceptions_of_a_test_are_imported_with_its_policies(tmp_path: Path) -> None:
    exception = document("kyverno.io/v2", "PolicyException", "e", {"name": "bad"})
    folder = write(tmp_path, {".hidden/exception.yaml": exception})
    test = kyverno_test(result("skip", "bad"), exceptions=[".hidden/exception.yaml"])
    (proof,) = run(folder, test)
    assert proof.state == "agrees"


OVERLAY = mutating({"metadata": {"labels": {"team": "a"}}})


@pytest.mark.parametrize(
    ("expected", "patched", "agrees", "reason"),
    [
        ("pass", small_pod("good", team="a"), True, ""),
        ("pass", small_pod("good", "default", team="a"), True, ""),
        ("pass", {**small_pod("good", team="a"), "status": {}}, True, ""),
        ("pass", small_pod("good", team="b"), False,
         "differs from patched.yaml in /metadata/labels/team"),
        ("fail", small_pod("good", team="b"), True, ""),
        ("fail", small_pod("good", team="a"), False,
         "the object is as the test expects it not to be"),
    ],
)  # fmt: skip
def test_a_mutated_object_is_compared(
    tmp_path: Path, expected: str, patched: JSONObject, agrees: bool, reason: str
) -> None:
    test = kyverno_test(result(expected, patchedResources="patched.yaml"))
    (proof,) = run(tmp_path, test, {"r": OVERLAY}, patched=patched)
    assert (proof.state == "agrees", proof.reason) == (agrees, reason)


def test_a_skipped_mutation_changes_nothing(tmp_path: Path) -> None:
    (proof,) = run(tmp_path, kyverno_test(result("skip")), {"r": OVERLAY})
    assert (proof.state, proof.reason) == ("disagrees", "the object is changed")


def test_a_file_without_the_mutated_object_proves_nothing(tmp_path: Path) -> None:
    test = kyverno_test(result("pass", patchedResources="patched.yaml"))
    (proof,) = run(tmp_path, test, {"r": OVERLAY}, patched=small_pod("other"))
    assert (proof.state, proof.reason) == ("not run", "patched.yaml has no Pod good")


def test_a_validation_sees_what_other_rules_of_its_policy_changed(tmp_path: Path) -> None:
    rules = {"r": denying("object.metadata.?labels.?team.orValue('') == 'a'"), "m": OVERLAY}
    (proof,) = run(tmp_path, kyverno_test(result("pass")), rules)
    assert proof.state == "agrees"


def test_rows_of_refused_policies_are_not_run(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "policy.yaml": source(refused="cannot"),
            "pods.yaml": small_pod("good"),
            ".kyverno-test/kyverno-test.yaml": kyverno_test(
                result("pass"), policies=["../policy.yaml"], resources=["../pods.yaml"]
            ),
        },
    )
    (proof,) = proved(tmp_path)
    assert (proof.state, proof.reason) == ("not run", "not imported")
