"""What tests of ``policyd export`` share: policies, runs of the command, and a pretended export."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.errors import PolicydError
from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Sources

HEAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}
"""
PLAIN = HEAD + """\
  validations:
  - {{expression: "object.metadata.name != 'x'", message: not x}}
"""  # fmt: skip
# A deadline is a matter of webhooks only, so this is never exported.
SLOW = PLAIN + "  timeoutSeconds: 1\n"
SLOW_LINE = SLOW.count("\n")
API = "admissionregistration.k8s.io/v1"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(policyd, ["export", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        assert isinstance(result.exception, PolicydError), result.exception
        return result.exception.exit_code, "", str(result.exception)
    return result.exit_code, result.stdout, result.stderr


Pretend = Callable[..., None]


def pretending(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Makes the translation return given parts for the policy ``plain``, and nothing else."""

    def pretend(*parts: ExportedPart) -> None:
        def exported(sources: Sources) -> Sequence[ExportedPolicy]:
            return [ExportedPolicy("Policy", "plain", "policies/plain.yaml", 1, parts)]

        monkeypatch.setattr("policyd.export.exported_policies.exported", exported)

    return pretend


def part(kind: str = "Validating", **more: Any) -> ExportedPart:
    found = f"{kind}AdmissionPolicy"
    documents: tuple[JSONObject, ...] = (
        {"apiVersion": API, "kind": found, "metadata": {"name": "plain"}, "spec": {}},
        {
            "apiVersion": API,
            "kind": f"{found}Binding",
            "metadata": {"name": "plain"},
            "spec": {"policyName": "plain"},
        },
    )
    webhook: Any = "mutate" if kind == "Mutating" else "validate"
    return ExportedPart(webhook, **{"documents": documents, **more})
