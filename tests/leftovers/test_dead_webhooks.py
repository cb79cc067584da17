"""Webhook configurations whose Service cannot answer."""

import json
import re

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import rule
from tests.cluster.contents import Contents
from tests.cluster.fake import refusal
from tests.leftovers.conftest import Findings, Lint
from tests.leftovers.installed import MUTATING, SERVICES, VALIDATING, add_service, webhook

GONE = "the Service gone/gone does not exist"


def test_webhooks_that_fail_closed_are_errors_with_the_command(
    contents: Contents, lint: Lint
) -> None:
    rules = [
        rule("pods", operations=["CREATE", "UPDATE"]),
        rule("deployments", "statefulsets", group="apps", operations=["*"]),
    ]
    contents.add(VALIDATING, "blocks", webhooks=[webhook("a", "gone/gone", rules=rules)])
    done = lint()
    assert done.exit_code == 1
    told = " ".join(done.stdout.split())
    assert told == (
        f"validatingwebhookconfigurations/blocks: error: {GONE}, and failurePolicy Fail denies "
        "requests that its webhooks match: CREATE/UPDATE pods, * deployments.apps and "
        "statefulsets.apps hint: start its workload, or remove it: kubectl delete "
        "validatingwebhookconfigurations blocks"
    )
    assert done.stderr == "0 documents: 1 error, 0 advice\n"


@pytest.mark.parametrize(
    ("service", "policy", "want"),
    [
        ("gone/gone", "Ignore", ("dead-webhook", "advice", f"{GONE}, so requests are admitted")),
        (
            "idle/idle",
            "Fail",
            ("blocking-webhook", "error", "the Service idle/idle has no ready en"),
        ),
        ("good/good", "Fail", None),
        ("other/external", "Fail", None),
    ],
)
def test_the_service_and_the_failure_policy_decide(
    contents: Contents, findings: Findings, service: str, policy: str, want: tuple[str, ...] | None
) -> None:
    add_service(contents, "good/good")
    add_service(contents, "idle/idle", ready=False)
    contents.add(SERVICES, "external", "other", spec={"type": "ExternalName"})
    contents.add(MUTATING, "m", webhooks=[webhook("a", service, policy)])
    found = findings()
    assert [(each["rule"], each["severity"]) for each in found] == ([want[:2]] if want else [])
    assert all(want and each["message"].startswith(want[2]) for each in found)
    assert all(each["file"] == "mutatingwebhookconfigurations/m" for each in found)


def test_only_the_dead_ones_of_a_configuration_are_removed(
    contents: Contents, findings: Findings
) -> None:
    add_service(contents, "good/good")
    url: JSONObject = {"name": "u", "clientConfig": {"url": "https://10.0.0.1/"}}
    hooks = [webhook("a", "gone/gone"), webhook("b", "good/good"), webhook("c", "gone/gone"), url]
    contents.add(VALIDATING, "mixed", webhooks=hooks)
    (found,) = findings()
    command = re.search("remove these webhooks: kubectl patch (.*) -p '(.*)'$", found["hint"])
    assert command is not None
    assert command[1] == "validatingwebhookconfigurations mixed --type=json"
    left = [each["name"] for each in hooks]
    for step in json.loads(command[2]):
        index = int(step["path"].split("/")[2])
        if step["op"] == "remove":
            del left[index]
        else:
            assert (step["op"], step["value"]) == ("test", left[index])
    assert left == ["b", "u"]


def test_without_the_permission_only_a_namespace_that_is_gone_shows(
    contents: Contents, lint: Lint
) -> None:
    contents.add("/api/v1/namespaces", "there")
    contents.add(VALIDATING, "one", webhooks=[webhook("a", "gone/gone")])
    contents.add(VALIDATING, "two", webhooks=[webhook("a", "there/gone")])
    contents.special = lambda call: refusal(403, "no") if "/services/" in call.path else None
    done = lint()
    assert done.exit_code == 1
    assert "the Service gone/gone does not exist, nor does its namespace" in done.stdout
    assert "two" not in done.stdout
    told = " ".join(done.stderr.split())
    assert (
        "cannot read the Service there/gone: the API server answered 403: no hint: this needs"
        in told
    )
    contents.objects[VALIDATING].pop(0)
    assert lint().exit_code == 3
    contents.special = lambda call: refusal(403, "no") if "webhook" in call.path else None
    assert (
        "permission to list mutatingwebhookconfigurations.admissionregistration.k8s.io"
        in lint().stderr
    )


def test_a_rule_can_be_disabled_and_advice_can_fail(contents: Contents, lint: Lint) -> None:
    contents.add(VALIDATING, "a", webhooks=[webhook("a", "gone/gone", "Ignore")])
    assert lint().exit_code == 0
    assert lint("--fail-on", "advice").exit_code == 1
    assert lint("--disable", "dead-webhook", "--fail-on", "advice").exit_code == 0
