"""``policyd completion``: prints the script with which a shell completes policyd's commands."""

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_EPILOG = """\b
Examples:
  source <(policyd completion bash)    # in this shell, or in ~/.bashrc
  policyd completion zsh > ~/.zfunc/_policyd   # for fpath+=~/.zfunc
  policyd completion fish > ~/.config/fish/completions/policyd.fish

Exit status: 0 on success, 2 if the shell is not supported.
"""


@click.command("completion", epilog=_EPILOG)
@click.argument("shell", type=click.Choice(_SHELLS), metavar="bash|zsh|fish")
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    The script completes commands, options, option values and file names. Values are also names of
    policies and cases, rules of lint, and objects for --select, of the files on the command line
    (before the cursor) or of policyd.yaml. bash must be 4.4 or newer.
    """
    root = context.find_root()
    name = root.info_name or "policyd"
    maker = get_completion_class(shell)
    assert maker is not None  # of one of the shells
    variable = f"_{name}_COMPLETE".replace("-", "_").upper()
    click.echo(maker(root.command, {}, name, variable).source())
