"""The command line: a table of commands, each imported only when it is used."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from policyd import __version__
from policyd.cli.shared.groups import PROJECT, TableGroup
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.color import preferred
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.errors import PolicydError
from policyd.gc_policy import collect_seldom

# Name: (module with the click command ``command``, its line in the help).
COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("policyd.cli.serve", "Run the admission webhook."),
    "denials": ("policyd.cli.denials.command", "Show recent denials of a running server."),
    "review": ("policyd.cli.review", "Answer one AdmissionReview without a server."),
    "apply": ("policyd.cli.apply.command", "Check manifests offline, or scan a live cluster."),
    "report": ("policyd.cli.report.command", "Write reports about the objects in a cluster."),
    "explain": (
        "policyd.cli.explain.command",
        "Explain why each policy acted or did not act on a request.",
    ),
    "test": ("policyd.cli.test.command", "Run test suites against your policies."),
    "lint": ("policyd.cli.lint", "Report every error in your policies, plus advice."),
    "replay": ("policyd.cli.replay", "Report which recorded decisions change with new policies."),
    "compare": (
        "policyd.cli.compare.command",
        "Compare decisions with Kyverno or Gatekeeper.",
    ),
    "eval": ("policyd.cli.eval.command", "Evaluate CEL expressions against JSON or YAML."),
    "export": ("policyd.cli.export.command", "Export policies for the API server to enforce."),
    "import": (
        "policyd.cli.importing.command",
        "Import policies of Kyverno, Gatekeeper and the API server.",
    ),
    "configmap": ("policyd.cli.configmap", "Pack policies into the ConfigMap of a cluster."),
    "webhooks": (
        "policyd.cli.webhooks",
        "Work with the webhook configurations of a cluster.",
    ),
    "bench": ("policyd.cli.bench", "Measure what policies cost."),
    "init": ("policyd.cli.init", "Create a first policy and its test suite."),
    "schema": ("policyd.cli.schema", "Print the JSON Schema of policies, for editors."),
    "completion": ("policyd.cli.completion", "Print the completion script for a shell."),
    "version": ("policyd.cli.version", "Print versions: of policyd, Python, Cython, Kubernetes."),
}
# The commands that are meant, by what people type who know other tools.
_ELSEWHERE = {
    ("apply",): "audit dry-run mutate scan simulate",
    ("apply", "lint"): "check validate",
    ("apply", "test"): "verify",
    ("apply --diff", "webhooks diff"): "diff",
    ("bench",): "benchmark perf",
    ("configmap",): "build bundle pack",
    ("COMMAND --help",): "docs help man",
    ("denials",): "events logs",
    ("eval",): "cel console jp jq repl",
    ("explain",): "debug describe trace why",
    ("import",): "migrate",
    ("import", "export"): "convert",
    ("init",): "create generate new scaffold",
    ("lint",): "doctor fmt format typecheck vet",
    ("lint", "webhooks status"): "get list policies show",
    ("lint --fix",): "fix",
    ("lint --rules",): "rules",
    ("serve",): "run server start",
    ("test --coverage",): "coverage",
    ("test --watch", "webhooks watch"): "watch",
    ("webhooks apply",): "deploy install register",
    ("webhooks delete",): "delete uninstall",
    ("webhooks match",): "match",
    ("webhooks rbac",): "rbac",
    ("webhooks render",): "render",
    ("webhooks status",): "status",
}
_EPILOG = """\b
Examples:
  policyd init                               # create a policy and its suite
  policyd test policies/                     # run its suite
  policyd apply -p policies/ deploy/         # check manifests offline
  policyd serve -p policies/ --self-signed   # try the webhook on this machine

\b
A project's defaults for options of commands, in policyd.yaml at its root:
  policies: [policies/]
  kubernetesVersion: "1.36"
  lint:
    strict: true
    disable: [wildcard]

Run 'policyd COMMAND --help' for the options, examples and exit statuses of a command.
"""


def _choose_project(context: click.Context, option: click.Parameter, given: Any) -> None:
    if given:
        context.meta[PROJECT] = given if option.name == "project" else None


@click.group(
    cls=TableGroup,
    table=COMMANDS,
    elsewhere=_ELSEWHERE,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="policyd")
@option(
    "--project FILE",
    "Read defaults of options from this file.  [default: policyd.yaml here or in a directory "
    "above, up to the root of the repository]",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    expose_value=False,
    callback=_choose_project,
)
@option(
    "--no-project", "Read no defaults of options.", expose_value=False, callback=_choose_project
)
def policyd() -> None:
    """Validate and mutate Kubernetes objects with policies, exactly as the API server would.

    policyd evaluates ValidatingAdmissionPolicy, MutatingAdmissionPolicy and its own kind Policy: as
    a webhook in a cluster, and offline in a terminal or in CI.
    """


INTERRUPTED = 130  # the exit status that shells report for SIGINT


def main(arguments: Sequence[str] | None = None, command: click.Command = policyd) -> None:
    """Run a command and exit. Invalid input and Ctrl-C print no traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Escape what the locale or UTF-8 cannot encode (file names are bytes), as stderr does.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = arguments if arguments is None else list(arguments)
    collect_seldom()
    try:
        status = command.main(given, command.name, standalone_mode=False, color=preferred())
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except PolicydError as error:
        notes = getattr(error, "__notes__", ())
        echo_wrapped("\n".join((f"Error: {error}", *notes)), err=True)
        sys.exit(error.exit_code)
    sys.exit(status)
