"""What ``policyd export`` reports: the state of each policy, and reasons and remarks with their
places. Translates nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.cli.results import PolicyResult, found_json, found_text
from policyd.cli.shared.manifests import place_of
from policyd.cli.shared.output import fields_json
from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document, Sources

COLOURS: Mapping[str, str] = {
    "exported": "green",
    "with remarks": "green",
    "partly exported": "yellow",
    "not exported": "red",
}


@dataclass(frozen=True, slots=True)
class ReportedPolicy:
    """One policy with the document that it was exported from."""

    policy: ExportedPolicy
    source: Document

    @property
    def whole(self) -> bool:
        """Whether everything that the policy does is exported."""
        return self.state in ("exported", "with remarks")

    @property
    def state(self) -> str:
        """Return what became of the policy."""
        if not self.policy.documents:
            return "not exported"
        if not self.policy.exported:
            return "partly exported"
        return "with remarks" if any(each.remarks for each in self.policy.parts) else "exported"

    @property
    def result(self) -> PolicyResult:
        """Return what the summary says of the policy."""
        reasons: list[str] = []
        below: list[str] = []
        for part in self.policy.parts:
            all_placed = [
                f"{place_of(self.source, each.path)}: {self._text(each, part)}"
                for each in part.reasons
            ]
            reasons += all_placed
            below += (*all_placed, *self.remarks(part))
        return PolicyResult(self.source, self.state, reasons, below)

    def remarks(self, part: ExportedPart) -> list[str]:
        """Return the remarks on a part."""
        return [f"remark: {self._text(each, part)}" for each in part.remarks]

    def _text(self, found: Reason, part: ExportedPart) -> str:
        webhook = f"{part.webhook}: " if len(self.policy.parts) > 1 else ""
        return f"{webhook}{found_text(found)}"


def reported(policies: Sequence[ExportedPolicy], sources: Sources) -> list[ReportedPolicy]:
    """Return the policies with their documents."""
    found = {(each.kind, each.name, each.file): each for each in sources.documents}
    return [ReportedPolicy(each, found[each.kind, each.name, each.file]) for each in policies]


def policies_json(
    policies: Sequence[ReportedPolicy], files: Mapping[Path, Sequence[ReportedPolicy]]
) -> list[JSONObject]:
    """Return the policies with documents, reasons and remarks. ``files``: what is in which."""
    return [
        {
            **fields_json(each.policy, "kind", "name", "file", "line"),
            "state": each.state,
            "parts": [_part_json(each, part) for part in each.policy.parts],
            **({"files": [str(path) for path in files if each in files[path]]} if files else {}),
        }
        for each in policies
    ]


def _part_json(policy: ReportedPolicy, part: ExportedPart) -> JSONObject:
    return {
        **fields_json(part, "webhook", "documents"),
        "reasons": [found_json(policy.source, each) for each in part.reasons],
        "remarks": [found_json(policy.source, each) for each in part.remarks],
    }
