"""The command line: a table of commands, each imported only when it is used."""

import difflib
import io
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import click.shell_completion

from policyd import __version__
from policyd.cli.shared.terminal.color import color_option, preferred
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.errors import PolicydError

# Name: (module with the click command ``command``, its line in the help).
COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("policyd.cli.serve", "Run the admission webhook."),
    "review": ("policyd.cli.review", "Answer one AdmissionReview without a server."),
    "apply": ("policyd.cli.apply.command", "Check manifests offline, or scan a live cluster."),
    "explain": (
        "policyd.cli.explain.command",
        "Explain why each policy acted or did not act on a request.",
    ),
    "test": ("policyd.cli.test.command", "Run test suites against your policies."),
    "lint": ("policyd.cli.lint", "Report every error in your policies, plus advice."),
    "replay": ("policyd.cli.replay", "Report which recorded decisions change with new policies."),
    "eval": ("policyd.cli.eval.command", "Evaluate CEL expressions against JSON or YAML."),
    "configmap": ("policyd.cli.configmap", "Pack policies into the ConfigMap of a cluster."),
    "init": ("policyd.cli.init", "Create a first policy and its test suite."),
    "schema": ("policyd.cli.schema", "Print the JSON Schema of policies, for editors."),
    "completion": ("policyd.cli.completion", "Print the completion script for a shell."),
}
# What people type who know other tools.
_ELSEWHERE: Mapping[str, Sequence[str]] = {
    "check": ("apply", "lint"),
    "format": ("lint",),
    "fmt": ("lint",),
    "run": ("serve",),
    "scan": ("apply",),
    "server": ("serve",),
    "start": ("serve",),
    "validate": ("apply", "lint"),
    "verify": ("apply", "test"),
}
PROJECT_FILE = "policyd.yaml"
_PROJECT = "policyd.project"  # the key of the file, or None, in the context
# `serve` has a config file; a completion script must not depend on where it was made.
_WITHOUT_PROJECT = ("serve", "completion")
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


class Commands(click.Group):
    """A group that finds its commands in the table; ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        if not any(each.name == "color" for each in command.params):
            command.params.append(color_option())
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, with the project's defaults; suggest others for an unknown one."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {args[0]!r}.{_suggestion(args[0])}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command and name not in _WITHOUT_PROJECT and not ctx.resilient_parsing:
            file = ctx.meta[_PROJECT] if _PROJECT in ctx.meta else _project_file(Path.cwd())
            if file is not None:
                # Imported here because most directories have no such file.
                from policyd.cli.shared.project import defaults

                ctx.default_map = {str(name): defaults(file, command, COMMANDS)}
        return name, command, rest

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Complete names from the table: click would import every command on each Tab."""
        names = [
            click.shell_completion.CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table: click would import every command for its help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _suggestion(name: str) -> str:
    near = _ELSEWHERE.get(name) or difflib.get_close_matches(name, COMMANDS)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _project_file(folder: Path) -> Path | None:
    """Return the nearest project file, from ``folder`` up to the root of its repository."""
    for each in (folder, *folder.parents):
        if (each / PROJECT_FILE).is_file():
            return each / PROJECT_FILE
        if (each / ".git").exists():
            return None
    return None


def _choose_project(context: click.Context, option: click.Parameter, given: Any) -> None:
    if given:
        context.meta[_PROJECT] = given if option.name == "project" else None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(__version__, prog_name="policyd")
@click.option(
    "--project",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    expose_value=False,
    callback=_choose_project,
    help="Read defaults of options from this file.  [default: policyd.yaml here or in a directory "
    "above, up to the root of the repository]",
)
@click.option(
    "--no-project",
    is_flag=True,
    expose_value=False,
    callback=_choose_project,
    help="Read no defaults of options.",
)
def policyd() -> None:
    """Validate and mutate Kubernetes objects with policies, exactly as the API server would.

    policyd evaluates ValidatingAdmissionPolicy, MutatingAdmissionPolicy and its own kind Policy: as
    a webhook in a cluster, and offline in a terminal or in CI.
    """


INTERRUPTED = 130  # the exit status that shells report for SIGINT


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit. Invalid input and Ctrl-C print no traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Escape what the locale or UTF-8 cannot encode (file names are bytes), as stderr does.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = arguments if arguments is None else list(arguments)
    try:
        status = policyd.main(given, "policyd", standalone_mode=False, color=preferred())
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except PolicydError as error:
        echo_wrapped(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    sys.exit(status)
