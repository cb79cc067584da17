"""Policies as ``policyd export`` writes them, for a real API server. No tests here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policyd.export.exported_policies import exported
from policyd.export.model import ExportedPolicy
from policyd.json_types import JSONObject
from policyd.policy.source import loader
from policyd.versions import KubernetesVersion
from tests.e2e.client import Client
from tests.e2e.differential.asking import is_binding

# The annotation that names the source of a document.
SOURCE = "policyd.dev/policy"


@dataclass(frozen=True, slots=True)
class Exports:
    """What policies were exported to. A policy of which a part is not exported has no documents."""

    policies: tuple[ExportedPolicy, ...]

    @property
    def documents(self) -> list[JSONObject]:
        """All documents, policies before bindings."""
        found = [each for policy in self.policies if policy.exported for each in policy.documents]
        return sorted(found, key=is_binding)

    @property
    def named(self) -> Mapping[str, str]:
        """The names of the policies among the documents, each with that of its source."""
        return {
            each["metadata"]["name"]: self.source(each)
            for each in self.documents
            if not is_binding(each)
        }

    def source(self, document: JSONObject) -> str:
        """The name of the policy that a document is the export of."""
        return str(document["metadata"]["annotations"][SOURCE])

    @property
    def reasons(self) -> dict[str, list[str]]:
        """Why each policy that is not exported is not."""
        return {
            policy.name: [
                f"{each.path}: {each.message}" for part in policy.parts for each in part.reasons
            ]
            for policy in self.policies
            if not policy.exported
        }


def export(documents: Iterable[JSONObject], version: str) -> Exports:
    """Export the policies among the documents for a version of Kubernetes."""
    sources = loader.load_built(documents, version=KubernetesVersion.parse(version))
    assert not sources.problems, sources.problems
    return Exports(exported(sources))


def accepted(client: Client, documents: Iterable[JSONObject]) -> dict[str, str]:
    """What the API server has against documents: errors, unknown fields and warnings by name."""
    found = {}
    for each in documents:
        answer = client.create(each, dryRun="All", fieldValidation="Strict")
        if answer.status != 201 or answer.warnings:
            name = f"{each['kind']} {each['metadata']['name']}"
            found[name] = answer.message if answer.status != 201 else "; ".join(answer.warnings)
    return found
