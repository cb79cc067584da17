"""``policyd webhooks render``: prints the configurations that policies need. Applies nothing."""

from pathlib import Path

import click

from policyd.cli.shared.output import echo_objects, format_option
from policyd.cli.shared.policy_options import loaded, policies_option
from policyd.cli.shared.settings import option
from policyd.cli.webhooks.options import render_options
from policyd.cli.webhooks.synchronizing import configurations
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.yaml_output import dump
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.rendering.options import RenderOptions

_EPILOG = """\b
Examples:
  policyd webhooks render -p policies/
  policyd webhooks render -p policies/ | kubectl apply --server-side -f -
  policyd webhooks render -p policies/ --service shop/guard:8443 --timeout 5
  policyd webhooks render -p policies/ --url https://10.0.0.7:8443
  policyd webhooks render -p policies/ --exclude-namespace kube-system \\
      --exclude-namespace monitoring
  policyd webhooks render -p policies/ --explain   # who needs each rule
  policyd webhooks render -p policies/ --format json | jq '.items[].webhooks'

\b
What is rendered:
  webhooks         one for each failurePolicy of validating and of mutating
                   policies: each calls all policies of its path
  rules            the union of the match rules, without what all exclude
  selectors        what all policies of a webhook have in common
  matchConditions  the ones of the policies, where the API server can evaluate
                   them and they mean the same; and what rules cannot say

Exit status: 0 on success, 2 if a policy or an option is invalid.
"""


@click.command("render", epilog=_EPILOG)
@policies_option()
@render_options
@option("--explain", "Add comments: the policies that each rule serves (with --format yaml).")
@format_option("yaml", "json")
def command(*, paths: tuple[Path, ...], options: RenderOptions, explain: bool, form: str) -> None:
    """Print the webhook configurations that your policies need.

    The API server then calls policyd for every request that a policy matches, and for few others.
    The output depends only on the policies and the options. Run it again after each change of the
    policies, or let policyd webhooks watch do that.
    """
    if explain and form != "yaml":
        raise click.UsageError("--explain requires --format yaml")
    policies = loaded(paths)[1]
    found = configurations(policies, options)
    if not found:
        click.echo("note: no policy needs a webhook", err=True)
    heads = (_comments(policies, each) if explain else "" for each in found)
    echo_objects(found, map(str.__add__, heads, map(dump, found)), form)


def _comments(policies: CompiledPolicySet, configuration: JSONObject) -> str:
    """Return comments with the policies that each rule serves."""
    served: dict[tuple[str, int], list[str]] = {}
    for found in reach(policies, [configuration]):
        for by in found.by:
            served.setdefault((by.webhook, by.rule), []).append(found.policy)
    return "".join(
        f"# {webhook} rules[{rule}]: {', '.join(dict.fromkeys(names))}\n"
        for (webhook, rule), names in sorted(served.items())
    )
