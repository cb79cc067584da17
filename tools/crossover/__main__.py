"""``python -m tools.crossover``: reads its input, asks for consent, and runs on a cluster."""

import asyncio
from pathlib import Path

import click

from policyd.cli import main
from policyd.cli.shared.kubeconfig import Kubeconfig, kubeconfig_options
from policyd.cli.shared.output import echo_json, format_option
from policyd.cli.shared.policy_options import policies_option
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from tools.crossover.options import CrossoverOptions, crossover_options
from tools.crossover.output import results_json, results_text
from tools.crossover.program import CrossoverRun

TERMINATED = 143  # the exit status that shells report for SIGTERM
NOT_CONFIRMED = 2
_EPILOG = """\b
Examples:
  python -m tools.crossover -p policies/          # what would be done
  python -m tools.crossover -p policies/ --yes    # in the API server only
  python -m tools.crossover -p policies/ --serve 10.0.0.7:9443 --yes
  python -m tools.crossover -p policies/ --webhook-service policyd/policyd \\
      --ca-file ca.crt --metrics-url http://127.0.0.1:8080/metrics --yes
  python -m tools.crossover -p policies/ -m deployment.yaml --requests 4000 \\
      --serve 10.0.0.7:9443 --yes

Exit status: 0 on success, 2 if the input is invalid, the cluster refuses something, or --yes is
not given, 130 after Ctrl-C.
"""


@click.command(
    "python -m tools.crossover",
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@policies_option("Measure the policies in this file or directory; may be repeated.")
@crossover_options
@kubeconfig_options
@click.option(
    "--yes", is_flag=True, help="Do it. Without this, what would be done is printed, and not done."
)
@format_option("text", "json")
def command(
    *,
    paths: tuple[Path, ...],
    options: CrossoverOptions,
    kube: Kubeconfig,
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
    crossover = CrossoverRun(paths, options, kube.file, kube.context)
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


if __name__ == "__main__":
    main(command=command)
