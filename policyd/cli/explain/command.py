"""``policyd explain``: why each policy did or did not act on a request, with the value of every
part of its expressions. Judges as ``policyd review`` does.
"""

import shutil
from pathlib import Path
from typing import BinaryIO

import click

from policyd.admission.authorizer import Authorizer
from policyd.admission.engine import Webhook
from policyd.cli.explain.as_json import stories_json
from policyd.cli.explain.as_text import text
from policyd.cli.shared.authorizer import authorizer_option
from policyd.cli.shared.output import echo_json
from policyd.cli.shared.policies import policies_option
from policyd.cli.shared.request import RequestOptions, request_options
from policyd.cli.shared.tree import Style
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.offline.explaining import Explainer
from policyd.offline.stories import BOTH
from policyd.policy.source.loader import load, require
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd explain -p policies/ review.json
  policyd explain -p policies/ deployment.yaml --namespace-labels env=prod
  policyd explain -p policies/ --policy require-limits pod.yaml
  policyd explain -p policies/ pod.yaml --old pod-before.yaml --user alice --group dev
  kubectl get pod web -o json | policyd explain -p policies/ -
  policyd explain -p policies/ pod.yaml --format json | jq '.webhooks[].policies[].outcome'

\b
How to read it:
  denies: Policy require-limits  policies/limits.yaml:4     what it did, and where it stands
      match: resourceRules[0] fits                          why it was asked
    x validations[0] = false  (cost 12)                     + held, x did not, ! is an error
        message: every container needs a memory limit
        | object.spec.containers.all(c, has(c.resources.limits))
        object.spec.containers = [{"name": "web"}, …        each part, with its value
      > [1] c = {"name": "log", "resources": {}}            > decided; rounds count from 0
            has(c.resources.limits) = false
  - only-deployments: resourceRules[0]: resources …         why one was not asked

Exit status: 0 when explained (also for a denial), 2 for bad input or a broken policy.
"""
_WEBHOOKS: dict[str, tuple[Webhook, ...]] = {
    "both": BOTH,
    "mutate": ("mutate",),
    "validate": ("validate",),
}
_MIN_WIDTH, _MAX_WIDTH = 80, 120


@click.command("explain", epilog=_EPILOG)
@policies_option()
@click.option(
    "--policy", "only", metavar="NAME", help="Only this policy, with all there is to say."
)
@click.option(
    "--webhook",
    type=click.Choice(list(_WEBHOOKS)),
    default="both",
    show_default=True,
    help="Which webhook; both: mutate, then validate what came of it, as in a cluster.",
)
@request_options
@authorizer_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: the decisions, and each expression as a tree with values and costs.",
)
@click.argument("file", default="-", type=click.File("rb"), metavar="REVIEW|MANIFEST")
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    only: str | None,
    webhook: str,
    request: RequestOptions,
    authorizer: Authorizer | None,
    form: str,
    file: BinaryIO,
    version: KubernetesVersion,
) -> None:
    """Tell why each policy did or did not act on a request.

    The file (JSON or YAML; - is standard input) is an AdmissionReview, or a manifest: then the
    request is its CREATE, or what --operation, --old, --user and --group say. The decision comes
    first, then the policies that made it with every part of their expressions and its value, then
    the others with the reason why they had nothing to say.
    """
    sources = require(load(paths, version=version))
    review = request.review(file)
    explainer = Explainer(sources)
    namespace = request.namespace(review)
    if namespace is not None:
        explainer = explainer.knowing(namespace)
    stories = explainer.explain(review, _WEBHOOKS[webhook], authorizer)
    everything = only is not None or len(explainer.names) == 1
    if only is not None:
        if only not in explainer.names:
            known = ", ".join(explainer.names[:10]) or "none"
            raise ConfigError(f"--policy {only}: no such policy; there are: {known}")
        stories = [story.only(only) for story in stories]
    if form == "json":
        echo_json(stories_json(stories))
        return
    style = Style(_width(), everything)
    click.echo("\n".join(text(stories, review.get("request") or {}, style)))


def _width() -> int:
    """That of the terminal, within bounds that can be read."""
    return max(_MIN_WIDTH, min(_MAX_WIDTH, shutil.get_terminal_size((100, 24)).columns))
