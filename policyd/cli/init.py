"""``policyd init``: creates a first policy and its suite, which passes. Overwrites no file."""

from importlib.resources import files
from pathlib import Path

import click

from policyd.cli.shared.output import styled
from policyd.errors import ConfigError
from policyd.policy.model.names import dns_subdomain

# The forms of a first policy, each a folder in ``templates/``, and their default names.
_NAMES = {"validation": "require-team-label", "mutation": "default-no-token"}
_FILES = ("policy.yaml", "suite.yaml")
_EPILOG = """\b
Examples:
  policyd init
  policyd init policies/no-token --form mutation
  policyd init && policyd test policies/

Exit status: 0 on success, 2 if a file already exists.
"""


@click.command("init", epilog=_EPILOG)
@click.argument(
    "directory", required=False, metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path)
)
@click.option(
    "--form",
    type=click.Choice(list(_NAMES)),
    default="validation",
    show_default=True,
    help="Choose whether the policy validates or mutates.",
)
def command(directory: Path | None, form: str) -> None:
    """Create a first policy and its test suite in DIR, as a starting point for your own.

    The policy is named after DIR, which is created if it does not exist. The default is
    policies/require-team-label, or policies/default-no-token with --form mutation. Existing files
    are never overwritten.
    """
    folder = directory or Path("policies") / _NAMES[form]
    name = folder.resolve().name
    wrong = list(dns_subdomain(name))
    if wrong:
        raise click.BadParameter(f"{name!r} is not a valid policy name: {'; '.join(wrong)}")
    there = [str(folder / file) for file in _FILES if (folder / file).exists()]
    if there:
        exists = "already exists" if len(there) == 1 else "already exist"
        raise ConfigError(
            f"{' and '.join(there)} {exists}\n"
            "  hint: name another directory: policyd init policies/NAME"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in _FILES:
            text = files("policyd.cli").joinpath("templates", form, file).read_text("utf-8")
            (folder / file).write_text(text.replace("NAME", name), "utf-8")
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from None
    for file in _FILES:
        click.echo(f"wrote {styled(str(folder / file), bold=True)}")
    click.echo(
        f"""
Next:
  policyd test {folder}                        # run its suite
  policyd explain -p {folder} MANIFEST.yaml    # explain the decision for one of your manifests
  policyd serve --self-signed -p {folder}      # run the webhook"""
    )
