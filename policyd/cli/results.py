"""What an export or an import reports of each policy: a row with its state, what was found below
it, and the totals. Converts nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from policyd.cli.shared.layout.document_layout import comment
from policyd.cli.shared.manifests import place_of
from policyd.cli.shared.output import counted, styled
from policyd.cli.shared.terminal.wrapping import table_row, terminal_width
from policyd.export.model import Reason
from policyd.importers.model import ImportRemark
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The result for one policy. ``reasons`` have their places; ``below`` is all that the summary
    shows below the row.
    """

    source: Document
    state: str
    reasons: Sequence[str]
    below: Sequence[str]

    @property
    def missing(self) -> str:
        """Return the comment that stands for what is not among the documents."""
        head = f"{self.state.capitalize()}: {headline(self.source)}"
        return comment("\n".join((head, *(f"  {each}" for each in self.reasons))))


def headline(source: Document) -> str:
    """Return what a source is called, and its file and line."""
    return f"{source.label}, {place_of(source)}"


def found_text(found: Reason | ImportRemark) -> str:
    """Return a reason or remark with its field."""
    return f"{found.path}: {found.message}" if found.path else found.message


def found_json(source: Document, found: Reason | ImportRemark) -> JSONObject:
    """Return a reason or remark with its place."""
    line, column = source.place(found.path)
    return {"path": found.path, "line": line, "column": column, "message": found.message}


def echo_results(results: Sequence[PolicyResult], colours: Mapping[str, str], *, err: bool) -> None:
    """Print a table, and the number of policies in each of the states, in the order of
    ``colours``.
    """
    width = terminal_width(err=err)
    states = max(map(len, colours))
    labels = max((len(each.source.label) for each in results), default=0)
    for each in results:
        state = styled(f"{each.state:{states}}", fg=colours[each.state])
        label = styled(f"{each.source.label:{labels}}", bold=True)
        click.echo(table_row((state, label), place_of(each.source), width), err=err)
        for line in each.below:
            click.echo(table_row(("  ",), line, width), err=err)
    counts = Counter(each.state for each in results)
    shown = ", ".join(f"{counts[state]} {state}" for state in colours if counts[state])
    total = counted(len(results), "policy", "policies") + (f": {shown}" if shown else "")
    click.echo(total, err=err)
