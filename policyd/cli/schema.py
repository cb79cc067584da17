"""``policyd schema``: JSON Schema of policies and suites, for editors. Checks nothing itself."""

import click

from policyd.cli.shared.output import echo_json
from policyd.policy.model.editor_schema import schema_of, schema_of_all
from policyd.policy.model.kinds import KINDS

_EPILOG = """\b
Examples:
  policyd schema > policyd.schema.json
  policyd schema Policy | jq '.definitions.PolicySpec.properties | keys'

\b
VS Code, with the YAML extension (.vscode/settings.json):
  "yaml.schemas": {"./policyd.schema.json": ["policies/**/*.yaml"]}

\b
Any editor with yaml-language-server (first line of a file):
  # yaml-language-server: $schema=../policyd.schema.json

Exit status: 0 when printed, 2 for a kind that has no schema.
"""


@click.command("schema", epilog=_EPILOG)
@click.argument("kind", required=False, type=click.Choice(list(KINDS)), metavar="[KIND]")
def command(kind: str | None) -> None:
    """Print the JSON Schema (draft 7) with which an editor completes and explains policies.

    Without KIND it is one schema for every file of a policy folder: the kind of a document decides,
    and documents of other kinds (ConfigMaps, custom resources) always fit. KIND is Policy,
    PolicyTest, or a kind of admissionregistration.k8s.io. CEL is not checked by it: that is what
    policyd lint does.
    """
    echo_json(schema_of_all() if kind is None else schema_of(kind))
