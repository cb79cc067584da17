"""``policyd bench core``: measures policies in this process. Starts no server."""

from pathlib import Path

import click

from policyd.admission.lookups.authorizer import Authorizer
from policyd.benchmark import core
from policyd.benchmark.figures import FEWEST
from policyd.benchmark.rounds import RoundLimits
from policyd.benchmark.saved import MeasuredInput, Saved
from policyd.benchmark.webhook_requests import digest, requests_of
from policyd.cli.bench.core_output import CoreResult, core_text
from policyd.cli.bench.reviews import read_reviews
from policyd.cli.bench.saving import SavingOptions, saving_options
from policyd.cli.shared.authorizer import authorizer_option
from policyd.cli.shared.output import format_option
from policyd.cli.shared.policy_options import policies_option, require_policies
from policyd.cli.shared.settings import OptionValue
from policyd.cli.shared.terminal.progress import counting
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.option_values import positive_duration
from policyd.policy.compile import compiler
from policyd.policy.source.loader import load
from policyd.versions import KubernetesVersion

NAME = "core"
_EPILOG = """\b
Examples:
  policyd bench core -p policies/                  # the built-in reviews
  policyd bench core -p policies/ capture/         # of serve --capture
  policyd bench core -p policies/ deployment.yaml  # a manifest
  policyd bench core -p policies/ capture/ --save before.json
  policyd bench core -p policies/ capture/ --compare before.json \\
      --threshold 10%

\b
What it prints, in microseconds for one request:
  cpu, p50 ...  from the bytes of a review to the bytes of its answer,
                without HTTP and TLS
  phases        of it, in rounds of their own with clocks in between
  policies      for one request that the policy matched; the share of all
                CPU time; the cost in units of Kubernetes

Exit status: 0 on success, 1 if something is slower than --threshold allows, 2 if the input or a
policy is invalid, or another measurement cannot be compared, 130 after Ctrl-C.
"""


@click.command(NAME, epilog=_EPILOG)
@policies_option("Measure the policies in this file or directory; may be repeated.")
@click.option(
    "--rounds",
    type=click.IntRange(FEWEST),
    default=30,
    show_default=True,
    metavar="NUMBER",
    help="Measure everything this many times, one after the other.",
)
@click.option(
    "--duration",
    type=OptionValue("DURATION", positive_duration),
    default="1m",
    show_default=True,
    metavar="DURATION",
    help=f"Stop measuring after this time, if there were {FEWEST} rounds.",
)
@saving_options
@authorizer_option
@format_option("text", "json")
@click.argument(
    "reviews",
    nargs=-1,
    metavar="[PATHS]...",
    type=click.Path(exists=True, path_type=Path, allow_dash=True),
)
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    reviews: tuple[Path, ...],
    rounds: int,
    duration: float,
    saving: SavingOptions,
    authorizer: Authorizer | None,
    form: str,
    version: KubernetesVersion,
) -> None:
    """Measure what your policies cost for each request, policy by policy.

    PATHS are files and directories that policyd serve --capture recorded, files with one JSON
    AdmissionReview per line (.jsonl or .jsonl.gz; - is standard input), or manifests, whose reviews
    are built as policyd apply does. Without PATHS, built-in reviews of Pods, Deployments and other
    objects are used. A review that does not record its webhook is mutated and then validated.

    Every round measures everything once, with work that never changes beside it (parse and print
    the same JSON): --compare uses multiples of that, so that a slower machine alone is no change.
    """
    former = saving.former(NAME)
    sources = require_policies(load(paths, version=version), paths)
    policies = compiler.compile_strict(sources)
    given = read_reviews(reviews, policies.mapper)
    policies = policies.with_definitions(given.definitions)
    for each in given.namespaces:
        policies = policies.with_namespace(each)
    now = Saved(
        NAME,
        MeasuredInput(f"{policies.generation}-{version}", len(policies.policies)),
        MeasuredInput(digest(given.reviews), len(given.reviews)),
        {},
    )
    saving.check(now, former)
    calls = requests_of(policies, given.reviews, authorizer, policies.defaults)
    if not calls:
        raise ConfigError(
            "there is nothing to measure: no review is for a webhook that these policies use"
        )
    with counting() as report:
        found = core.measure(policies, calls, RoundLimits(rounds, duration), report, authorizer)
    result = CoreResult(policies, len(given.reviews), found)
    figures = found.figures
    saved = Saved(NAME, now.policies, now.reviews, figures, now.taken, details=result.document())
    if saving.finish(saved, former, form, core_text(result)):
        raise SystemExit(1)
