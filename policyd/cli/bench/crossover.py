"""``policyd bench crossover``: reads its input, asks for consent, and runs on a cluster."""

import asyncio
from pathlib import Path

import click

from policyd.cli.bench.options import CrossoverOptions, crossover_options
from policyd.cli.bench.output import results_json, results_text
from policyd.cli.shared.kubeconfig import CONTEXT, KUBECONFIG, kubeconfig_file
from policyd.cli.shared.output import echo_json, format_option
from policyd.cli.shared.policies import policies_option
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cluster import missing

TERMINATED = 143  # the exit status that shells report for SIGTERM
NOT_CONFIRMED = 2
_EPILOG = """\b
Examples:
  policyd bench crossover -p policies/          # what would be done
  policyd bench crossover -p policies/ --yes    # in the API server only
  policyd bench crossover -p policies/ --serve 10.0.0.7:9443 --yes
  policyd bench crossover -p policies/ --webhook-service policyd/policyd \\
      --ca-file ca.crt --metrics-url http://127.0.0.1:8080/metrics --yes
  policyd bench crossover -p policies/ -m deployment.yaml --requests 4000 \\
      --serve 10.0.0.7:9443 --yes

Exit status: 0 on success, 2 if the input is invalid, the cluster refuses something, or --yes is
not given, 130 after Ctrl-C.
"""


@click.command("crossover", epilog=_EPILOG)
@policies_option("Measure the policies in this file or directory; may be repeated.")
@crossover_options
@KUBECONFIG
@CONTEXT
@click.option(
    "--yes", is_flag=True, help="Do it. Without this, what would be done is printed, and not done."
)
@format_option("text", "json")
def command(
    *,
    paths: tuple[Path, ...],
    options: CrossoverOptions,
    kubeconfig: Path | None,
    context: str | None,
    yes: bool,
    form: str,
) -> None:
    """Measure what your policies cost in the API server and at the webhook.

    Dry-run creates are sent to namespaces that exist only for this: one without policies, one where
    the API server evaluates them, and one where it calls policyd for the same. Latency and CPU time
    are compared round by round. Policies and webhook configurations are created under names of
    their own, limited to these namespaces, and everything is removed at the end.

    Policies that cannot run in the API server are left out. Without --serve, --webhook-service or
    --webhook-url, only the API server is measured.
    """
    try:
        from policyd.cli.bench.run import CrossoverRun
    except ModuleNotFoundError as error:  # the client library
        raise missing(error) from None
    crossover = CrossoverRun(paths, options, kubeconfig_file(kubeconfig), context)
    try:
        found = asyncio.run(crossover.run(confirmed=yes))
    except asyncio.CancelledError:
        raise SystemExit(TERMINATED) from None
    if found is None:
        raise SystemExit(NOT_CONFIRMED)
    plan, results = found
    if form == "json":
        echo_json(results_json(plan, results))
    else:
        echo_wrapped(results_text(plan, results))
