"""``policyd apply --cluster``: its options, and the output of a scan. Evaluates no policy."""

from dataclasses import replace

import click

from policyd.bounded_text import few
from policyd.cli.apply.checked import ApplyRun, ClusterOptions
from policyd.cli.apply.output import write
from policyd.cli.shared.kubeconfig import INCOMPLETE, kubeconfig_options
from policyd.cli.shared.output import counted, warn
from policyd.cli.shared.settings import grouped, option
from policyd.cli.shared.terminal.progress import counting

_NAMED = 5  # policies named in a note; the others are counted


def scan_cluster(options: ClusterOptions, run: ApplyRun) -> int:
    """Scan the cluster, print the result and return the exit status."""
    # Imported here because only a scan needs it.
    from policyd.cli.apply.scan import scan

    with options.kube.reader() as reader:
        if run.authorizer is None and run.requester.user is not None:
            run = replace(run, authorizer=reader)
        with counting() as advance:
            report = scan(reader, options, run, advance)
    for text in report.unread:
        warn(text)
    write(run.report, report.checked, report.tally)
    if run.report.form == "text":
        if report.left_out:
            objects = counted(report.left_out, "object")
            note = "skipped: the same policies check their owners (--owned checks them too)"
            click.echo(f"{objects} {note}", err=True)
        if report.idle:
            idle = few(report.idle, _NAMED)
            click.echo(f"policies that match no CREATE request in this scan: {idle}", err=True)
    if report.tally.fails(run.report.fail_on):
        return 1
    return INCOMPLETE if report.unread else 0


_OPTIONS = (
    option(
        "--cluster", "Check the objects in a cluster instead of PATHS. The cluster is only read."
    ),
    kubeconfig_options,
    option(
        "-n, --namespace NAME...",
        "Set the namespace of objects that name none. With --cluster: check only the objects "
        "in this namespace; may be repeated.  [default: default]",
        to="scanned",
    ),
    option(
        "--owned",
        "Also check controller-created objects (ReplicaSets, Pods) whose owner the same "
        "policy already checks.",
    ),
)
cluster_options = grouped("scan", ClusterOptions, _OPTIONS)
