"""What answers say of each policy; the answers were recorded from Kyverno 1.19.1 and Gatekeeper
3.23.1.
"""

import pytest

from policyd.comparison.findings import RuleFinding, RuleName, findings_in
from policyd.json_types import JSONObject


def denial(message: str, *warnings: str) -> JSONObject:
    status = {"metadata": {}, "status": "Failure", "message": message}
    return {"allowed": False, "status": status, "warnings": [*warnings]}


BLOCKED = """

resource Pod/default/pod-with-docker-sock-mount was blocked due to the following policies 

disallow-capabilities-strict:
  require-drop-all: 'validation failure: Containers must drop `ALL` capabilities.'
disallow-default-namespace:
  autogen-cronjob-validate-namespace: 'validation error: Using ''default'' namespace is not allowed. rule validate-namespace failed at path /metadata/namespace/'
  exclude-namespaces-dynamically-pods: |-
    validation error: Creating Pods
    is not allowed.
"""
CEL = (
    "Policy metadata-match-regex failed: The label `corp.org/version` is required; "
    "Policy disallow-default-namespace error: error: no such key: metadata"
)
CONSTRAINTS = (
    "[all-must-have-owner] All namespaces must have an `owner` label\n"
    "that points to your company username\n"
    "[psp-proc-mount] ProcMount type is not allowed, container: nginx"
)
NAMESPACE_MESSAGE = (
    "validation error: Using 'default' namespace is not allowed. rule validate-namespace failed at "
    "path /metadata/namespace/"
)
DENIALS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "Kyverno, by policy and rule": (
        BLOCKED,
        [
            (
                "disallow-capabilities-strict",
                "require-drop-all",
                "validation failure: Containers must drop `ALL` capabilities.",
            ),
            ("disallow-default-namespace", "validate-namespace", NAMESPACE_MESSAGE),
            (
                "disallow-default-namespace",
                "exclude-namespaces-dynamically-pods",
                "validation error: Creating Pods\nis not allowed.",
            ),
        ],
    ),
    "Kyverno, CEL policies": (
        CEL,
        [
            ("metadata-match-regex", "", "The label `corp.org/version` is required"),
            ("disallow-default-namespace", "", "error: no such key: metadata"),
        ],
    ),
    "Gatekeeper": (
        CONSTRAINTS,
        [
            (
                "all-must-have-owner",
                "",
                "All namespaces must have an `owner` label\nthat points to your company username",
            ),
            ("psp-proc-mount", "", "ProcMount type is not allowed, container: nginx"),
        ],
    ),
    "Kyverno, a mutation": (
        "mutation policy add-volume error: failed to apply policy add-volume rules "
        '[autogen-volume: failed to evaluate preconditions: Unknown key "annotations" in path]',
        [
            (
                "add-volume",
                "volume",
                'failed to evaluate preconditions: Unknown key "annotations" in path',
            )
        ],
    ),
    "a mutation in other words": (
        "mutation policy a failed",
        [("", "", "mutation policy a failed")],
    ),
    "no name": ("no", [("", "", "no")]),
    "not YAML": (
        "resource a was blocked due to the following policies \n\n a: [",
        [("", "", "resource a was blocked due to the following policies \n\n a: [")],
    ),
    "another state": (
        "Policy a succeeded: b",
        [("", "", "Policy a succeeded: b")],
    ),
    "no message": ("", [("", "", "")]),
}


@pytest.mark.parametrize(("message", "found"), DENIALS.values(), ids=DENIALS)
def test_a_denial_is_one_finding_for_each_rule(
    message: str, found: list[tuple[str, str, str]]
) -> None:
    assert [*findings_in(denial(message))] == [
        RuleFinding(RuleName(policy, rule), "denies", text) for policy, rule, text in found
    ]


def test_a_denial_needs_no_status() -> None:
    assert [*findings_in({"allowed": False})] == [RuleFinding(RuleName(), "denies", "")]


WARNINGS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "Kyverno": ("policy a.b.autogen-c: no team", [("a.b", "c", "no team")]),
    "Kyverno, CEL policies": ("Policy a failed: no team", [("a", "", "no team")]),
    "Gatekeeper": ("[a] no team", [("a", "", "no team")]),
    "another": ("v1 Pod is deprecated", []),
    "no rule": ("policy a: no team", []),
}


@pytest.mark.parametrize(("warning", "found"), WARNINGS.values(), ids=WARNINGS)
def test_warnings(warning: str, found: list[tuple[str, str, str]]) -> None:
    response = {"allowed": True, "warnings": [warning]}
    assert [*findings_in(response)] == [
        RuleFinding(RuleName(policy, rule), "warns", text) for policy, rule, text in found
    ]
