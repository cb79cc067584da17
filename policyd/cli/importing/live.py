"""``policyd import --cluster``: its options, what it imports, and what it reports of changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.cli.importing.report import ReportedImport
from policyd.cli.shared.kubeconfig import Kubeconfig, kubeconfig_options
from policyd.cli.shared.output import counted, styled
from policyd.cli.shared.settings import grouped, option, printing
from policyd.cli.shared.terminal.progress import counting
from policyd.cli.shared.terminal.wrapping import table_row, terminal_width
from policyd.errors import PolicySchemaError
from policyd.importers.all import LIVE_GROUPS
from policyd.importers.provenance import origin
from policyd.importers.reading import ImportSources, read_sources
from policyd.migration.source_changes import EarlierImport, SourceChange
from policyd.ownership import LABELS
from policyd.policy.source.yaml_output import dump

# Anybody who is authenticated may discover what a cluster serves.
_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "policyd-import", "labels": dict(LABELS)},
    "rules": [
        {"apiGroups": [*LIVE_GROUPS], "resources": ["*"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
    ],
}
_COLOURS = {"new": "green", "changed": "yellow", "gone": "red"}


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """Whether to import a cluster, which one, and the earlier import to compare it with."""

    cluster: bool
    kube: Kubeconfig
    namespaces: tuple[str, ...]
    since: Path | None

    def check(self, paths: Sequence[Path], *, verify: bool) -> None:
        """Raise click.UsageError for options that do not go together."""
        if self.cluster and (paths or verify):
            raise click.UsageError("--cluster cannot be combined with PATHS and --verify")
        if not self.cluster and (self.namespaces or self.since):
            raise click.UsageError("--namespace and --since need --cluster")
        if not self.cluster and not paths:
            raise click.UsageError("Missing argument 'PATHS...' (or --cluster).")

    def read(self) -> ImportSources:
        """Return the policies of the cluster."""
        from policyd.migration.live_policies import missing_config_maps, read_policies

        with self.kube.reader() as reader, counting() as advance:
            live = read_policies(reader, self.namespaces, advance)
            live.unread += missing_config_maps(reader, live)
        problems, incomplete = tuple(live.unread), frozenset(live.incomplete)
        return ImportSources(tuple(live.documents), (), problems, incomplete)

    def changes(
        self, found: Sequence[ReportedImport], read: ImportSources
    ) -> list[SourceChange] | None:
        """Return what changed since the earlier import, by source; None if none is given. Raises
        PolicySchemaError.
        """
        if self.since is None:
            return None
        before = read_sources([self.since])
        if before.problems:
            raise PolicySchemaError(before.problems)
        earlier = EarlierImport(before.documents)
        known = filter(None, (earlier.change(each.imported) for each in found))
        sources = {origin(each) for each in read.documents}
        return [*known, *earlier.gone(sources, read.incomplete, self.namespaces)]


def without_unchanged(
    found: list[ReportedImport], changes: Sequence[SourceChange] | None
) -> list[ReportedImport]:
    """Return the imports whose sources are new or changed, or that failed."""
    same = {each.source for each in changes or () if each.state == "unchanged"}
    return [each for each in found if origin(each.imported.source) not in same]


def echo_changes(changes: Sequence[SourceChange], *, err: bool) -> None:
    """Print a row for each change, and the number of sources without one."""
    width = terminal_width(err=err)
    for each in sorted(changes, key=lambda each: (each.state, each.source)):
        if each.state in _COLOURS:
            state = styled(f"{each.state:7}", fg=_COLOURS[each.state])
            files = f"imported to {', '.join(each.files)}" if each.files else ""
            row = "; ".join(filter(None, (each.why, files)))
            click.echo(table_row((state, each.source), row, width), err=err)
    same = sum(each.state == "unchanged" for each in changes)
    click.echo(f"{counted(same, 'source')} unchanged", err=err)


_OPTIONS = (
    option(
        "--cluster", "Import the policies in a cluster instead of PATHS. The cluster is only read."
    ),
    kubeconfig_options,
    option(
        "-n, --namespace NAME...",
        "With --cluster, import only the policies in this namespace; may be repeated.",
        to="namespaces",
    ),
    option(
        "--since PATH",
        "With --cluster, compare with the policies of an earlier import: report which sources "
        "are new, changed, gone or unchanged, and print or write only what is new or changed.",
    ),
)
live_options = grouped("live", LiveOptions, _OPTIONS)
PRINT_RBAC = printing(
    "--print-rbac",
    "Print the ClusterRole that --cluster needs, and exit.",
    lambda _: click.echo(dump(_ROLE), nl=False),
)
