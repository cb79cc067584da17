"""Compare the answers of policies with those of their export, both evaluated by policyd: mutation, then
validation of what came of it. No tests here.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import jsonpatch

from policyd.admission import engine
from policyd.admission.decision import Finding, Verdict
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode
from policyd.export.exported_policies import exported
from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST, KubernetesVersion
from tests.builders.reviews import admission_review

NOW = datetime(2027, 1, 15, 12, tzinfo=UTC)
WEBHOOKS: tuple[Webhook, ...] = ("mutate", "validate")
# An error quotes the expression, which may be exported in another form.
_QUOTED = re.compile(r"(?s)(?:overlay: )?expression '.*' resulted in error: ")
_KEY = re.compile(r"(?:-templates|-cronjobs)(?=\.)")
_PATCHING = re.compile("JSON Patch: |error applying patch: ")
_TEMPLATE = re.compile(r"([/.])spec\1(?:jobTemplate\1spec\1)?template(?=\1)")


def export_of(*documents: JSONObject, version: KubernetesVersion = NEWEST) -> ExportedPolicy:
    """Return the export of the first policy of the documents."""
    sources = load_built(documents, version=version)
    assert sources.problems == ()
    return exported(sources, now=lambda: NOW)[0]


def part_of(
    *documents: JSONObject, version: KubernetesVersion = NEWEST, webhook: Webhook = "validate"
) -> ExportedPart:
    """Return the part for a webhook of the export of the first policy."""
    (part,) = (p for p in export_of(*documents, version=version).parts if p.webhook == webhook)
    return part


def reasons_of(*documents: JSONObject, version: KubernetesVersion = NEWEST) -> list[str]:
    """Return the reasons why the first policy is not exported, as ``path: message``."""
    parts = export_of(*documents, version=version).parts
    return [f"{reason.path}: {reason.message}" for part in parts for reason in part.reasons]


def both_sets(
    sources: Sources, policies: Iterable[ExportedPolicy]
) -> tuple[CompiledPolicySet, CompiledPolicySet]:
    """Compile the sources, and their export with the other objects of the sources."""
    others = [each.raw for each in sources.documents if not each.is_policy]
    documents = [document for policy in policies for document in policy.documents]
    export = load_built([*others, *documents], version=sources.version)
    return compile_strict(sources), compile_strict(export)


def answer(
    policies: CompiledPolicySet, request: JSONObject, authorizer: Authorizer | None = None
) -> dict[str, Any]:
    """Return what a user sees of a request, and all findings, in a form that can be compared."""
    found: list[tuple[Finding, str]] = []
    annotations: dict[str, str] = {}
    sent = request
    for webhook in WEBHOOKS:
        verdict = Verdict()
        review = decode(admission_review(sent))
        response = engine.review(
            policies, review, webhook=webhook, verdict=verdict, authorizer=authorizer
        )
        refused = [verdict.refusal] if verdict.refusal is not None else []
        found += [(each, _message(each)) for each in (*refused, *verdict.findings)]
        annotations |= response.audit_annotations
        if not response.allowed:
            break
        if response.patch:
            after = jsonpatch.apply_patch(sent["object"], response.patch)
            sent = {**sent, "object": after}
    return {
        "allowed": response.allowed,
        "code": response.code,
        "reason": response.reason,
        "message": next((text for each, text in found if "Deny" in each.actions), ""),
        "warnings": [text for each, text in found if "Warn" in each.actions],
        "annotations": {
            _KEY.sub("", key): value
            for key, value in annotations.items()
            if key not in ("generation", "validation_failure") and not key.startswith("exception.")
        },
        "findings": [
            (text, each.reason, each.index, each.actions, each.code, each.error)
            for each, text in found
        ],
        "object": sent["object"] if response.allowed else None,
    }


def compare(
    documents: Sequence[JSONObject],
    requests: Iterable[JSONObject],
    version: KubernetesVersion = NEWEST,
) -> None:
    """Assert that the policies are exported, and that the export answers as they do."""
    sources = load_built(documents, version=version)
    assert sources.problems == ()
    policies = exported(sources, now=lambda: NOW)
    assert [part.reasons for policy in policies for part in policy.parts if part.reasons] == []
    source, export = both_sets(sources, policies)
    for request in requests:
        assert answer(export, request) == answer(source, request), request


def _message(finding: Finding) -> str:
    return without_template(_QUOTED.sub("error: ", finding.message))


def without_template(message: str) -> str:
    """A message of a patch that cannot be applied, which names the place: that of an export may be in
    the template of a controller.
    """
    return _TEMPLATE.sub("", message) if _PATCHING.search(message) else message
