"""``policyd compare``: sends recorded reviews to the webhooks of another product, and compares its
answers with the decisions of policies.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode
from policyd.cli.compare.report import ComparedRequest, Totals, echo_plan, echo_report
from policyd.cli.compare.targets import OtherWebhooks, other_options
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.manifests import is_namespace
from policyd.cli.shared.output import format_option, within
from policyd.cli.shared.policy_options import enforce_all_option, loaded, policies_option
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.progress import with_progress
from policyd.cli.shared.version import version_option
from policyd.comparison.asking import OtherProduct, answers_to
from policyd.comparison.comparing import DIFFERENT, Comparer
from policyd.errors import ConfigError
from policyd.offline.admitting import Admitter
from policyd.offline.captures import capture_lines, review_errors
from policyd.offline.replaying import Recorded, read_line
from policyd.policy.model.kinds import POLICY_KINDS
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd compare --captures capture/ -p policies/ --against webhooks.yaml
  policyd compare --captures capture/ -p policies/ --against webhooks.yaml \\
      --yes
  kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations \\
      -l webhook.kyverno.io/managed-by=kyverno -o yaml | policyd compare \\
      --captures capture/ -p policies/ --against - --yes
  policyd compare --captures capture/ -p policies/ --yes --format json \\
      --against gatekeeper-system/gatekeeper-webhook-service
  policyd compare --captures reviews.jsonl -p policies/ --yes \\
      --against https://127.0.0.1:9443/validate --ca-file ca.crt

\b
Outcomes, for each request and rule:
  equal          the same decision, and a message that contains the policy's
  stricter       a denial or warning by policies alone
  looser         a denial or warning by the other product alone
  other message  the same decision with another message
  other patch    the mutated objects differ
  unknown        a policy audits, and answers do not contain what the other
                 product audits (--cluster reads it from reports); or what it
                 would be sent is not known
  no answer      the other product failed to answer

Exit status: 0 if every outcome is equal or unknown, or nothing was sent (without --yes); 1 if one
is not; 2 if the input is invalid or the other product does not answer at all.
"""


@click.command("compare", epilog=_EPILOG)
@option(
    "--captures",
    "Send the AdmissionReviews in this file or directory; - is standard input. May be repeated.",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
)
@policies_option("Compare with the policies in this file or directory; may be repeated.")
@other_options
@option("--yes", "Send. Without it, only print what would be sent where.")
@option(
    "--limit NUMBER",
    "Send at most this many reviews, evenly chosen from all.",
    type=click.IntRange(1, 1_000_000),
    default=10_000,
)
@option(
    "--connections NUMBER",
    "Send this many reviews at the same time.",
    type=click.IntRange(1, 32),
    default=4,
)
@enforce_all_option()
@AUTHORIZER
@option("-v, --verbose", "List every request, not one example per rule and outcome.")
@format_option("text", "json")
@version_option()
def command(
    *,
    captures: tuple[Path, ...],
    paths: tuple[Path, ...],
    other: OtherWebhooks,
    yes: bool,
    limit: int,
    connections: int,
    enforce_all: bool,
    authorizer: Authorizer | None,
    verbose: bool,
    form: str,
    version: KubernetesVersion,
) -> None:
    """Compare decisions of policies with decisions of Kyverno or Gatekeeper, request by request.

    Sends recorded AdmissionReviews (policyd serve --capture) to the running webhooks of the other
    product, as dry runs with new uids and the recorded users. The configurations decide which
    webhooks get a review. A review that records its webhook goes to webhooks of the same kind; one
    that does not is mutated and then validated, by both products.

    Denials and warnings are matched with policies by the names in the messages, and by the
    annotations of policyd import. Redacted reviews are skipped. A Service is called through the
    proxy of the API server, which requires the permission to create services/proxy.
    """
    if other.against == "-" and Path("-") in captures:
        raise click.UsageError("--captures - and --against - cannot both be standard input")
    sources, policies = loaded(paths, version)
    hooks, namespaces = other.webhooks()
    namespaces += [each.raw for each in sources.documents if is_namespace(each)]
    chosen, totals = _chosen(captures, limit)
    product = OtherProduct(hooks, namespaces, authorizer, policies.defaults, version)
    if not yes:
        echo_plan([hook for _, each in chosen for hook in product.called(each)], totals, form)
        return
    if enforce_all:
        policies = policies.enforced
    admitter = Admitter(policies, authorizer, defaults=policies.defaults, built=False)
    answers = answers_to([each for _, each in chosen], product, other.reach, connections)
    with ExitStack() as stack:
        documents, reports = sources.of_kind(*POLICY_KINDS), other.reports(stack)
        comparer = Comparer(admitter, policies.defaults, documents, reports)
        found = [
            ComparedRequest(place, recorded.label, rule)
            for (place, recorded), given in zip(
                with_progress(chosen, "comparing"), answers, strict=True
            )
            for rule in comparer.compared(recorded, given)
        ]
    echo_report(found, totals, form, verbose=verbose)
    if any(each.rule.outcome in DIFFERENT for each in found):
        raise SystemExit(1)


def _chosen(captures: tuple[Path, ...], limit: int) -> tuple[list[tuple[str, Recorded]], Totals]:
    """Return the reviews to send, with their places. Raises ConfigError if there are none."""
    found = list(_read(captures))
    clear = [each for each in found if not each[1].redacted]
    if not clear:
        why = "; all are redacted" if found else ""
        raise ConfigError(f"no reviews to compare {within(captures)}{why}")
    chosen = clear[:: -(-len(clear) // limit)]
    totals = Totals(len(chosen), len(found) - len(clear), len(clear) - len(chosen))
    return chosen, totals


def _read(captures: tuple[Path, ...]) -> Iterator[tuple[str, Recorded]]:
    for place, line in capture_lines(captures):
        with review_errors(place):
            recorded = read_line(line)
            decode(recorded.review)
        yield place, recorded
