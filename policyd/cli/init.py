"""``policyd init``: creates a first policy and its suite, which passes, and the project file.
Overwrites no file.
"""

import json
from importlib.resources import files
from pathlib import Path

import click

from policyd.cli.shared.groups import PROJECT_FILE, project_file
from policyd.cli.shared.output import styled
from policyd.cli.shared.settings import option
from policyd.errors import ConfigError, file_errors
from policyd.policy.model.names import dns_subdomain

# The forms of a first policy, each a directory in ``templates/``, and their default names.
_NAMES = {"validation": "require-team-label", "mutation": "default-no-token"}
_FILES = ("policy.yaml", "suite.yaml")
_EPILOG = """\b
Examples:
  policyd init
  policyd init policies/no-token --form mutation
  policyd init && policyd test

Exit status: 0 on success, 2 if a file already exists.
"""


@click.command("init", epilog=_EPILOG)
@click.argument(
    "directory", required=False, metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path)
)
@option(
    "--form",
    "Choose whether the policy validates or mutates.",
    type=click.Choice(list(_NAMES)),
    default="validation",
)
def command(directory: Path | None, form: str) -> None:
    """Create a first policy and its test suite in DIR, as a starting point for your own.

    The policy is named after DIR, which is created if it does not exist. The default is
    policies/require-team-label, or policies/default-no-token with --form mutation. Existing files
    are never overwritten.

    If the project has no policyd.yaml, it is created in the current directory. It names the
    directory above DIR, whose policies commands then read without -p and PATHS, and shows the
    other defaults that a project can set.
    """
    directory = directory or Path("policies") / _NAMES[form]
    if directory.suffix in (".yaml", ".yml", ".json"):
        instead = f"policyd init {directory.with_suffix('')}"
        raise click.BadParameter(f"DIR is a directory, for the policy and its suite: {instead}")
    name = directory.resolve().name
    wrong = list(dns_subdomain(name))
    if wrong:
        raise click.BadParameter(f"{name!r} is not a valid policy name: {'; '.join(wrong)}")
    there = [str(directory / file) for file in _FILES if (directory / file).exists()]
    if there:
        exists = "already exists" if len(there) == 1 else "already exist"
        raise ConfigError(
            f"{' and '.join(there)} {exists}\n"
            "  hint: name another directory: policyd init policies/NAME"
        )
    texts = {directory / file: _template(form, file).replace("NAME", name) for file in _FILES}
    texts |= _project(directory)
    with file_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, "utf-8")
    for path in texts:
        click.echo(f"wrote {styled(str(path), bold=True)}")
    click.echo(
        f"""
Next:
  policyd test {directory}                        # run its suite
  policyd explain -p {directory} MANIFEST.yaml    # explain the decision for one of your manifests
  policyd serve --self-signed -p {directory}      # run the webhook"""
    )


def _project(directory: Path) -> dict[Path, str]:
    """Return the project file, if there is none and the policy is below the working directory."""
    here, policy = Path.cwd(), directory.resolve()
    if project_file(here) is not None or not policy.is_relative_to(here):
        return {}
    below = policy.relative_to(here)
    policies = below if below.parent == Path() else below.parent
    quoted = json.dumps(policies.as_posix(), ensure_ascii=False)
    return {Path(PROJECT_FILE): _template(PROJECT_FILE).replace("POLICIES", quoted)}


def _template(*path: str) -> str:
    return files("policyd.cli").joinpath("templates", *path).read_text("utf-8")
