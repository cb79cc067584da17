"""``policyd schema``: prints the JSON Schema of policies and suites. Validates nothing itself."""

import click

from policyd.cli.shared.output import echo_json
from policyd.policy.model.editor_schema import schema_of, schema_of_all
from policyd.policy.model.kinds import KINDS

_EPILOG = """\b
Examples:
  policyd schema > policyd.schema.json
  policyd schema Policy | jq '.definitions.PolicySpec.properties | keys'

\b
In VS Code, with the YAML extension (.vscode/settings.json):
  "yaml.schemas": {"./policyd.schema.json": ["policies/**/*.yaml"]}

\b
In any editor with yaml-language-server (first line of a file):
  # yaml-language-server: $schema=../policyd.schema.json

Exit status: 0 on success, 2 if KIND has no schema.
"""


@click.command("schema", epilog=_EPILOG)
@click.argument(
    "kind",
    required=False,
    type=click.Choice(list(KINDS), case_sensitive=False),
    metavar="[KIND]",
    shell_complete=lambda _context, _parameter, incomplete: [
        kind for kind in KINDS if kind.lower().startswith(incomplete.lower())
    ],
)
def command(kind: str | None) -> None:
    """Print the JSON Schema (draft 7) that editors use to complete and document policies.

    KIND is Policy, PolicyTest or a kind of admissionregistration.k8s.io. Without KIND, one schema
    covers every file of a policy directory: it validates each document by its kind and accepts
    documents of other kinds, such as ConfigMaps. The schema does not check CEL expressions: run
    policyd lint for that.
    """
    echo_json(schema_of_all() if kind is None else schema_of(kind))
