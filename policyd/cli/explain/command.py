"""``policyd explain``: why each policy acted or did not act on a request, with the value of every
subexpression. Decides as ``policyd review`` does.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from policyd.admission.engine import Webhook
from policyd.admission.lookups.authorizer import Authorizer
from policyd.cli.explain.as_json import stories_json
from policyd.cli.explain.as_text import text
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.manifests import place_of
from policyd.cli.shared.output import echo_json, format_option, styled
from policyd.cli.shared.policy_options import (
    echo_failed_operations,
    echo_unbound,
    enforce_all_option,
    policies_option,
    policy_names,
    require_policies,
)
from policyd.cli.shared.request import (
    RequestOptions,
    echo_unfit,
    read_source,
    request_options,
)
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.shared.tree import TreeStyle, readable_width
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.offline.admitting import BOTH
from policyd.offline.explaining import Explainer
from policyd.offline.stories import WebhookStory
from policyd.policy.source.loader import load, require
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd explain -p policies/ review.json
  policyd explain -p policies/ deployment.yaml --namespace-labels env=prod
  policyd explain -p policies/ --policy require-limits pod.yaml
  policyd explain -p policies/ pod.yaml --old pod-before.yaml \\
      --user alice --group dev
  policyd explain -p policies/ deploy/all.yaml     # each object in the file
  policyd explain -p policies/ deploy/all.yaml --select Deployment/web
  kubectl get pod web -o json | policyd explain -p policies/ -
  policyd explain -p policies/ pod.yaml --format json | \\
      jq '.webhooks[].policies[].outcome'

\b
How to read the output:
  denies: Policy require-limits  limits.yaml:4   the policy, result and place
      match: resourceRules[0] matches            why the policy was evaluated
    read pods: 1 Pod object: shop/web            other objects that it read
    x validations[0] = false  (cost 12)          + true, x false, ! an error
        message: spec.containers[1].resources.limits: no memory limit
        | object.spec.containers.all(c, has(c.resources.limits))
        object.spec.containers = [{"name": "we…  the value of a subexpression
      > [1] c = {"name": "log"}                  > is the deciding iteration
            has(c.resources.limits) = false
  - only-deployments: resourceRules[0]: kind …   why a policy did nothing

Exit status: 0 if the request was explained (even if it is denied), 2 if the input or a policy is
invalid.
"""
_WEBHOOKS: dict[str, tuple[Webhook, ...]] = {
    "both": BOTH,
    "mutate": ("mutate",),
    "validate": ("validate",),
}
_WIDEST = 120


@click.command("explain", epilog=_EPILOG)
@policies_option()
@option(
    "--policy NAME",
    "Explain only this policy, in full detail.",
    to="only",
    shell_complete=policy_names,
)
@option(
    "--webhook",
    "Choose the webhook to explain. both mutates, then validates the result, as in a cluster.",
    type=click.Choice(list(_WEBHOOKS)),
    default="both",
)
@request_options
@AUTHORIZER
@enforce_all_option()
@format_option(
    "text",
    "json",
    help="Choose the output format. json has each expression as a tree with values and costs.",
)
@click.argument("file", default="-", type=click.File("rb"), metavar="[FILE]")
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    only: str | None,
    webhook: str,
    request: RequestOptions,
    authorizer: Authorizer | None,
    enforce_all: bool,
    form: str,
    file: BinaryIO,
    version: KubernetesVersion,
) -> None:
    """Explain why each policy acted or did not act on a request.

    FILE is JSON or YAML; - is standard input. It contains an AdmissionReview, or manifests. A
    CREATE request is built from each manifest (see --operation, --old, --user, --group and
    --namespace); the items of a List are explained one by one. Labels and annotations
    of namespaces come from --namespace-labels and --namespace-annotations, or from Namespace
    objects in FILE or in the policies.

    With --format json there is one JSON document per object: a jq filter works for one and for
    many, and jq -s makes a list of them. If there are several, each has file, line and object.

    The decision comes first, then the policies that caused it, with the value of every
    subexpression, then the other policies, with the reason why they did not act.
    """
    sources = require_policies(require(load(paths, version=version)), paths)
    explainer = Explainer.of_sources(sources)
    echo_unbound(sources)
    given, namespaces, definitions, objects = request.read(
        read_source(file), explainer.policies.mapper
    )
    explainer = explainer.changed(
        lambda policies: policies.with_definitions(definitions).reading(objects)
    )
    echo_unfit(given, explainer.policies.schemas)
    if enforce_all:
        explainer = explainer.changed(lambda policies: policies.enforced)
    names = [policy.name for policy in explainer.policies.policies]
    everything = only is not None or len(names) == 1
    if only is not None and only not in names:
        known = ", ".join(names[:10]) or "none"
        raise ConfigError(f"--policy {only}: no such policy; there are: {known}")
    explainer = explainer.knowing(*namespaces)
    defaults = explainer.policies.defaults if request.defaults else None
    for number, each in enumerate(given):
        namespace = request.namespace(each, explainer.policies.namespaces, several=len(given) > 1)
        chosen = explainer if namespace is None else explainer.knowing(namespace)
        stories = chosen.explain(
            each.review, _WEBHOOKS[webhook], authorizer, defaults=defaults, built=each.is_built
        )
        if only is not None:
            stories = [story.only(only) for story in stories]
        if form == "json":
            echo_json({**(each.place if len(given) > 1 else {}), **stories_json(stories)})
            continue
        if len(given) > 1:
            line = f"== {place_of(each.document)} {each.document.label} ==" if each.document else ""
            click.echo(("\n" if number else "") + (line and styled(line, bold=True)))
        style = TreeStyle(readable_width(_WIDEST), everything)
        sent = each.review.get("request") or {}
        echo_wrapped(
            "\n".join(text(stories, sent, style, defaulted=defaults is not None and each.is_built))
        )
        kind = sent.get("kind") or {}
        echo_failed_operations(sources, ((*each, kind) for each in _errors(stories)))
    request.namespaces.echo_unknown(explainer.policies, [each.review for each in given])


def _errors(stories: Iterable[WebhookStory]) -> Iterator[tuple[list[str], str]]:
    """Yield the mutations that failed: the policy and the message."""
    for policy in (policy for story in stories for policy in story.policies):
        for visit in policy.visits:
            yield from (([policy.policy.name], each.error) for each in visit.mutations)
