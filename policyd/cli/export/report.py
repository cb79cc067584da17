"""What ``policyd export`` reports: the state of each policy, and reasons and remarks with their
places. Translates nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policyd.cli.shared.output import counted, shortest, styled
from policyd.cli.shared.terminal.wrapping import table_row
from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document, Sources

ExportState = Literal["exported", "with remarks", "partly exported", "not exported"]
_COLOURS: Mapping[ExportState, str] = {
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
    def label(self) -> str:
        """Return the kind and name."""
        return self.source.label

    @property
    def place(self) -> str:
        """Return the file and line."""
        return f"{shortest(self.policy.file)}:{self.policy.line}"

    @property
    def whole(self) -> bool:
        """Whether everything that the policy does is exported."""
        return self.state in ("exported", "with remarks")

    @property
    def state(self) -> ExportState:
        """Return what became of the policy."""
        if not self.policy.documents:
            return "not exported"
        if not self.policy.exported:
            return "partly exported"
        return "with remarks" if any(each.remarks for each in self.policy.parts) else "exported"

    def reason_text(self, found: Reason, part: ExportedPart) -> str:
        """Return a reason with its place."""
        place = f"{shortest(self.policy.file)}:{self.source.place(found.path)[0]}"
        return f"{place}: {self._text(found, part)}"

    def remark_text(self, found: Reason, part: ExportedPart) -> str:
        """Return a remark."""
        return f"remark: {self._text(found, part)}"

    def _text(self, found: Reason, part: ExportedPart) -> str:
        webhook = f"{part.webhook}: " if len(self.policy.parts) > 1 else ""
        path = f"{found.path}: " if found.path else ""
        return f"{webhook}{path}{found.message}"


def reported(policies: Sequence[ExportedPolicy], sources: Sources) -> list[ReportedPolicy]:
    """Return the policies with their documents."""
    found = {(each.kind, each.name, each.file): each for each in sources.documents}
    return [ReportedPolicy(each, found[each.kind, each.name, each.file]) for each in policies]


def summary(policies: Sequence[ReportedPolicy], width: int | None) -> Iterator[str]:
    """Yield the lines of a table, with reasons and remarks below their policies, and the totals."""
    states = max(map(len, _COLOURS))
    labels = max((len(each.label) for each in policies), default=0)
    for each in policies:
        state = styled(f"{each.state:{states}}", fg=_COLOURS[each.state])
        yield table_row((state, styled(f"{each.label:{labels}}", bold=True)), each.place, width)
        for part in each.policy.parts:
            for found in part.reasons:
                yield table_row(("  ",), each.reason_text(found, part), width)
            for found in part.remarks:
                yield table_row(("  ",), each.remark_text(found, part), width)
    yield totals(policies)


def totals(policies: Sequence[ReportedPolicy]) -> str:
    """Return how many policies have each state."""
    counts = Counter(each.state for each in policies)
    number = counted(len(policies), "policy", "policies")
    return f"{number}: " + ", ".join(
        f"{counts[state]} {state}" for state in _COLOURS if counts[state]
    )


def policies_json(
    policies: Sequence[ReportedPolicy], files: Mapping[Path, Sequence[ReportedPolicy]]
) -> list[JSONObject]:
    """Return the policies with documents, reasons and remarks. ``files``: what is in which."""
    return [
        {
            "kind": each.policy.kind,
            "name": each.policy.name,
            "file": each.policy.file,
            "line": each.policy.line,
            "state": each.state,
            "parts": [_part_json(each, part) for part in each.policy.parts],
            **({"files": [str(path) for path in files if each in files[path]]} if files else {}),
        }
        for each in policies
    ]


def _part_json(policy: ReportedPolicy, part: ExportedPart) -> JSONObject:
    return {
        "webhook": part.webhook,
        "documents": list(part.documents),
        "reasons": [_reason_json(policy, each) for each in part.reasons],
        "remarks": [_reason_json(policy, each) for each in part.remarks],
    }


def _reason_json(policy: ReportedPolicy, found: Reason) -> JSONObject:
    line, column = policy.source.place(found.path)
    return {"path": found.path, "line": line, "column": column, "message": found.message}
