"""Policies and exceptions of other engines that do nothing, and what is enforced twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.cluster.contents import Contents
from tests.cluster.fake import Call, Reply, refusal
from tests.importers.kyverno.classic import cluster_policy, pattern, rule_of
from tests.leftovers.conftest import Findings, Lint
from tests.leftovers.installed import (
    EXCEPTION_FLAGS,
    VALIDATING,
    Kyverno,
    add_service,
    webhook,
)
from tests.migration.engines import (
    CLUSTER_POLICIES,
    CONSTRAINTS,
    EXCEPTIONS,
    LABELS,
    POLICIES,
    TEMPLATES,
    VPOLS,
    added,
    labels_exempting,
    template_spec,
    vpol_spec,
)

CEL_EXCEPTIONS = "/apis/policies.kyverno.io/v1beta1/policyexceptions"
MUTATION = {"rules": [{"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}]}
MUTATION["rules"][0]["mutate"] = {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
State = Callable[[Kyverno], None]


def rules(found: list[JSONObject]) -> list[tuple[str, str]]:
    return sorted((each["rule"], each["file"]) for each in found)


def gone(kyverno: Kyverno) -> None:
    kyverno.remove()
    kyverno.contents.objects.pop(VALIDATING)


def stopped(kyverno: Kyverno) -> None:
    kyverno.install("v1.19.1", ready=False)


def newest(kyverno: Kyverno) -> None:
    kyverno.install("v1.20.0", *EXCEPTION_FLAGS)


def unknown(kyverno: Kyverno) -> None:
    kyverno.install("sha256-abc")


CLASSIC = "clusterpolicies.kyverno.io/labels"
CEL = "validatingpolicies.policies.kyverno.io/named"
IDLE: list[tuple[State, list[str], str]] = [
    (gone, [CLASSIC, CEL], "nothing enforces it: no webhook of Kyverno is registered"),
    (stopped, [CLASSIC, CEL], "nothing enforces it: Kyverno does not run: the Service kyverno/kyv"),
    (
        newest,
        [CLASSIC],
        "nothing enforces it: Kyverno 1.20 executes no ClusterPolicy of kyverno.io",
    ),
    (unknown, [], ""),
    (lambda kyverno: None, [], ""),
]


@pytest.mark.parametrize(("state", "files", "told"), IDLE)
def test_policies_that_kyverno_does_not_execute(
    kyverno: Kyverno, findings: Findings, state: State, files: list[str], told: str
) -> None:
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    added(kyverno.contents, VPOLS, "named", spec=vpol_spec())
    state(kyverno)
    found = [each for each in findings() if each["rule"] != "blocking-webhook"]
    assert rules(found) == sorted(("unexecuted-policy", each) for each in files)
    assert all(each["message"].startswith(told) for each in found)


def test_the_command_that_removes_a_policy_has_its_namespace(
    kyverno: Kyverno, findings: Findings
) -> None:
    added(kyverno.contents, POLICIES, "own", "team-a", spec=LABELS)
    newest(kyverno)
    (found,) = findings()
    assert found["hint"] == (
        "policyd import --cluster imports it; kubectl delete policies.kyverno.io/own -n team-a "
        "removes it"
    )


def test_constraints_without_gatekeeper(contents: Contents, findings: Findings) -> None:
    added(contents, TEMPLATES, "k8snolatest", spec=template_spec())
    added(contents, CONSTRAINTS, "no-latest", spec={})
    (found,) = findings()
    assert found["message"] == "nothing enforces it: no webhook of Gatekeeper is registered"
    add_service(contents, "gatekeeper-system/gatekeeper-webhook-service")
    hook = webhook("validation.gatekeeper.sh", "gatekeeper-system/gatekeeper-webhook-service")
    contents.add(VALIDATING, "gatekeeper-validating-webhook-configuration", webhooks=[hook])
    assert findings() == []


READ = "--enablePolicyException=true"
UNREAD: list[tuple[str, tuple[str, ...], str, str]] = [
    (EXCEPTIONS, (), "labels", "Kyverno runs without --enablePolicyException=true"),
    (EXCEPTIONS, (READ,), "labels", "Kyverno runs without --exceptionNamespace"),
    (CEL_EXCEPTIONS, (READ,), "named", ""),
    (EXCEPTIONS, (READ, "--exceptionNamespace=x"), "labels", "Kyverno reads exceptions of the names"),
    (CEL_EXCEPTIONS, (READ, "--exceptionNamespace=x"), "named", "Kyverno reads exceptions of the na"),
    (EXCEPTIONS, ("--enablePolicyException", "--exceptionNamespace=team-a"), "labels", ""),
    (EXCEPTIONS, EXCEPTION_FLAGS, "labels", ""),
    (EXCEPTIONS, EXCEPTION_FLAGS, "absent", "there is no policy absent"),
    (CEL_EXCEPTIONS, EXCEPTION_FLAGS, "labels", "there is no policy labels"),
]  # fmt: skip


@pytest.mark.parametrize("row", UNREAD)
def test_exceptions_that_nothing_reads(
    kyverno: Kyverno, findings: Findings, row: tuple[str, tuple[str, ...], str, str]
) -> None:
    path, flags, policy, told = row
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    added(kyverno.contents, VPOLS, "named", spec=vpol_spec())
    references = {"policyRefs": [{"name": policy, "kind": "ValidatingPolicy"}]}
    spec = labels_exempting(policy) if path == EXCEPTIONS else references
    added(kyverno.contents, path, "e", "team-a", spec=spec)
    kyverno.install("v1.19.1", *flags)
    found = findings()
    assert [each["rule"] for each in found] == ["unread-exception"] * bool(told)
    assert all(each["message"].startswith(f"it exempts nothing: {told}") for each in found)


def test_older_versions_read_exceptions_without_flags(kyverno: Kyverno, findings: Findings) -> None:
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    added(kyverno.contents, EXCEPTIONS, "e", "team-a", spec=labels_exempting("labels"))
    kyverno.install("v1.12.5")
    assert findings() == []


def test_classic_exceptions_end_with_classic_policies(kyverno: Kyverno, findings: Findings) -> None:
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    added(kyverno.contents, EXCEPTIONS, "e", "team-a", spec=labels_exempting("labels"))
    newest(kyverno)
    assert [each["rule"] for each in findings()] == ["unexecuted-policy", "unread-exception"]


def imported(lint: Lint, **changed: str) -> None:
    """Import the cluster into the directory ``mine``, and change texts of the result."""
    done = CliRunner().invoke(policyd, ["import", "--cluster", "-o", "mine"])
    assert done.exit_code == 0, done.output
    for file in Path("mine").iterdir():
        text = file.read_text()
        for old, new in changed.items():
            text = text.replace(f"[{old}]", f"[{new}]")
        file.write_text(text)


TWICE: list[tuple[JSONObject, dict[str, Any], State, bool]] = [
    (LABELS, {}, lambda kyverno: None, True),
    (MUTATION, {}, lambda kyverno: None, True),
    (LABELS, {"Deny": "Audit"}, lambda kyverno: None, False),
    (
        {**LABELS, "validationFailureAction": "Audit"},
        {"Audit": "Deny"},
        lambda kyverno: None,
        False,
    ),
    (LABELS, {}, newest, False),
]


@pytest.mark.parametrize("row", TWICE)
def test_what_its_source_still_enforces_is_enforced_twice(
    kyverno: Kyverno,
    lint: Lint,
    findings: Findings,
    row: tuple[JSONObject, dict[str, Any], State, bool],
) -> None:
    spec, changed, state, want = row
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=spec)
    imported(lint, **changed)
    state(kyverno)
    found = [each for each in findings("mine") if each["rule"] == "enforced-twice"]
    assert bool(found) is want
    if want:
        assert found[0]["file"] == "mine/labels.yaml"
        assert found[0]["message"] == (
            "Kyverno still enforces its source, rule r: kubectl edit clusterpolicies.kyverno.io/labels"
        )


def test_a_rule_that_became_several_policies_is_one_line(kyverno: Kyverno, lint: Lint) -> None:
    security = {"podSecurity": {"level": "baseline", "version": "latest"}}
    labels = pattern({"metadata": {"labels": {"team": "?*"}}}, name="s")
    added(
        kyverno.contents,
        CLUSTER_POLICIES,
        "labels",
        spec=cluster_policy(rule_of(security), labels)["spec"],
    )
    imported(lint)
    found = lint("mine").stdout.splitlines()
    edit = "kubectl edit clusterpolicies.kyverno.io/labels [enforced-twice]"
    assert [each.partition("advice: ")[2] for each in found] == [
        f"Kyverno still enforces its source, rule r: {edit}",
        f"Kyverno still enforces its source, rule s: {edit}",
    ]


def test_a_policy_in_shadow_enforces_nothing_twice(
    kyverno: Kyverno, lint: Lint, findings: Findings
) -> None:
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    done = CliRunner().invoke(policyd, ["import", "--cluster", "-o", "mine", "--shadow"])
    assert done.exit_code == 0, done.output
    assert "enforced-twice" not in [each["rule"] for each in findings("mine")]
    file = Path("mine/labels.yaml")
    file.write_text(file.read_text().replace("enforce: {}", "enforce: {percent: 1}"))
    assert "enforced-twice" in [each["rule"] for each in findings("mine")]


def test_a_comment_in_the_policy_disables_the_advice(
    kyverno: Kyverno, lint: Lint, findings: Findings
) -> None:
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    imported(lint)
    file = Path("mine/labels.yaml")
    file.write_text(f"# policyd-lint: disable=enforced-twice for a week\n{file.read_text()}")
    assert "enforced-twice" not in [each["rule"] for each in findings("mine")]


def refusing(part: str) -> Callable[[Call], Reply | None]:
    """Forbid what has this part in its path."""
    return lambda call: refusal(403, "no") if part in call.path else None


def test_nothing_is_claimed_of_an_engine_that_cannot_be_read(kyverno: Kyverno, lint: Lint) -> None:
    added(kyverno.contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    kyverno.remove()
    kyverno.contents.add("/api/v1/namespaces", "kyverno")
    for refused in ("webhookconfigurations", "/services/"):
        kyverno.contents.special = refusing(refused)
        done = lint()
        assert (done.exit_code, done.stdout) == (3, "")
    newest(kyverno)
    kyverno.contents.special = refusing("/deployments?")
    done = lint()
    assert (done.exit_code, done.stdout) == (3, "")
    assert "this needs the permission to list deployments.apps" in done.stderr
