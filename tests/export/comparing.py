"""Compare the answers of policies with those of their export, both evaluated by policyd."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from policyd.admission import engine
from policyd.admission.decision import Finding, Verdict
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode
from policyd.export.exported_policies import exported
from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST, KubernetesVersion

NOW = datetime(2027, 1, 15, 12, tzinfo=UTC)
# An error quotes the expression, which may be exported in another form.
_QUOTED = re.compile(r"(?s)expression '.*?' resulted in error: ")
_KEY = re.compile(r"(-templates|-cronjobs)\.")


@dataclass(frozen=True)
class Answer:
    """What a user sees of one webhook call, and all findings, in a form that can be compared."""

    allowed: bool
    code: int
    reason: str
    message: str
    warnings: tuple[str, ...]
    annotations: dict[str, str]
    findings: tuple[tuple[object, ...], ...]


def export_of(*documents: JSONObject, version: KubernetesVersion = NEWEST) -> ExportedPolicy:
    """Return the export of the first policy of the documents."""
    sources = load_built(documents, version=version)
    assert sources.problems == ()
    return exported(sources, now=lambda: NOW)[0]


def part_of(*documents: JSONObject, version: KubernetesVersion = NEWEST) -> ExportedPart:
    """Return the validating part of the export of the first policy."""
    (part,) = (p for p in export_of(*documents, version=version).parts if p.webhook == "validate")
    return part


def reasons_of(*documents: JSONObject, version: KubernetesVersion = NEWEST) -> list[str]:
    """Return the reasons why the first policy is not exported, as ``path: message``."""
    parts = export_of(*documents, version=version).parts
    return [f"{reason.path}: {reason.message}" for part in parts for reason in part.reasons]


def exported_set(
    sources: Sources, policies: Iterable[ExportedPolicy], webhook: str = "validate"
) -> CompiledPolicySet:
    """Compile the documents of an export, with the other objects of the sources."""
    others = [each.raw for each in sources.documents if not each.is_policy]
    documents = [
        document
        for policy in policies
        for part in policy.parts
        if part.webhook == webhook
        for document in part.documents
    ]
    return compile_strict(load_built([*others, *documents], version=sources.version))


def answer(
    policies: CompiledPolicySet, review: JSONObject, authorizer: Authorizer | None = None
) -> Answer:
    """Return the answer of the validating webhook."""
    verdict = Verdict()
    response = engine.review(
        policies, decode(review), webhook="validate", verdict=verdict, authorizer=authorizer
    )
    denials = [each for each in verdict.findings if "Deny" in each.actions]
    warned = [each for each in verdict.findings if "Warn" in each.actions]
    return Answer(
        response.allowed,
        response.code,
        response.reason,
        _message(denials[0]) if denials else "",
        tuple(_message(each) for each in warned),
        {
            _KEY.sub(".", key): value
            for key, value in response.audit_annotations.items()
            if key not in ("generation", "validation_failure") and not key.startswith("exception.")
        },
        tuple(
            (_message(each), each.reason, each.index, each.actions, each.code, each.error)
            for each in verdict.findings
        ),
    )


def compare(
    documents: Sequence[JSONObject],
    reviews: Iterable[JSONObject],
    version: KubernetesVersion = NEWEST,
) -> None:
    """Assert that the policies are exported, and that the export answers as they do."""
    sources = load_built(documents, version=version)
    assert sources.problems == ()
    policies = exported(sources, now=lambda: NOW)
    assert [part.reasons for policy in policies for part in policy.parts if part.reasons] == []
    source, export = compile_strict(sources), exported_set(sources, policies)
    for review in reviews:
        assert answer(export, review) == answer(source, review), review


def _message(finding: Finding) -> str:
    return _QUOTED.sub("expression resulted in error: ", finding.message)
