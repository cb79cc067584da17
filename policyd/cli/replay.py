"""``policyd replay``: evaluates recorded reviews with new policies and reports which decisions
change. Records nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from policyd.admission.lookups.authorizer import Authorizer
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.output import (
    counted,
    echo_json,
    fields_json,
    format_option,
    one_line,
    styled,
    within,
)
from policyd.cli.shared.policy_options import enforce_all_option, loaded, policies_option
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.progress import with_progress
from policyd.cli.shared.terminal.wrapping import table_row, terminal_width
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.offline.admitting import Admitter
from policyd.offline.captures import capture_lines, review_errors
from policyd.offline.replaying import WHAT, DecisionChange, changes, read_line
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loader import load
from policyd.versions import KubernetesVersion

_COLOURS = {"now denied": "red", "now enforced": "red", "now admitted": "green"}
_WIDTH = 14  # of the most frequent changes
_EPILOG = """\b
Examples:
  policyd serve -p policies/ --capture /var/lib/policyd/capture   # record
  policyd replay capture/ -p policies-new/ --against policies/
  policyd replay capture/ -p policies-new/   # compare with recorded answers
  policyd replay reviews.jsonl.gz -p new/ --against old/ -v
  policyd replay capture/ -p policies/ --enforce-all   # the end of rollouts

\b
What CHANGE says of rollouts:
  now enforced        a suppressed denial or mutation takes effect
  no longer enforced  a rollout suppresses a denial or mutation
  would deny, would mutate, would admit, would not mutate
                      the answer is the same, the suppressed result differs

Exit status: 0 if no decision changes, 1 if at least one does or the objects that a policy reads
were not recorded, 2 if the input or a policy is invalid.
"""


@dataclass(frozen=True, slots=True)
class _Changed:
    """A recorded request and one change of its decision."""

    place: str
    request: str
    change: DecisionChange


@click.command("replay", epilog=_EPILOG)
@policies_option("Evaluate the new policies in this file or directory; may be repeated.")
@option(
    "--against PATH...",
    "Compare with the policies in this file or directory; may be repeated.  "
    "[default: compare with the recorded answers]",
)
@AUTHORIZER
@enforce_all_option("Evaluate the new policies (not --against) as if every rollout were over.")
@option("-v, --verbose", "List every changed request, not one example per change.")
@format_option(
    "text",
    "json",
    help="Choose the output format. json is a list with one object per changed request and policy.",
)
@click.argument(
    "captures",
    nargs=-1,
    required=True,
    metavar="PATHS...",
    type=click.Path(path_type=Path, allow_dash=True),
)
@version_option()
def command(
    *,
    captures: tuple[Path, ...],
    paths: tuple[Path, ...],
    against: tuple[Path, ...],
    authorizer: Authorizer | None,
    enforce_all: bool,
    verbose: bool,
    form: str,
    version: KubernetesVersion,
) -> None:
    """Evaluate recorded AdmissionReviews with new policies and report which decisions change.

    PATHS are files and directories that policyd serve --capture recorded, or files with one JSON
    AdmissionReview per line (.jsonl or .jsonl.gz); - is standard input. A review that does not
    record its webhook is mutated and then validated. Captures omit the values of Secrets, so
    policies that read them may decide differently than they did. Reads of policies find the objects
    that were recorded; if a policy needs others, the change is `not recorded`.
    """
    _, compiled = loaded(paths, version)
    new = _admitter(compiled.enforced if enforce_all else compiled, authorizer)
    old = None
    if against:
        old = _admitter(compiler.compile_strict(load(against, version=version)), authorizer)
    lines = list(capture_lines(captures))
    if not lines:
        raise ConfigError(f"no reviews {within(captures)}")
    found = list(_changed(with_progress(lines, "replaying"), new, old))
    if form == "json":
        echo_json([_as_json(each) for each in found])
    else:
        _table(found, verbose)
        requests = len({each.place for each in found})
        click.echo(
            f"{counted(len(lines), 'review')}: {counted(requests, 'decision')} changed", err=True
        )
    if found:
        raise SystemExit(1)


def _admitter(policies: CompiledPolicySet, authorizer: Authorizer | None) -> Admitter:
    """Return what evaluates recorded objects, which have their defaults."""
    return Admitter(policies, authorizer, defaults=policies.defaults, built=False)


def _changed(
    lines: Iterable[tuple[str, bytes]], new: Admitter, old: Admitter | None
) -> Iterator[_Changed]:
    for place, line in lines:
        with review_errors(place):
            recorded = read_line(line)
            before = recorded.answered() if old is None else recorded.evaluated(old)
            after = recorded.evaluated(new)
        for change in changes(before, after):
            yield _Changed(place, recorded.label, change)


def _table(found: list[_Changed], verbose: bool) -> None:
    """Print one line for each kind of change of a policy, or, if ``verbose``, for each change."""
    ordered = sorted(found, key=_sort)
    groups = [list(members) for _, members in groupby(ordered, _sort)]
    rows = [(each, len(group)) for group in groups for each in (group if verbose else group[:1])]
    width = max(len("POLICY"), *(len(each.change.policy) for each in found), 0)
    wide = max(_WIDTH, *(len(each.change.what) for each in found), 0)
    columns = terminal_width()
    if rows:
        heads = (f"{'CHANGE':<{wide}}", "COUNT", f"{'POLICY':<{width}}")
        click.echo(table_row(heads, "EXAMPLE", columns))
    for each, times in rows:
        change = each.change
        what = styled(f"{change.what:<{wide}}", fg=_COLOURS.get(change.what, "yellow"))
        cells = (what, f"{1 if verbose else times:>5}", f"{change.policy or '-':<{width}}")
        example = f"{each.request} ({each.place}): {one_line(change.message)}"
        click.echo(table_row(cells, example, columns))


def _sort(changed: _Changed) -> tuple[int, str]:
    return (WHAT.index(changed.change.what), changed.change.policy)


def _as_json(changed: _Changed) -> dict[str, Any]:
    return {
        **fields_json(changed, "place", "request"),
        "change": changed.change.what,
        **fields_json(changed.change, "policy", "message"),
    }
