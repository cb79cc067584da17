"""``policyd report``: reads the options and policies of a run, and handles its signals."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from policyd.cli.report.sources import SourceOptions, load_policies, selection_of, sources_options
from policyd.cli.shared.kubeconfig import INCOMPLETE, Kubeconfig, kubeconfig_options
from policyd.cli.shared.manifests import Requester
from policyd.cli.shared.output import format_option, warn
from policyd.cli.shared.policy_options import loaded
from policyd.cli.shared.request import GROUP, USER, requester_group
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.progress import counting, echo
from policyd.cli.shared.version import version_of, version_option
from policyd.cluster import missing, open_reader
from policyd.cluster.commands import open_objects
from policyd.errors import ConfigError
from policyd.reports import rendering
from policyd.versions import KubernetesVersion

TIMEOUT = 60.0  # seconds for a page of a list, or a report, with all retries
_INTERRUPTED = "interrupted; the next run writes the rest"
_EPILOG = """\b
Examples:
  policyd report -p policies/ --dry-run
  policyd report -p policies/
  policyd report -p policies/ -n shop -n mail --context prod
  policyd report -p policies/ --qps 50 --output summary.txt
  policyd report --policy-configmaps policyd.dev/policies=true \\
    --policy-namespace policyd
  kubectl get reports -A           # or policyreports, with the older API

Exit status: 0 if everything was read and written, whatever the policies find, 2 if the input or a
policy is invalid, the cluster cannot be reached or serves no API of reports, 3 if part of the
cluster could not be read or written, also after SIGTERM or SIGINT.
"""


@click.command("report", epilog=_EPILOG)
@sources_options
@option(
    "-n, --namespace NAME...",
    "Report only the objects in this namespace, and the Namespace; may be repeated.  "
    "[default: all, and cluster-scoped objects]",
    to="namespaces",
)
@option(
    "--owned",
    "Also report controller-created objects (ReplicaSets, Pods) whose owner the same policy "
    "already checks.",
)
@option(
    "--api",
    "Write reports of this API.  [default: the first one that the cluster serves]",
    type=click.Choice(("openreports.io/v1alpha1", "wgpolicyk8s.io/v1alpha2")),
)
@option(
    "--qps NUMBER",
    "Send at most this many requests a second to the API server.",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
)
@option(
    "--dry-run",
    "Print the reports that would be written or deleted to standard error; change nothing.",
)
@requester_group
@USER
@GROUP
@format_option(*rendering.FORMATS, help="Choose the format of the summary.")
@option("--output FILE", "Write the summary to this file.  [default: standard output]")
@kubeconfig_options
@version_option(of_cluster="the cluster's")
def command(
    *,
    given: SourceOptions,
    namespaces: tuple[str, ...],
    owned: bool,
    api: str | None,
    qps: float,
    dry_run: bool,
    requester: Requester,
    form: str,
    output: Path | None,
    kube: Kubeconfig,
    version: KubernetesVersion | None,
) -> None:
    """Write reports about the objects in a cluster, and print a summary.

    The objects are read and checked as policyd apply --cluster does. Each object with something
    other than a pass gets one report (Report of openreports.io, or PolicyReport of
    wgpolicyk8s.io), whose name is the UID of the object. A report that has not changed is not
    written. At the end, the reports of objects that are fine now, or gone, are deleted: only
    reports that policyd wrote, and only where all objects could be listed.

    A run that was interrupted leaves complete reports, and the next run writes the rest. Load all
    your policies in one run, as the server does: each run writes whole reports. ConfigMaps are read
    once, at the start. One of policies with an error ends the run before it writes anything; one of
    exceptions with an error is left out with a warning.
    """
    if output is not None:
        rendering.require_writable(output)
    with _interruptible() as interrupted:
        try:
            from policyd.reports.paced_requests import ReportRequests, RequestPace
            from policyd.reports.run import ReportRun, ReportRunOptions
        except ModuleNotFoundError as error:  # the client library
            raise missing(error) from None
        file, context = kube.file, kube.context
        selection = selection_of(given, in_pod=file is None)
        if version is None:
            version = version_of(kube)
        # What is wrong with the policies of files alone is known without a cluster.
        alone = not (selection.policies or selection.exceptions)
        found = loaded(given.paths, version) if alone else None
        options = ReportRunOptions(requester.user_info, namespaces, owned, api or "", dry_run)
        pace = RequestPace(qps, interrupted)
        with (
            open_objects(file, context, TIMEOUT, retries=False) as objects,
            open_reader(file, context, TIMEOUT, pace.take) as reader,
        ):
            requests = ReportRequests(objects, pace, interrupted)
            sources, policies = found or load_policies(given, version, requests, selection)
            run = ReportRun(
                requests,
                reader,
                sources=sources,
                policies=policies,
                authorizer=reader if requester.user is not None else None,
                options=options,
                cluster=objects.server,
                announce=echo,
            )
            with counting() as advance:
                summary = run.run(advance)
    for each in summary.problems:
        warn(each)
    if summary.more_problems:
        warn(f"{summary.more_problems} more problems")
    if summary.interrupted:
        warn(_INTERRUPTED)
    rendering.write(summary, form, output)
    raise SystemExit(0 if summary.complete else INCOMPLETE)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether SIGTERM or SIGINT has arrived; a second signal ends the
    process at once. A file that cannot be read later is no error of the settings.
    """
    arrived: list[int] = []
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.getsignal(each) for each in signals}

    def note(number: int, frame: object) -> None:
        arrived.append(number)
        for each in signals:
            signal.signal(each, signal.SIG_DFL)
        with suppress(RuntimeError):  # the signal interrupted another write to standard error
            echo("ending after the current request; a second signal ends at once")

    for each in signals:
        signal.signal(each, note)
    try:
        yield lambda: bool(arrived)
    except ConfigError:
        if not arrived:
            raise
        warn(_INTERRUPTED)
        raise SystemExit(INCOMPLETE) from None
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
