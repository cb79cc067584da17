"""``policyd webhooks check``: whether configurations in files reach policies. Needs no cluster."""

from pathlib import Path

import click

from policyd.cli.shared.manifests import place_of, read_manifests
from policyd.cli.shared.output import echo_json, format_option, styled
from policyd.cli.shared.policy_options import loaded, policies_option
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.webhooks.options import VERBOSE, configurations_among, files_option
from policyd.cli.webhooks.reach_output import all_reached, reach_json, reach_text
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.validation.configurations import problems

_EPILOG = """\b
Examples:
  policyd webhooks check -p policies/ -f webhooks.yaml
  kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations \\
      -o yaml | policyd webhooks check -p policies/ -f -
  policyd webhooks check -p policies/ -f webhooks.yaml -v
  policyd webhooks check -p policies/ -f webhooks.yaml --format json | \\
      jq '.[] | select(.state != "reached").policy'

\b
What the output says:
  reached         every request that the policy matches is sent to policyd
                  (except in namespaces that are left out for all; see -v)
  partly reached  some are not; the reasons follow
  not reached     the policy is never evaluated

Exit status: 0 if all policies are reached, 1 if one is not or only partly, 2 if a policy or a
configuration is invalid.
"""


@click.command("check", epilog=_EPILOG)
@policies_option()
@files_option("webhook configurations")
@VERBOSE
@format_option("text", "json")
def command(*, paths: tuple[Path, ...], files: tuple[Path, ...], verbose: bool, form: str) -> None:
    """Check offline whether webhook configurations reach all of your policies.

    For each policy, the rules by which the API server calls policyd are found, and what they leave
    out: operations, resources, scopes, versions, namespaces, labels, requests for which a
    matchCondition is false. Webhooks with paths that policyd does not serve do not count.
    """
    policies = loaded(paths)[1]
    found = _configurations(files)
    results = reach(policies, found)
    if form == "json":
        echo_json(reach_json(results))
    else:
        echo_wrapped("\n".join(reach_text(results, verbose=verbose)))
    raise SystemExit(0 if all_reached(results) else 1)


def _configurations(files: tuple[Path, ...]) -> list[JSONObject]:
    """Return the configurations in files; raises ConfigError for what the API server refuses."""
    documents = read_manifests(files, skips=True).required().documents
    chosen = configurations_among(documents, files)
    wrong = [
        f"{styled(place_of(each), bold=True)}: {each.label}: {problem}"
        for each in chosen
        for problem in problems(each.raw)
    ]
    if wrong:
        raise ConfigError("the API server would refuse this:\n  " + "\n  ".join(wrong))
    return [each.raw for each in chosen]
