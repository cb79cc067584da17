"""``policyd webhooks status``: whether a cluster calls policyd for every policy. Only reads."""

from collections.abc import Iterator

import click

from policyd.cli.shared.output import echo_json, format_option, styled
from policyd.cli.shared.policy_options import loaded
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.webhooks.health import bundle_faults, drift, own_webhooks, service_faults
from policyd.cli.webhooks.in_tree import InTreeState, in_tree
from policyd.cli.webhooks.options import VERBOSE, WebhookOptions, webhook_options
from policyd.cli.webhooks.reach_output import all_reached, reach_json, reach_text
from policyd.cli.webhooks.synchronizing import cluster, configurations, every
from policyd.json_types import JSONObject
from policyd.placement.comparing import in_step
from policyd.placement.document_steps import removals
from policyd.placement.placed_documents import key_of, label_of
from policyd.webhooks.configuration_paths import RESOURCES
from policyd.webhooks.reach.policy_reach import reach

_EPILOG = """\b
Examples:
  policyd webhooks status -p policies/
  policyd webhooks status -p policies/ -v --context prod
  policyd webhooks status -p policies/ --in-tree auto
  policyd webhooks status -p policies/ --service shop/guard --format json

\b
What is checked:
  policies  each is reached by the rules of the webhooks that call policyd,
            those of configurations with other names included
  service   the Service exists and has a ready endpoint (not with --url)
  caBundle  each of these webhooks has one
  drift     the configurations are as policyd webhooks render prints them
  in-tree   the documents of policies that the API server is to enforce are
            stored unchanged, and there are no others

Exit status: 0 if all is well, 1 if something is not, 2 if the input is invalid or the cluster
cannot be reached.
"""


@click.command("status", epilog=_EPILOG)
@webhook_options
@VERBOSE
@format_option("text", "json")
def command(*, given: WebhookOptions, verbose: bool, form: str) -> None:
    """Show by which webhooks of a cluster each of your policies is reached, or why it is not.

    Only webhooks that call policyd, by --service or --url, count. Give the options that you give to
    policyd webhooks apply, or differences are reported.

    With --in-tree, also show which engine enforces each policy, and why.
    """
    options, mode = given.options, given.mode
    if mode is None:
        policies = loaded(given.paths)[1]
    placed: InTreeState | None = None
    with cluster(given.kubeconfig, given.context) as objects:
        if mode is not None:
            placed = in_tree(objects, given, mode, tries=False)
            policies = placed.policies.without(placed.in_force)
        actual = [each for kind in RESOURCES for each in every(objects, kind)]
        service = [] if options.service is None else [*service_faults(objects, options.service)]
    wanted = configurations(policies, options)
    own = [own_webhooks(each, options) for each in actual]
    results = reach(policies, own)
    faults = [*service, *bundle_faults(own), *drift(wanted, actual, options.name)]
    if placed is not None:
        faults += _misplaced(placed, options.name)
    if form == "json":
        report = {"policies": reach_json(results), "faults": faults}
        echo_json(report if placed is None else {**report, "placement": _placement_json(placed)})
    else:
        lines = [f"{styled('fault', fg='red')}: {fault}" for fault in faults]
        where = [] if placed is None else [*_placement_text(placed)]
        echo_wrapped("\n".join([*where, *reach_text(results, verbose=verbose), *lines]))
    raise SystemExit(0 if all_reached(results) and not faults else 1)


def _placement_text(found: InTreeState) -> Iterator[str]:
    """Yield a line for each part of each policy: where it runs, and why."""
    for each in found.plan.placement.parts:
        runs = "in the API server" if each.part in found.in_force else "by the webhook"
        name = styled(each.policy, bold=True)
        yield f"{name} ({each.kind}, {each.webhook}) runs {runs}: {each.why}"


def _placement_json(found: InTreeState) -> list[JSONObject]:
    return [
        {
            "policy": each.policy,
            "kind": each.kind,
            "webhook": each.webhook,
            "engine": "api-server" if each.part in found.in_force else "webhook",
            "chosen": each.engine,
            "why": each.why,
        }
        for each in found.plan.placement.parts
    ]


def _misplaced(found: InTreeState, registration: str) -> Iterator[str]:
    """Yield how the placed documents of a cluster differ from those that it should have."""
    documents = [each for part in found.plan.wanted.values() for each in part]
    for each in documents:
        there = found.stored.get(key_of(each))
        if there is None:
            yield f"there is no {label_of(key_of(each))}"
        elif not in_step(there, each):
            yield f"{label_of(key_of(each))} is not what would be applied"
    wanted = {key_of(each) for each in documents}
    for step in removals(found.plan.wanted, found.stored, registration):
        if key_of(step.document) not in wanted:
            yield f"{label_of(key_of(step.document))} is not needed"
